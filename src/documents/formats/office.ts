import { attempt } from '../../core/attempt.ts';
import { attributeOf, htmlPieces } from '../../search/html.ts';
import { FormatError } from './format-error.ts';
import { htmlText, isClosed } from './html.ts';
import type { Mark } from './sections.ts';
import { type StructuredText, TextLines } from './text-lines.ts';
import type { ZipEntry } from './zip.ts';

/** Runs a generator to its end, in slices where other work is waiting. */
export type Run = <Result>(work: Generator<void, Result>) => Result | Promise<Result>;

/** Inflated size of a part of a document. */
const maxBytes = 64 * 1_048_576;
/** Of all chapters of a book, in characters. */
const maxBook = 64_000_000;

async function partOf(entries: readonly ZipEntry[], name: string): Promise<string> {
  const entry = entries.find((one) => one.name === name);
  if (!entry) throw new FormatError(`it is damaged (no ${name.slice(0, 200)})`);
  return entry.text(maxBytes);
}

/** The text of a Word document. */
export async function docxText(entries: readonly ZipEntry[], run: Run): Promise<StructuredText> {
  const document = await partOf(entries, 'word/document.xml');
  const styles = await partOf(entries, 'word/styles.xml').catch(() => '');
  return run(wordText(document, headingStyles(styles)));
}

/** Levels of heading styles by their ids, which depend on the language of Word; their names do not. */
function headingStyles(xml: string): ReadonlyMap<string, number> {
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

function* wordText(xml: string, headings: ReadonlyMap<string, number>): Generator<void, StructuredText> {
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
  return lines.result;
}

/** The text of an OpenDocument text. */
export async function odtText(entries: readonly ZipEntry[], run: Run): Promise<StructuredText> {
  return run(openDocumentText(await partOf(entries, 'content.xml')));
}

function* openDocumentText(xml: string): Generator<void, StructuredText> {
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
      if (name === 'text:h')
        lines.mark(
          `${'#'.repeat(Math.min(6, Math.max(1, Number(attributeOf(piece.inside, 'text:outline-level')) || 1)))} `,
        );
      else if (name === 'text:list-item') lines.mark('- ');
      else if (name === 'text:s')
        lines.add(' '.repeat(Math.min(40, Math.max(1, Number(attributeOf(piece.inside, 'text:c')) || 1))));
      else if (name === 'text:tab') lines.add('\t');
      else if (name === 'text:line-break') lines.end();
      else if (name === 'table:table-row') lines.row();
      else if (name === 'table:table-cell') lines.cell();
    } else if (name === 'text:p' || name === 'text:h') lines.paragraph();
    else if (name === 'table:table-row') lines.rowEnd();
  }
  return lines.result;
}

/** The chapters of an e-book, in reading order. */
export async function epubText(
  entries: readonly ZipEntry[],
  run: Run,
): Promise<StructuredText & { readonly title: string }> {
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
  const marks: Mark[] = [];
  const read = new Set<string>();
  let length = 0;
  for (const inside of [...openTags(book, 'itemref'), ...openTags(book, 'opf:itemref')]) {
    const href = files.get(attributeOf(inside, 'idref') ?? '');
    const path = href === undefined ? undefined : pathBeside(rootFile, href);
    // A chapter that is named again and again is read once.
    if (path === undefined || read.has(path)) continue;
    read.add(path);
    const html = await partOf(entries, path).catch(() => '');
    const chapter = await run(htmlText(html));
    if (chapter.text === '') continue;
    // The headings of the chapter before end here.
    if (chapters.length > 0) marks.push({ type: 'heading', level: 1, title: '', at: length });
    marks.push(...chapter.marks.map((mark) => ({ ...mark, at: mark.at + length })));
    chapters.push(chapter.text);
    length += chapter.text.length + 2;
    if (length > maxBook) throw new FormatError(`it has more than ${maxBook} characters`);
  }
  return { title: bookTitle(book), text: chapters.join('\n\n'), marks };
}

function bookTitle(xml: string): string {
  const title = /<dc:title[^>]{0,400}>([^<]{1,400})</.exec(xml.slice(0, 65_536))?.[1] ?? '';
  return [...htmlPieces(title)]
    .map((piece) => (piece.type === 'text' ? piece.text : ''))
    .join('')
    .trim();
}

function openTags(xml: string, name: string): string[] {
  const tags: string[] = [];
  for (const piece of htmlPieces(xml)) if (piece.type === 'open' && piece.name === name) tags.push(piece.inside);
  return tags;
}

function pathBeside(file: string, href: string): string | undefined {
  const path = () => new URL(href.split('#')[0] ?? '', `file:///${file}`).pathname.slice(1);
  return attempt(() => decodeURIComponent(path()), undefined);
}
