import { AppError } from '../../../../core/errors.ts';
import type { Medium } from '../../../../core/request.ts';

export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/**
 * The size that a PNG, JPEG, GIF or BMP file claims for its picture, before anything is unpacked: a small file may claim a
 * picture that fills the memory. Undefined for any other kind of file.
 */
export function pictureSize(file: Buffer): PictureSize | undefined {
  return readers.find(({ begins }) => file.subarray(0, begins.length).equals(begins))?.read(file);
}

type Reader = (file: Buffer) => PictureSize | undefined;

const within =
  (bytes: number, read: (file: Buffer) => PictureSize): Reader =>
  (file) =>
    file.length >= bytes ? read(file) : undefined;

const gif = within(10, (file) => ({ width: file.readUInt16LE(6), height: file.readUInt16LE(8) }));

const readers: readonly { readonly begins: Buffer; readonly read: Reader }[] = [
  {
    begins: Buffer.from('89504e470d0a1a0a', 'hex'),
    read: within(24, (file) => ({ width: file.readUInt32BE(16), height: file.readUInt32BE(20) })),
  },
  { begins: Buffer.from('GIF87a'), read: gif },
  { begins: Buffer.from('GIF89a'), read: gif },
  {
    begins: Buffer.from('BM'),
    // A negative height says that the rows come from top to bottom.
    read: within(26, (file) => ({ width: file.readInt32LE(18), height: Math.abs(file.readInt32LE(22)) })),
  },
  { begins: Buffer.from('ffd8ff', 'hex'), read: jpegSize },
];

/** Walks over the segments to the one that begins the frame. */
function jpegSize(file: Buffer): PictureSize | undefined {
  let at = 2;
  while (at + 9 <= file.length && file[at] === 0xff) {
    const marker = file[at + 1] as number;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) };
    // Any number of these may fill the space between segments.
    at += marker === 0xff ? 1 : 2 + file.readUInt16BE(at + 2);
  }
  return undefined;
}

/** The size with which the longer side is at most `longestSide`, in the same proportions. */
export function fittingSize({ width, height }: PictureSize, longestSide: number): PictureSize {
  const scale = Math.min(1, longestSide / Math.max(width, height));
  const scaled = (side: number) => Math.max(1, Math.round(side * scale));
  return { width: scaled(width), height: scaled(height) };
}

const channels = 3;

/** Scales rows of RGB pixels down; each new pixel is the mean of those that it stands for. */
export function shrinkPicture(pixels: Uint8Array, from: PictureSize, to: PictureSize): Uint8Array {
  const result = new Uint8Array(to.width * to.height * channels);
  let into = 0;
  for (let y = 0; y < to.height; y += 1) {
    const [top, bottom] = share(y, from.height, to.height);
    for (let x = 0; x < to.width; x += 1) {
      const [left, right] = share(x, from.width, to.width);
      let red = 0;
      let green = 0;
      let blue = 0;
      for (let row = top; row < bottom; row += 1) {
        const end = (row * from.width + right) * channels;
        for (let at = (row * from.width + left) * channels; at < end; at += channels) {
          red += pixels[at] as number;
          green += pixels[at + 1] as number;
          blue += pixels[at + 2] as number;
        }
      }
      const count = (bottom - top) * (right - left);
      result[into] = Math.round(red / count);
      result[into + 1] = Math.round(green / count);
      result[into + 2] = Math.round(blue / count);
      into += channels;
    }
  }
  return result;
}

/** The old pixels of which the new one at `index` is made: at least one. */
function share(index: number, old: number, fresh: number): readonly [from: number, to: number] {
  const from = Math.floor((index * old) / fresh);
  return [from, Math.max(from + 1, Math.floor(((index + 1) * old) / fresh))];
}

/** 100 million pixels take 300 MB when they are unpacked. */
const maximumPixels = 100e6;

const kinds: Readonly<Record<Medium['kind'], { readonly field: string; readonly expected: string }>> = {
  image: { field: 'images', expected: 'PNG, JPEG, GIF or BMP pictures' },
  audio: { field: 'audio', expected: 'WAV, MP3 or FLAC sounds' },
};

/** The library guesses what a file is; what it is not meant to be does not reach it. */
export function checkFile(kind: Medium['kind'], file: Buffer, number: number): void {
  if (kind === 'audio') {
    if (!isSound(file)) throw wrongMedium(kind, number);
    return;
  }
  const size = pictureSize(file);
  if (!size || size.width < 1 || size.height < 1) throw wrongMedium(kind, number);
  if (size.width * size.height > maximumPixels) {
    throw new AppError('invalid-field', {
      field: kinds.image.field,
      expected: `pictures of at most ${maximumPixels / 1e6} million pixels, and number ${number} has ${size.width} × ${size.height}`,
    });
  }
}

export function wrongMedium(kind: Medium['kind'], number: number): AppError {
  const { field, expected } = kinds[kind];
  return new AppError('invalid-field', {
    field,
    expected: `${expected} in base64, and number ${number} cannot be read as one`,
  });
}

function isSound(file: Buffer): boolean {
  const text = (from: number, to: number) => file.toString('latin1', from, to);
  if (file.length < 12) return false;
  if (text(0, 4) === 'RIFF') return text(8, 12) === 'WAVE';
  // MP3 files begin with a tag, or with the eleven bits by which a frame is found.
  const isFrame = file[0] === 0xff && ((file[1] as number) & 0xe0) === 0xe0;
  return text(0, 4) === 'fLaC' || text(0, 3) === 'ID3' || isFrame;
}
