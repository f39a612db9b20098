import type { ExtractedDocument } from '../../core/documents.ts';
import { AppError } from '../../core/errors.ts';
import { whole } from '../../core/slices.ts';
import { codeMarks, jsonLines, jsonMarks } from './code.ts';
import { beginsWithHeader, emailText, isEmail, isMailbox } from './email.ts';
import { FormatError } from './format-error.ts';
import { htmlText } from './html.ts';
import { markdownMarks, markdownTitle } from './markdown.ts';
import { docxText, epubText, odtText } from './office.ts';
import { decodeText } from './plain-text.ts';
import { rtfText } from './rtf.ts';
import { sectionsOf } from './sections.ts';
import { isSubtitles, subtitlesText } from './subtitles.ts';
import { tableText } from './table.ts';
import type { StructuredText } from './text-lines.ts';
import { isZip, readZip } from './zip.ts';

type Read = StructuredText & { readonly title?: string | undefined; readonly hasLines?: boolean };

/**
 * The text of a file and its structure; its kind is decided by its content first. `progressed` is called for each page of a PDF; other
 * files are read at once. Throws `document-unreadable` for one without text.
 */
export async function readDocument(
  name: string,
  bytes: Uint8Array,
  progressed = (): void => undefined,
): Promise<ExtractedDocument> {
  try {
    const document = await read(name, bytes, progressed);
    if (document.text.trim() === '') throw new FormatError('it has no text', 'unsupported');
    return { ...document, title: document.title || name };
  } catch (error) {
    if (error instanceof FormatError) throw unreadable(name, error.kind, error.message);
    throw error;
  }
}

export function unreadable(name: string, kind: 'unsupported' | 'invalid', reason: string): AppError {
  return new AppError('document-unreadable', { name, kind, reason });
}

async function read(name: string, bytes: Uint8Array, progressed: () => void): Promise<ExtractedDocument> {
  if (bytes.length === 0) throw new FormatError('it is empty', 'unsupported');
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 1024)).toString('latin1');
  if (head.includes('%PDF-')) {
    const { pdfText } = await import('./pdf.ts');
    return pdfText(bytes, progressed);
  }
  if (isZip(bytes)) return structured(await packed(bytes));
  const foreign = foreignKinds.find(([signature]) => head.startsWith(signature));
  if (foreign) throw new FormatError(foreign[1], 'unsupported');
  if (head.startsWith('{\\rtf')) return structured({ text: whole(rtfText(latinOf(bytes))), marks: [] });
  const text = decodeText(bytes);
  if (text === undefined) throw new FormatError(unknownFormat, 'unsupported');
  return structured(textOf(name, text, bytes));
}

const unknownFormat =
  'it is not a text, and its format is not known; text, PDF, docx, odt, epub, rtf, HTML, e-mail and subtitles can be read';

/** Formats that are not supported, by their first bytes, with what to do instead. */
const foreignKinds: readonly (readonly [string, string])[] = [
  ['\u00d0\u00cf\u0011\u00e0', 'it is a file of an old Office program: save it as .docx, .csv or PDF'],
  ['\u0089PNG', 'it is a picture'],
  ['\u00ff\u00d8\u00ff', 'it is a picture'],
  ['GIF8', 'it is a picture'],
  ['OggS', 'it is a recording: transcribe it first'],
  ['fLaC', 'it is a recording: transcribe it first'],
  ['RIFF', 'it is a recording or a picture'],
  ['ID3', 'it is a recording: transcribe it first'],
  ['\u001f\u008b', 'it is a packed archive: unpack it first'],
  ['7z\u00bc\u00af', 'it is a packed archive: unpack it first'],
  ['Rar!', 'it is a packed archive: unpack it first'],
];

const latinOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

function structured({ text, marks, title, hasLines }: Read): ExtractedDocument {
  return {
    title: title ?? '',
    text,
    sections: sectionsOf(text.length, marks),
    ...(hasLines && { hasLines }),
  };
}

async function packed(bytes: Uint8Array): Promise<Read> {
  const entries = await readZip(bytes);
  const names = new Set(entries.map(({ name }) => name));
  if (names.has('word/document.xml')) return docxText(entries, whole);
  if (names.has('META-INF/container.xml')) return epubText(entries, whole);
  if (names.has('content.xml')) return odtText(entries, whole);
  if (names.has('xl/workbook.xml') || names.has('xl/workbook.bin'))
    throw new FormatError('it is a spreadsheet, which is not supported: save it as .csv or PDF', 'unsupported');
  if (names.has('ppt/presentation.xml'))
    throw new FormatError('it is a presentation, which is not supported: save it as PDF', 'unsupported');
  throw new FormatError('it is an archive and no document: unpack it first', 'unsupported');
}

const code =
  /\.(?:[cm]?[jt]sx?|svelte|vue|py|pyi|rb|rs|go|java|kts?|cs?|h|cc|cpp|cxx|hpp|hh|php|swift|sh|bash|zsh|fish|ps1|bat|sql|lua|pl|pm|r|jl|scala|dart|gradle|groovy|zig|nim|ex|exs|erl|hs|ml|mli|fs|clj|lisp|el|f90|pas|proto|tf|css|scss|less|cmake|asm|s|vb|m|mm|glsl|wgsl|cu)$|^(?:makefile|dockerfile)$/i;

function textOf(name: string, text: string, bytes: Uint8Array): Read {
  if (isPage(name, text)) return whole(htmlText(text));
  if (isMail(name, text)) return whole(emailText(latinOf(bytes)));
  if (isSubtitles(text)) return subtitlesText(text);
  if (/\.(?:csv|tsv|tab)$/i.test(name)) return tableText(text);
  if (/\.(?:json|jsonc|ipynb|geojson|webmanifest)$/i.test(name)) {
    const json = jsonLines(text);
    return { ...json, marks: jsonMarks(json.text) };
  }
  if (/\.(?:md|markdown|mdx|qmd|rmd)$/i.test(name) || (isUnnamed(name) && /^#{1,2} \S.*$/m.test(text.slice(0, 4096)))) {
    const marks = markdownMarks(text);
    return { text, marks, title: markdownTitle(text, marks), hasLines: true };
  }
  return { text, marks: code.test(name) ? codeMarks(text) : [], hasLines: true };
}

/** A name that says nothing about the content. */
const isUnnamed = (name: string): boolean =>
  !/\.\w{1,8}$/.test(name) || /\.(?:docx?|odt|epub|rtf|pdf|bin|dat|tmp)$/i.test(name);

function isMail(name: string, text: string): boolean {
  if (/\.eml$/i.test(name)) return beginsWithHeader(text) || isMailbox(text);
  if (/\.(?:mbox|mbx)$/i.test(name)) return isEmail(text) || isMailbox(text);
  return isUnnamed(name) && isEmail(text);
}

function isPage(name: string, text: string): boolean {
  const begins = /^\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype html|html)\b/i.test(text.slice(0, 1000));
  return begins || (/\.x?html?$/i.test(name) && /<[a-z!]/i.test(text.slice(0, 4096)));
}
