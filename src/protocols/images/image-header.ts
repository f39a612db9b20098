import { inflateSync } from 'node:zlib';
import { attempt } from '../../core/attempt.ts';

/** Size and format of an image, from its header alone. */
export interface ImageHeader {
  /** Of the upright image, after the EXIF orientation is applied. */
  readonly width: number;
  readonly height: number;
  readonly format: string;
}

interface Header extends ImageHeader {
  readonly exif?: Buffer | undefined;
}

/** Decodes no pixels. Undefined for an unknown format and for a truncated file. */
export function imageHeader(bytes: Uint8Array): ImageHeader | undefined {
  const header = headerOf(asBuffer(bytes));
  if (!header || header.width <= 0 || header.height <= 0) return undefined;
  const { width, height, format, exif } = header;
  // From 5 on the image is rotated by 90 degrees.
  const lying = exif !== undefined && exifOrientation(exif) >= 5;
  return lying ? { width: height, height: width, format } : { width, height, format };
}

/** The texts in an image; `parameters` is the EXIF comment of a JPEG or WebP. */
export function imageTexts(bytes: Uint8Array): PngTexts {
  const buffer = asBuffer(bytes);
  if (isPng(buffer)) return pngTexts(buffer);
  const exif = headerOf(buffer)?.exif;
  const comment = exif && exifComment(exif);
  return comment === undefined ? {} : { parameters: comment };
}

function headerOf(bytes: Buffer): Header | undefined {
  return pngHeader(bytes) ?? jpegHeader(bytes) ?? webpHeader(bytes) ?? gifHeader(bytes);
}

/** More segments than any real file has. */
const maxSegments = 100_000;

function pngHeader(bytes: Buffer): Header | undefined {
  if (!isPng(bytes)) return undefined;
  let [first, last] = ['', ''];
  let pixels = false;
  let exif: Buffer | undefined;
  for (const { type, data } of pngChunks(bytes)) {
    first ||= type;
    last = type;
    pixels ||= type === 'IDAT';
    if (type === 'eXIf') exif ??= data;
  }
  if (first !== 'IHDR' || !pixels || last !== 'IEND') return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), format: 'png', exif };
}

/** Start-of-frame markers; three numbers of their range mean something else. */
const isFrameStart = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

function jpegHeader(bytes: Buffer): Header | undefined {
  // Cameras append data after the end marker.
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8 || bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) < 4) return undefined;
  let at = 2;
  let exif: Buffer | undefined;
  for (let count = 0; count < maxSegments && at + 9 < bytes.length; count++) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (marker === 0xff) at += 1;
    else if (isFrameStart(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5), format: 'jpeg', exif };
    } else {
      // The marker has other uses, such as XMP.
      if (marker === 0xe1 && bytes.toString('latin1', at + 4, at + 8) === 'Exif') exif ??= bytes.subarray(at + 4, end);
      at = end;
    }
  }
  return undefined;
}

function webpHeader(bytes: Buffer): Header | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return undefined;
  }
  if (bytes.readUInt32LE(4) + 8 > bytes.length) return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff, format: 'webp' };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, format: 'webp' };
    }
    case 'VP8X':
      return {
        width: bytes.readUIntLE(24, 3) + 1,
        height: bytes.readUIntLE(27, 3) + 1,
        format: 'webp',
        exif: webpExif(bytes),
      };
    default:
      return undefined;
  }
}

/** Only the extended format has EXIF. */
function webpExif(bytes: Buffer): Buffer | undefined {
  let at = 12;
  for (let count = 0; count < maxSegments && at + 8 <= bytes.length; count++) {
    const length = bytes.readUInt32LE(at + 4);
    if (bytes.toString('latin1', at, at + 4) === 'EXIF') return bytes.subarray(at + 8, at + 8 + length);
    at += 8 + length + (length % 2);
  }
  return undefined;
}

function gifHeader(bytes: Buffer): Header | undefined {
  if (bytes.length < 14 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)) || bytes.at(-1) !== 0x3b) {
    return undefined;
  }
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8), format: 'gif' };
}

const orientation = 0x0112;
const exifPointer = 0x8769;
const userComment = 0x9286;
const encodingLength = 8;
const maxCommentLength = 2 ** 20;
const marker = Buffer.from('Exif\0\0', 'latin1');

/** The user comment, in which image programs write the parameters of a JPEG or WebP; undefined if the data is invalid. */
export function exifComment(exif: Uint8Array): string | undefined {
  return readTiff(exif, ({ bytes, littleEndian, half, whole }) => {
    const directory = entryAt(half, whole(4), exifPointer);
    const comment = directory && entryAt(half, whole(directory + 8), userComment);
    if (!comment) return undefined;
    // Longer than the four bytes that fit into the entry itself: its encoding alone has eight.
    const [length, start] = [whole(comment + 4), whole(comment + 8)];
    const valid = length > encodingLength && length <= maxCommentLength && start + length <= bytes.length;
    return valid ? textOf(bytes.subarray(start, start + length), littleEndian) : undefined;
  });
}

