import { AppError } from '../../../../core/errors.ts';
import type { Medium } from '../../../../core/request.ts';
import { pictureSize } from './picture-header.ts';

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
