import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import type { ExtractedDocument } from '../../core/documents.ts';
import { AppError } from '../../core/errors.ts';
import { percentDecoded } from '../../core/percent-decoded.ts';
import type { FetchMedia } from '../dialect.ts';
import * as f from '../fields.ts';
import type { OwnDocuments } from './library.ts';

/** A file that a request brings along or names. */
export interface SentFile {
  /** Its path in the request. */
  readonly field: string;
  readonly name?: string | undefined;
  readonly mime?: string | undefined;
  readonly source:
    | { readonly type: 'data'; readonly data: string }
    | { readonly type: 'address'; readonly url: string }
    | { readonly type: 'file'; readonly id: string };
}

/** What became of it: a picture or a sound, or the text of a document. */
export type LoadedFile = { readonly name: string; readonly file?: string } & (
  | { readonly type: 'medium'; readonly kind: 'image' | 'audio'; readonly base64: string; readonly mime: string }
  | { readonly type: 'document'; readonly document: ExtractedDocument }
);

/** By the part of the request that has it. */
export type LoadedFiles = ReadonlyMap<object, LoadedFile>;

interface LoadOptions {
  readonly own: OwnDocuments;
  readonly fetchMedia?: FetchMedia | undefined;
  readonly signal: AbortSignal;
}

const maxFiles = 32;
const maxBytes = 64 * 1024 * 1024;

/**
 * The files of a request, before it is decoded: their text is part of the prompt. A file that the conversation has again and again is
 * loaded once.
 */
export async function loadFiles(sent: ReadonlyMap<object, SentFile>, options: LoadOptions): Promise<LoadedFiles> {
  const loading = new Map<string, Promise<LoadedFile>>();
  for (const file of sent.values()) {
    const key = keyOf(file);
    if (loading.has(key)) continue;
    if (loading.size >= maxFiles) throw f.wrong(file.field, `one of at most ${maxFiles} files`);
    loading.set(key, load(file, options));
  }
  await Promise.all(loading.values());
  const loaded = new Map<object, LoadedFile>();
  for (const [part, file] of sent) loaded.set(part, (await loading.get(keyOf(file))) as LoadedFile);
  return loaded;
}

function keyOf({ source, name = '' }: SentFile): string {
  switch (source.type) {
    case 'data':
      return `data ${name} ${source.data}`;
    case 'address':
      return `address ${source.url}`;
    case 'file':
      return `file ${source.id}`;
  }
}

async function load(file: SentFile, options: LoadOptions): Promise<LoadedFile> {
  const { own, signal } = options;
  const { mime, bytes, ...of } = await contentOf(file, options);
  const { name } = of;
  const kind = mediumOf(mime, bytes);
  if (kind) return { ...of, type: 'medium', kind, base64: bytes.toString('base64'), mime };
  if (bytes.length === 0) throw f.wrong(file.field, 'a file that is not empty');
  const plain = isPlainText(name, mime, bytes);
  if (plain) return { ...of, type: 'document', document: plainDocument(name, bytes) };
  try {
    return { ...of, type: 'document', document: await own.extract(withEnding(name, mime, bytes), bytes, signal) };
  } catch (error) {
    throw located(error, file.field);
  }
}

/** Only the request knows which of its files cannot be read. */
function located(error: unknown, field: string): unknown {
  if (!(error instanceof AppError) || error.code !== 'document-unreadable') return error;
  const { details } = error as AppError<'document-unreadable'>;
  return new AppError('document-unreadable', { ...details, field }, { cause: error });
}

