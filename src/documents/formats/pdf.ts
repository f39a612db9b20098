import type { ExtractedDocument } from '../../core/documents.ts';
import { FormatError } from './format-error.ts';
import { type Mark, sectionsOf } from './sections.ts';

const maxPages = 10_000;
const maxCharacters = 50_000_000;

/** A line of a page. */
interface Line {
  readonly text: string;
  /** Of its letters. */
  readonly height: number;
  /** A paragraph begins here. */
  readonly isNew: boolean;
}

/** The text of a PDF, page by page; lines in larger letters are headings. `progressed` is called after each page. */
export async function pdfText(bytes: Uint8Array, progressed: () => void): Promise<ExtractedDocument> {
  withoutDrawing();
  const { getDocument, VerbosityLevel } = await import('pdfjs-dist/legacy/build/pdf.min.mjs');
  // The library finds its second half here, and needs no thread.
  await import('pdfjs-dist/legacy/build/pdf.worker.min.mjs');
  const task = getDocument({
    // A copy, which the library keeps.
    data: new Uint8Array(bytes),
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    isOffscreenCanvasSupported: false,
    stopAtErrors: false,
    verbosity: VerbosityLevel.ERRORS,
  });
  try {
    const pdf = await task.promise;
    if (pdf.numPages > maxPages)
      throw new FormatError(`it has ${pdf.numPages} pages, and at most ${maxPages} can be read`);
    const pages: Line[][] = [];
    let characters = 0;
    for (let number = 1; number <= pdf.numPages; number += 1) {
      const page = await pdf.getPage(number);
      const lines = linesOf((await page.getTextContent()).items);
      pages.push(lines);
      page.cleanup();
      progressed();
      characters += lines.reduce((sum, { text }) => sum + text.length, 0);
      if (characters > maxCharacters) throw new FormatError(`it has more than ${maxCharacters} characters`);
    }
    if (characters === 0) throw new FormatError('it has no text: its pages are pictures', 'unsupported');
    const { info } = (await pdf.getMetadata().catch(() => ({ info: {} }))) as { info: { Title?: unknown } };
    return document(pages, typeof info.Title === 'string' ? info.Title.trim().slice(0, 300) : '');
  } catch (error) {
    if (error instanceof FormatError) throw error;
    if ((error as Error).name === 'PasswordException') throw new FormatError('it needs a password', 'unsupported');
    throw new FormatError(
      `it is damaged (${String((error as Error).message)
        .slice(0, 200)
        .replace(/\.$/, '')})`,
    );
  } finally {
    await task.destroy().catch(() => undefined);
  }
}

/** The library asks for these classes when it is loaded; only drawing uses them. */
function withoutDrawing(): void {
  const own = globalThis as Record<string, unknown>;
  for (const name of ['DOMMatrix', 'ImageData', 'Path2D']) own[name] ??= class {};
}

type Items = readonly (
  | object
  | { readonly str: string; readonly hasEOL: boolean; readonly height: number; readonly transform: readonly number[] }
)[];

function linesOf(items: Items): Line[] {
  const lines: Line[] = [];
  let text = '';
  let height = 0;
  let top: number | undefined;
  let before: { readonly top: number; readonly height: number } | undefined;
  const end = (): void => {
    const line = text.replace(/\s+/g, ' ').trim();
    if (line !== '') {
      const gap = before && top !== undefined ? before.top - top : 0;
      // Upwards is another column.
      const isNew =
        !before ||
        gap < 0 ||
        gap > 1.6 * Math.max(height, before.height) ||
        Math.abs(height - before.height) > 0.1 * height;
      lines.push({ text: line, height, isNew });
      before = { top: top ?? 0, height };
    }
    text = '';
    height = 0;
    top = undefined;
  };
  for (const item of items) {
    if (!('str' in item)) continue;
    text += item.str;
    if (item.str.trim() !== '') {
      height = Math.max(height, item.height);
      top ??= item.transform[5];
    }
    if (item.hasEOL) end();
  }
  end();
  return lines;
}

const maxHeading = 120;

function document(pages: readonly (readonly Line[])[], title: string): ExtractedDocument {
  const body = bodyHeight(pages);
  const sizes = headingSizes(pages, body);
  const marks: Mark[] = [];
  let text = '';
  let isHeading = false;
  for (const [index, lines] of pages.entries()) {
    if (lines.length === 0) continue;
    if (text !== '') text += '\n\n';
    marks.push({ type: 'page', at: text.length, page: index + 1 });
    for (const [number, line] of lines.entries()) {
      const level = line.text.length <= maxHeading ? sizes.indexOf(sizeOf(line)) + 1 : 0;
      const joins = number > 0 && !line.isNew;
      if (number > 0) text += line.isNew ? '\n\n' : '\n';
      // The second line of a heading.
      if (level > 0 && !(joins && isHeading)) marks.push({ type: 'heading', at: text.length, level, title: line.text });
      isHeading = level > 0;
      text += line.text;
    }
  }
  return { title, text, sections: sectionsOf(text.length, marks), pages: pages.length };
}

const sizeOf = ({ height }: Line): number => Math.round(height * 2) / 2;

/** The height of most letters. */
function bodyHeight(pages: readonly (readonly Line[])[]): number {
  const counts = new Map<number, number>();
  for (const line of pages.flat()) counts.set(sizeOf(line), (counts.get(sizeOf(line)) ?? 0) + line.text.length);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}

const maxLevels = 4;

/** The sizes of headings, the largest first: rare, and clearly larger than the text. */
function headingSizes(pages: readonly (readonly Line[])[], body: number): readonly number[] {
  const lines = pages.flat();
  const counts = new Map<number, number>();
  for (const line of lines)
    if (sizeOf(line) >= body * 1.15) counts.set(sizeOf(line), (counts.get(sizeOf(line)) ?? 0) + 1);
  const sizes = [...counts].filter(([, count]) => count <= lines.length / 3).map(([size]) => size);
  return sizes.sort((a, b) => b - a).slice(0, maxLevels);
}
