import { exifComment, exifOrientation } from './exif.ts';
import { isPng, type PngTexts, pngChunks, pngTexts } from './png-text.ts';

/** Size and format of a picture that somebody sent, from its header alone. */
export interface PictureFacts {
  /** As people see it: upright, whichever way the camera was held. */
  readonly width: number;
  readonly height: number;
  readonly format: string;
}

interface Header extends PictureFacts {
  readonly exif?: Buffer | undefined;
}

/**
 * What the bytes say of themselves, without a single pixel being unpacked: nothing for what is no picture of a known kind, and
 * nothing for one that is cut off.
 */
export function pictureFacts(bytes: Uint8Array): PictureFacts | undefined {
  const header = headerOf(bufferOf(bytes));
  if (!header || header.width <= 0 || header.height <= 0) return undefined;
  const { width, height, format, exif } = header;
  // From 5 on the picture lies on its side.
  const lying = exif !== undefined && exifOrientation(exif) >= 5;
  return lying ? { width: height, height: width, format } : { width, height, format };
}

/** The texts inside of a picture, such as `parameters`, which is the comment of a JPEG or WebP. */
export function pictureTexts(bytes: Uint8Array): PngTexts {
  const buffer = bufferOf(bytes);
  if (isPng(buffer)) return pngTexts(buffer);
  const exif = headerOf(buffer)?.exif;
  const comment = exif && exifComment(exif);
  return comment === undefined ? {} : { parameters: comment };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function headerOf(bytes: Buffer): Header | undefined {
  for (const read of readers) {
    const header = read(bytes);
    if (header) return header;
  }
  return undefined;
}

/** No camera or program writes more parts before or around the pixels. */
const mostParts = 100_000;

const readers: readonly ((bytes: Buffer) => Header | undefined)[] = [pngFacts, jpegFacts, webpFacts, gifFacts];

function pngFacts(bytes: Buffer): Header | undefined {
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

/** The kinds of frame heads; three of the numbers among them mean something else. */
const isFrameHead = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

function jpegFacts(bytes: Buffer): Header | undefined {
  // Cameras put something behind the end, so that it need not be the very last.
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8 || bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) < 4) return undefined;
  let at = 2;
  let exif: Buffer | undefined;
  for (let count = 0; count < mostParts && at + 9 < bytes.length; count++) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (marker === 0xff) at += 1;
    else if (isFrameHead(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5), format: 'jpeg', exif };
    } else {
      // Other things stand under the same marker, and are no EXIF.
      if (marker === 0xe1 && bytes.toString('latin1', at + 4, at + 8) === 'Exif') exif ??= bytes.subarray(at + 4, end);
      at = end;
    }
  }
  return undefined;
}

function webpFacts(bytes: Buffer): Header | undefined {
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

/** Only the extended kind has such a part. */
function webpExif(bytes: Buffer): Buffer | undefined {
  let at = 12;
  for (let count = 0; count < mostParts && at + 8 <= bytes.length; count++) {
    const length = bytes.readUInt32LE(at + 4);
    if (bytes.toString('latin1', at, at + 4) === 'EXIF') return bytes.subarray(at + 8, at + 8 + length);
    at += 8 + length + (length % 2);
  }
  return undefined;
}

function gifFacts(bytes: Buffer): Header | undefined {
  if (bytes.length < 14 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)) || bytes.at(-1) !== 0x3b) {
    return undefined;
  }
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8), format: 'gif' };
}
