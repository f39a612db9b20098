import { exifComment } from './exif-comment.ts';
import { isPng, type PngTexts, pngChunks, pngTexts } from './png-text.ts';

/** Size and format of a picture that somebody sent, without all of its pixels. */
export interface PictureFacts {
  readonly width: number;
  readonly height: number;
  readonly format: string;
  /** The texts inside of it, such as `parameters`, which is the comment of a JPEG or WebP. */
  readonly texts: PngTexts;
}

/**
 * What the bytes say of themselves, without a single pixel being unpacked: nothing for what is no picture of a known kind, and
 * nothing for one that is cut off.
 */
export function pictureFacts(bytes: Uint8Array): PictureFacts | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const facts = readers.map((read) => read(buffer)).find((found) => found !== undefined);
  return facts && facts.width > 0 && facts.height > 0 ? facts : undefined;
}

const readers: readonly ((bytes: Buffer) => PictureFacts | undefined)[] = [pngFacts, jpegFacts, webpFacts, gifFacts];

function pngFacts(bytes: Buffer): PictureFacts | undefined {
  if (!isPng(bytes)) return undefined;
  const types = [...pngChunks(bytes)].map(({ type }) => type);
  if (types[0] !== 'IHDR' || !types.includes('IDAT') || types.at(-1) !== 'IEND') return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), format: 'png', texts: pngTexts(bytes) };
}

/** The kinds of frame heads; three of the numbers among them mean something else. */
const isFrameHead = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

function jpegFacts(bytes: Buffer): PictureFacts | undefined {
  // Cameras put something behind the end, so that it need not be the very last.
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8 || bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) < 4) return undefined;
  let at = 2;
  let exif: Buffer | undefined;
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (marker === 0xff) at += 1;
    else if (isFrameHead(marker)) {
      return { ...plainFacts('jpeg', bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)), texts: commentIn(exif) };
    } else {
      // Other things stand under the same marker, and are no EXIF.
      if (marker === 0xe1 && bytes.toString('latin1', at + 4, at + 8) === 'Exif') exif ??= bytes.subarray(at + 4, end);
      at = end;
    }
  }
  return undefined;
}

function webpFacts(bytes: Buffer): PictureFacts | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return undefined;
  }
  if (bytes.readUInt32LE(4) + 8 > bytes.length) return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return plainFacts('webp', bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return plainFacts('webp', (bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    case 'VP8X':
      return {
        ...plainFacts('webp', bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1),
        texts: commentIn(webpExif(bytes)),
      };
    default:
      return undefined;
  }
}

/** Only the extended kind has such a part. */
function webpExif(bytes: Buffer): Buffer | undefined {
  let at = 12;
  while (at + 8 <= bytes.length) {
    const length = bytes.readUInt32LE(at + 4);
    if (bytes.toString('latin1', at, at + 4) === 'EXIF') return bytes.subarray(at + 8, at + 8 + length);
    at += 8 + length + (length % 2);
  }
  return undefined;
}

function commentIn(exif: Buffer | undefined): PngTexts {
  const comment = exif && exifComment(exif);
  return comment === undefined ? {} : { parameters: comment };
}

function gifFacts(bytes: Buffer): PictureFacts | undefined {
  if (bytes.length < 14 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)) || bytes.at(-1) !== 0x3b) {
    return undefined;
  }
  return plainFacts('gif', bytes.readUInt16LE(6), bytes.readUInt16LE(8));
}

function plainFacts(format: string, width: number, height: number): PictureFacts {
  return { width, height, format, texts: {} };
}
