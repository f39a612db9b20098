import { attributeOf, htmlPieces } from '../../../../src/search/html.ts';
import type { ZipEntry } from '../../files/zip.ts';
import { texts } from '../texts.ts';
import { inSlices } from '../yielding.ts';
import { htmlText, isClosed } from './html.ts';
import { TextLines } from './text-lines.ts';

/** Inflated size of a part of a document. */
const mostBytes = 64 * 1_048_576;

async function partOf(entries: readonly ZipEntry[], name: string): Promise<string> {
  const entry = entries.find((one) => one.name === name);
  if (!entry) throw new Error(texts.formats.missing(name));
  return entry.text(mostBytes);
}

/** The text of a Word document. */
export async function docxText(entries: readonly ZipEntry[]): Promise<string> {
  const document = await partOf(entries, 'word/document.xml');
  const styles = await partOf(entries, 'word/styles.xml').catch(() => '');
  return inSlices(wordText(document, headingStyles(styles)));
}

/** Levels of heading styles by their ids, which depend on the language of Word; their names do not. */
export function headingStyles(xml: string): ReadonlyMap<string, number> {
  const levels = new Map<string, number>();
  let id = '';
  for (const piece of htmlPieces(xml)) {
    if (piece.type !== 'open') continue;
    if (piece.name === 'w:style') id = attributeOf(piece.inside, 'w:styleid') ?? '';
    if (piece.name !== 'w:name') continue;
    const name = attributeOf(piece.inside, 'w:val') ?? '';
    const level = /^heading (\d)$/i.exec(name)?.[1];
    if (level !== undefined) levels.set(id, Number(level));
    else if (/^title$/i.test(name)) levels.set(id, 1);
  }
  return levels;
}

export function* wordText(xml: string, headings: ReadonlyMap<string, number>): Generator<void, string> {
  const lines = new TextLines();
  let inText = false;
  // Older programs read a copy of the same text there.
  let fallback = 0;
  let count = 0;
  for (const piece of htmlPieces(xml)) {
    count += 1;
    if (count % 1000 === 0) yield;
    if (piece.type !== 'text' && piece.name === 'mc:fallback')
      fallback += piece.type === 'close' ? -1 : isClosed(piece) ? 0 : 1;
    if (fallback > 0) continue;
    if (piece.type === 'text') {
      if (inText) lines.add(piece.text);
    } else if (piece.type === 'open') {
      inText = piece.name === 'w:t' && !isClosed(piece);
      if (piece.name === 'w:pstyle') {
        const style = attributeOf(piece.inside, 'w:val') ?? '';
        const level = headings.get(style) ?? Number(/^heading(\d)$/i.exec(style)?.[1] ?? 0);
        if (level > 0) lines.mark(`${'#'.repeat(level)} `);
      } else if (piece.name === 'w:numpr') lines.mark('- ');
      else if (piece.name === 'w:tab') lines.add('\t');
      else if (piece.name === 'w:br') lines.end();
      else if (piece.name === 'w:tr') lines.row();
      else if (piece.name === 'w:tc') lines.cell();
    } else {
      inText = false;
      if (piece.name === 'w:p') lines.paragraph();
      else if (piece.name === 'w:tr') lines.rowEnd();
    }
  }
  return lines.text;
}

/** The text of an OpenDocument text. */
export async function odtText(entries: readonly ZipEntry[]): Promise<string> {
  return inSlices(openDocumentText(await partOf(entries, 'content.xml')));
}

export function* openDocumentText(xml: string): Generator<void, string> {
  const lines = new TextLines();
  let inBody = false;
  let count = 0;
  for (const piece of htmlPieces(xml)) {
    count += 1;
    if (count % 1000 === 0) yield;
    if (piece.type === 'text') {
      if (inBody) lines.add(piece.text);
      continue;
    }
    const { name } = piece;
    if (name === 'office:body') inBody = piece.type === 'open';
    if (piece.type === 'open') {
      if (name === 'text:h') lines.mark(`${'#'.repeat(Number(attributeOf(piece.inside, 'text:outline-level') ?? 1))} `);
      else if (name === 'text:list-item') lines.mark('- ');
      else if (name === 'text:s') lines.add(' '.repeat(Math.min(40, Number(attributeOf(piece.inside, 'text:c') ?? 1))));
      else if (name === 'text:tab') lines.add('\t');
      else if (name === 'text:line-break') lines.end();
      else if (name === 'table:table-row') lines.row();
      else if (name === 'table:table-cell') lines.cell();
    } else if (name === 'text:p' || name === 'text:h') lines.paragraph();
    else if (name === 'table:table-row') lines.rowEnd();
  }
  return lines.text;
}

/** The chapters of an e-book, in reading order. */
export async function epubText(entries: readonly ZipEntry[]): Promise<string> {
  const container = await partOf(entries, 'META-INF/container.xml');
  const rootFile = openTags(container, 'rootfile').flatMap((inside) => attributeOf(inside, 'full-path') ?? [])[0] ?? '';
  const book = await partOf(entries, rootFile);
  const files = new Map(
    [...openTags(book, 'item'), ...openTags(book, 'opf:item')].map((inside) => [
      attributeOf(inside, 'id') ?? '',
      attributeOf(inside, 'href') ?? '',
    ]),
  );
  const chapters: string[] = [];
  for (const inside of [...openTags(book, 'itemref'), ...openTags(book, 'opf:itemref')]) {
    const href = files.get(attributeOf(inside, 'idref') ?? '');
    if (href === undefined) continue;
    const html = await partOf(entries, pathBeside(rootFile, href)).catch(() => '');
    const { text } = await inSlices(htmlText(html));
    if (text !== '') chapters.push(text);
  }
  return chapters.join('\n\n');
}

function openTags(xml: string, name: string): string[] {
  return [...htmlPieces(xml)].flatMap((piece) => (piece.type === 'open' && piece.name === name ? [piece.inside] : []));
}

function pathBeside(file: string, href: string): string {
  return decodeURIComponent(new URL(href.split('#')[0] ?? '', `file:///${file}`).pathname.slice(1));
}