async function contentOf(file: SentFile, { own, fetchMedia = fetchPublic, signal }: LoadOptions) {
  const { source, field } = file;
  switch (source.type) {
    case 'data': {
      const type = /^data:([^;,]{0,200})/i.exec(source.data.slice(0, 210))?.[1] ?? '';
      const bytes = Buffer.from(source.data.replace(/^data:[^,]{0,1000},/i, ''), 'base64');
      return { name: file.name ?? 'file', mime: type || (file.mime ?? ''), bytes };
    }
    case 'address': {
      const fetched = await fetchMedia(source.url, signal);
      if (fetched.type === 'refused') {
        throw f.wrong(field, `an address that can be fetched, and this one ${fetched.reason}; send the file itself`);
      }
      const last = percentDecoded(new URL(source.url).pathname.split('/').filter(Boolean).at(-1) ?? '');
      return { name: file.name ?? (last || 'page'), mime: fetched.contentType ?? '', bytes: fetched.bytes };
    }
    case 'file': {
      const files = own.files();
      const stored = await files.get(source.id);
      const expected = 'the id of a file that was uploaded with POST /v1/files';
      if (!stored) throw new AppError('not-stored', { what: 'file', id: source.id, field, expected });
      if (stored.bytes > maxBytes) throw f.wrong(field, `a file of at most ${maxBytes / 1024 / 1024} MB`);
      const bytes = await readFile(await files.path(stored.id), { signal });
      return { name: stored.name, mime: stored.mime, bytes, file: stored.id };
    }
  }
}

const fetchPublic: FetchMedia = async (url, signal) => {
  const { fetchRemote } = await import('../../http/outgoing.ts');
  return fetchRemote(url, { signal, bytes: maxBytes / 2 });
};

/** By its type, or by the first bytes of the formats that engines can read. */
function mediumOf(mime: string, bytes: Buffer): 'image' | 'audio' | undefined {
  const [main] = mime.toLowerCase().split('/');
  if (main === 'image' && !/svg/i.test(mime)) return 'image';
  if (main === 'audio') return 'audio';
  const head = bytes.subarray(0, 12).toString('latin1');
  if (/^(?:\x89PNG|\xff\xd8\xff|GIF8)/.test(head) || /^RIFF.{4}WEBP/s.test(head)) return 'image';
  return /^RIFF.{4}WAVE/s.test(head) || head.startsWith('fLaC') ? 'audio' : undefined;
}

/** Text that is markup for something else is extracted. */
const markup = /\.(?:x?html?|rtf|eml|mht(?:ml)?)$/i;

function isPlainText(name: string, mime: string, bytes: Buffer): boolean {
  const isMarkup = markup.test(name) || /\b(?:html|rtf|rfc822)\b/i.test(mime);
  return !isMarkup && !bytes.subarray(0, 5).equals(Buffer.from('%PDF-')) && isUtf8(bytes) && !bytes.includes(0);
}

function plainDocument(name: string, bytes: Buffer): ExtractedDocument {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  return { title: name, text, sections: [{ start: 0, end: text.length, headings: [], kind: 'text' }] };
}

const endings: readonly (readonly [RegExp, string])[] = [
  [/pdf/i, '.pdf'],
  [/html/i, '.html'],
  [/wordprocessingml/i, '.docx'],
  [/opendocument\.text/i, '.odt'],
  [/epub/i, '.epub'],
  [/rtf/i, '.rtf'],
  [/rfc822/i, '.eml'],
];

/** The kind of a document is found by its name, which clients may leave out. */
function withEnding(name: string, mime: string, bytes: Buffer): string {
  if (/\.[a-z0-9]{1,6}$/i.test(name)) return name;
  if (bytes.subarray(0, 5).toString('latin1') === '%PDF-') return `${name}.pdf`;
  return name + (endings.find(([type]) => type.test(mime))?.[1] ?? '');
}

/** Finds the parts of a body that have a file, at any depth of its contents. */
export function sentFiles(
  body: unknown,
  path: string,
  read: (part: Readonly<Record<string, unknown>>, at: string) => SentFile | undefined,
): Map<object, SentFile> {
  const files = new Map<object, SentFile>();
  const walk = (value: unknown, at: string): void => {
    if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) walk(each, `${at}[${index}]`);
      return;
    }
    if (!f.isObject(value)) return;
    const file = typeof value.type === 'string' ? read(value, at) : undefined;
    if (file) files.set(value, file);
    for (const name of ['content', 'output', 'source'] as const) {
      if (typeof value[name] === 'object') walk(value[name], `${at}.${name}`);
    }
  };
  walk(body, path);
  return files;
}
