/**
 * The comment of a photograph: where image programs write how a JPEG or WebP was made. Reads nothing but that, and gives nothing
 * where the bytes are not what they should be.
 */
export function exifComment(exif: Uint8Array): string | undefined {
  const tiff = tiffOf(exif);
  if (!tiff) return undefined;
  const first = entryOf(tiff, tiff.whole(4), exifPointer);
  const comment = first && entryOf(tiff, tiff.whole(first.valueAt), userComment);
  if (!comment || comment.length > longest) return undefined;
  // Up to four bytes stand in the entry itself, and a comment has eight for its alphabet alone.
  const at = tiff.whole(comment.valueAt);
  if (at === undefined || comment.length <= alphabetLength || at + comment.length > tiff.bytes.length) return undefined;
  return textOf(tiff.bytes.subarray(at, at + comment.length), tiff.little);
}

/** How the camera was held, from 1 to 8; 1, upright, where nothing is said of it. */
export function exifOrientation(exif: Uint8Array): number {
  const tiff = tiffOf(exif);
  const entry = tiff && entryOf(tiff, tiff.whole(4), orientation);
  const value = entry && tiff.half(entry.valueAt);
  return value !== undefined && value >= 1 && value <= 8 ? value : 1;
}

const orientation = 0x0112;
const exifPointer = 0x8769;
const userComment = 0x9286;
const alphabetLength = 8;
/** Nobody writes more about a picture. */
const longest = 2 ** 20;
const marker = Buffer.from('Exif\0\0', 'latin1');

interface Tiff {
  readonly bytes: Buffer;
  readonly little: boolean;
  /** Numbers at a place; undefined beyond the end. */
  readonly half: (at: number | undefined) => number | undefined;
  readonly whole: (at: number | undefined) => number | undefined;
}

function tiffOf(exif: Uint8Array): Tiff | undefined {
  const all = Buffer.from(exif.buffer, exif.byteOffset, exif.byteLength);
  const bytes = all.subarray(0, marker.length).equals(marker) ? all.subarray(marker.length) : all;
  const order = bytes.toString('latin1', 0, 2);
  if (bytes.length < 8 || (order !== 'II' && order !== 'MM')) return undefined;
  const little = order === 'II';
  const within = (at: number | undefined, length: number): at is number =>
    at !== undefined && at >= 0 && at + length <= bytes.length;
  const half = (at: number | undefined) =>
    within(at, 2) ? (little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at)) : undefined;
  const whole = (at: number | undefined) =>
    within(at, 4) ? (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)) : undefined;
  return half(2) === 42 ? { bytes, little, half, whole } : undefined;
}

interface Entry {
  readonly length: number;
  /** Where the value stands, or the place of it. */
  readonly valueAt: number;
}

/** One tag of the directory at this place. */
function entryOf({ half, whole }: Tiff, directory: number | undefined, tag: number): Entry | undefined {
  const count = half(directory);
  if (directory === undefined || count === undefined) return undefined;
  for (let index = 0; index < count; index += 1) {
    const at = directory + 2 + 12 * index;
    if (half(at) === undefined) return undefined;
    if (half(at) === tag) return { length: whole(at + 4) ?? 0, valueAt: at + 8 };
  }
  return undefined;
}

function textOf(comment: Buffer, little: boolean): string | undefined {
  const alphabet = comment.toString('latin1', 0, alphabetLength);
  const words = comment.subarray(alphabetLength);
  if (alphabet.startsWith('UNICODE')) return wideText(words, little);
  if (alphabet.startsWith('ASCII') || alphabet === '\0'.repeat(alphabetLength)) return trimmed(words.toString('utf8'));
  return undefined;
}

/** In the order of the file by the specification, and the large byte first by the programs: zeros tell which it is. */
function wideText(words: Buffer, little: boolean): string {
  const even = words.subarray(0, words.length & ~1);
  const zeros = (offset: number) => even.filter((value, index) => index % 2 === offset && value === 0).length;
  const [large, small] = [zeros(0), zeros(1)];
  const smallFirst = large === small ? little : small > large;
  return trimmed((smallFirst ? even : Buffer.from(even).swap16()).toString('utf16le'));
}

/** One walk from the end: a pattern would take quadratic time for a text of zeros that ends in something else. */
function trimmed(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0) end -= 1;
  return text.slice(0, end);
}
