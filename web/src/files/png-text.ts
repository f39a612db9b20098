import { texts } from './texts.ts';
import { Unreadable } from './unreadable.ts';
import { checksum } from './zip.ts';

const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

export function isPng(bytes: Uint8Array): boolean {
  return signature.every((byte, at) => bytes[at] === byte);
}

interface Chunk {
  readonly kind: string;
  readonly data: Uint8Array;
  /** With length, kind and checksum. */
  readonly whole: Uint8Array;
}

/** The chunks up to the end mark. */
function* chunksOf(bytes: Uint8Array): Generator<Chunk> {
  if (!isPng(bytes)) throw new Unreadable(texts.png.other);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = signature.length;
  while (at + 12 <= bytes.length) {
    const length = view.getUint32(at);
    const kind = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (data.length < length) break;
    yield { kind, data, whole: bytes.subarray(at, at + 12 + length) };
    if (kind === 'IEND') return;
    at += 12 + length;
  }
  throw new Unreadable(texts.png.truncated);
}

/** The text chunks of a PNG file by lower-case keyword. */
export function pngTexts(bytes: Uint8Array): Map<string, string> {
  const byKeyword = new Map<string, string>();
  for (const chunk of chunksOf(bytes)) {
    const text = textOf(chunk);
    if (text && !byKeyword.has(text[0])) byKeyword.set(...text);
  }
  return byKeyword;
}

/** The PNG file with these texts by lower-case keyword instead of those that it has; undefined removes one. */
export function withPngTexts(
  bytes: Uint8Array,
  changed: Readonly<Record<string, string | undefined>>,
): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [Uint8Array.from(signature)];
  for (const chunk of chunksOf(bytes)) {
    const keyword = textOf(chunk)?.[0];
    if (keyword !== undefined && keyword in changed) continue;
    if (chunk.kind === 'IEND')
      for (const [name, text] of Object.entries(changed)) if (text !== undefined) parts.push(textChunk(name, text));
    parts.push(chunk.whole);
  }
  const file = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}

function textChunk(keyword: string, text: string): Uint8Array {
  const data = new TextEncoder().encode(`tEXt${keyword}\0${text}`);
  const chunk = new Uint8Array(data.length + 8);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, data.length - 4);
  chunk.set(data, 4);
  view.setUint32(data.length + 4, checksum(data));
  return chunk;
}

function textOf({ kind, data }: Chunk): [string, string] | undefined {
  return kind === 'tEXt' ? plainText(data) : kind === 'iTXt' ? internationalText(data) : undefined;
}

function plainText(data: Uint8Array): [string, string] | undefined {
  const zero = data.indexOf(0);
  if (zero < 1) return undefined;
  const latin = new TextDecoder('latin1');
  return [latin.decode(data.subarray(0, zero)).toLowerCase(), latin.decode(data.subarray(zero + 1))];
}

/** Keyword, compression flag, method, language, translated keyword, text. Compressed chunks are skipped: cards do not use them. */
function internationalText(data: Uint8Array): [string, string] | undefined {
  const zero = data.indexOf(0);
  if (zero < 1 || data[zero + 1] !== 0) return undefined;
  const language = data.indexOf(0, zero + 3);
  const translated = language === -1 ? -1 : data.indexOf(0, language + 1);
  if (translated === -1) return undefined;
  const keyword = new TextDecoder('latin1').decode(data.subarray(0, zero)).toLowerCase();
  return [keyword, new TextDecoder().decode(data.subarray(translated + 1))];
}