/** Orientation from 1 to 8; 1 is upright and the default. */
export function exifOrientation(exif: Uint8Array): number {
  const value = readTiff(exif, ({ half, whole }) => {
    const entry = entryAt(half, whole(4), orientation);
    return entry && half(entry + 8);
  });
  return value && value <= 8 ? value : 1;
}

interface Tiff {
  readonly bytes: Buffer;
  readonly littleEndian: boolean;
  readonly half: (at: number) => number;
  readonly whole: (at: number) => number;
}

/** Undefined for invalid data: reading beyond the end throws. */
function readTiff<Value>(exif: Uint8Array, read: (tiff: Tiff) => Value): Value | undefined {
  const all = asBuffer(exif);
  const bytes = all.subarray(0, marker.length).equals(marker) ? all.subarray(marker.length) : all;
  const order = bytes.toString('latin1', 0, 2);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const littleEndian = order === 'II';
  const half = (at: number) => view.getUint16(at, littleEndian);
  const whole = (at: number) => view.getUint32(at, littleEndian);
  const isValid = () => (littleEndian || order === 'MM') && half(2) === 42;
  return attempt(() => (isValid() ? read({ bytes, littleEndian, half, whole }) : undefined), undefined);
}

/** The offset of a tag of the directory at this offset. */
function entryAt(half: Tiff['half'], directory: number, tag: number): number | undefined {
  const count = half(directory);
  for (let index = 0; index < count; index += 1) {
    const at = directory + 2 + 12 * index;
    if (half(at) === tag) return at;
  }
  return undefined;
}

function textOf(comment: Buffer, littleEndian: boolean): string | undefined {
  const encoding = comment.toString('latin1', 0, encodingLength);
  const content = comment.subarray(encodingLength);
  if (encoding.startsWith('UNICODE')) return wideText(content, littleEndian);
  if (encoding.startsWith('ASCII') || encoding === '\0'.repeat(encodingLength))
    return trimmed(content.toString('utf8'));
  return undefined;
}

/** UTF-16 in the byte order of the file, or big-endian, as many programs write it: the zero bytes tell which. */
function wideText(content: Buffer, littleEndian: boolean): string {
  const even = content.subarray(0, content.length & ~1);
  const zeros = (offset: number) => even.filter((value, index) => index % 2 === offset && value === 0).length;
  const [large, small] = [zeros(0), zeros(1)];
  const smallFirst = large === small ? littleEndian : small > large;
  return trimmed((smallFirst ? even : Buffer.from(even).swap16()).toString('utf16le'));
}

/** Without a regular expression, which would take quadratic time. */
function trimmed(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0) end -= 1;
  return text.slice(0, end);
}

/** Texts of a PNG by keyword. Latin-1 is written as `tEXt` and the rest as `iTXt`; compressed texts are read too. */
type PngTexts = Readonly<Record<string, string>>;

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** The signature and the IHDR chunk. */
const headLength = signature.length + 25;
/** Larger texts are skipped. */
const maxTextLength = 2 ** 20;
/** Of all texts together: the rest is skipped. */
const maxTextBytes = 4 * 2 ** 20;
const maxTexts = 1000;
/** Ten times more than the largest image has in the smallest usual chunks. */
const maxChunks = 100_000;

export function isPng(bytes: Uint8Array): boolean {
  return bytes.length >= headLength && signature.equals(bytes.subarray(0, signature.length));
}

/** The chunks in order. A file that is truncated or has too many ends without `IEND`. */
export function* pngChunks(bytes: Uint8Array): Generator<{ readonly type: string; readonly data: Buffer }> {
  const png = asBuffer(bytes);
  let at = signature.length;
  for (let count = 0; count < maxChunks && at + 12 <= png.length; count++) {
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
  const texts: (readonly [string, string])[] = [];
  let left = maxTextBytes;
  for (const { type, data } of pngChunks(bytes)) {
    if (texts.length >= maxTexts || left <= 0) break;
    const read = textReaders.get(type);
    if (!read) continue;
    // Invalid texts count too.
    left -= data.length;
    const end = data.indexOf(0);
    const text = end >= 1 && data.length <= maxTextLength ? read(data, end) : undefined;
    if (text === undefined) continue;
    left -= text.length;
    texts.push([data.toString('latin1', 0, end), text]);
  }
  return Object.fromEntries(texts);
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
  if (!/[\u0100-\uffff]/.test(text)) return chunk('tEXt', Buffer.from(`${keyword}\0${text}`, 'latin1'));
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
  return attempt(() => inflateSync(data, { maxOutputLength: maxTextLength }), undefined);
}

function isKeyword(keyword: string): boolean {
  return keyword.length >= 1 && keyword.length <= 79 && /^[\x20-\x7e\xa1-\xff]+$/.test(keyword);
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

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
