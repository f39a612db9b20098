import { inflateSync } from 'node:zlib';

/** Texts of a PNG by keyword. Latin-1 is written as `tEXt` and the rest as `iTXt`; compressed texts are read too. */
export type PngTexts = Readonly<Record<string, string>>;

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** The signature and the IHDR chunk. */
const headLength = signature.length + 25;
/** Larger texts are skipped. */
const longestText = 2 ** 20;
/** Of all texts together: the rest is skipped. */
const mostTextBytes = 4 * 2 ** 20;
const mostTexts = 1000;
/** Ten times more than the largest picture has in the smallest usual chunks. */
const mostChunks = 100_000;

export function isPng(bytes: Uint8Array): boolean {
  return bytes.length >= headLength && signature.equals(bytes.subarray(0, signature.length));
}

/** The chunks in order. A file that is truncated or has too many ends without `IEND`. */
export function* pngChunks(bytes: Uint8Array): Generator<{ readonly type: string; readonly data: Buffer }> {
  const png = asBuffer(bytes);
  let at = signature.length;
  for (let count = 0; count < mostChunks && at + 12 <= png.length; count++) {
    const length = png.readUInt32BE(at);
    const end = at + 12 + length;
    if (end > png.length) return;
    const type = png.toString('latin1', at + 4, at + 8);
    yield { type, data: png.subarray(at + 8, end - 4) };
    if (type === 'IEND') return;
    at = end;
  }
}

export function pngTexts(bytes: Uint8Array): PngTexts {
  const found: (readonly [string, string])[] = [];
  let left = mostTextBytes;
  for (const { type, data } of pngChunks(bytes)) {
    if (found.length >= mostTexts || left <= 0) break;
    const read = textReaders.get(type);
    if (!read) continue;
    // Invalid texts count too.
    left -= data.length;
    const end = data.indexOf(0);
    const text = end >= 1 && data.length <= longestText ? read(data, end) : undefined;
    if (text === undefined) continue;
    left -= text.length;
    found.push([data.toString('latin1', 0, end), text]);
  }
  return Object.fromEntries(found);
}

/** Inserts texts after the IHDR chunk. Invalid keywords are left out. */
export function withPngTexts(bytes: Uint8Array, texts: PngTexts): Buffer {
  const png = asBuffer(bytes);
  const chunks = Object.entries(texts).flatMap(([keyword, text]) =>
    isKeyword(keyword) ? [textChunk(keyword, text.replaceAll('\0', ''))] : [],
  );
  return Buffer.concat([png.subarray(0, headLength), ...chunks, png.subarray(headLength)]);
}

function textChunk(keyword: string, text: string): Buffer {
  if (isLatin(text)) return chunk('tEXt', Buffer.from(`${keyword}\0${text}`, 'latin1'));
  // Not compressed, without a language and a translated keyword.
  const head = Buffer.from(`${keyword}\0\0\0\0\0`, 'latin1');
  return chunk('iTXt', Buffer.concat([head, Buffer.from(text, 'utf8')]));
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** Reads what follows the keyword, whose end is at `end`. */
const textReaders = new Map<string, (data: Buffer, end: number) => string | undefined>([
  ['tEXt', (data, end) => data.toString('latin1', end + 1)],
  ['zTXt', (data, end) => inflated(data.subarray(end + 2))?.toString('latin1')],
  [
    'iTXt',
    (data, end) => {
      const language = data.indexOf(0, end + 3);
      const translated = data.indexOf(0, language + 1);
      if (language < 0 || translated < 0) return undefined;
      const text = data.subarray(translated + 1);
      return (data[end + 1] === 1 ? inflated(text) : text)?.toString('utf8');
    },
  ],
]);

function inflated(data: Buffer): Buffer | undefined {
  try {
    return inflateSync(data, { maxOutputLength: longestText });
  } catch {
    return undefined;
  }
}

function isKeyword(keyword: string): boolean {
  return keyword.length >= 1 && keyword.length <= 79 && /^[\x20-\x7e\xa1-\xff]+$/.test(keyword);
}

function isLatin(text: string): boolean {
  return !/[\u0100-\uffff]/.test(text);
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = (crcTable[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
