import sharp, { type Sharp } from 'sharp';
import { AppError } from '../../../core/errors.ts';
import type { Pixels } from './pixels.ts';

/** What was sent by whom it is, so that a refusal can name it. */
export interface SentPicture {
  readonly bytes: Uint8Array;
  readonly field: string;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** More than any camera makes, and little enough for the memory. */
const mostPixels = 64_000_000;
const formats = ['png', 'jpeg', 'webp', 'gif', 'tiff', 'heif'];
const expected = 'a picture as PNG, JPEG, WebP, GIF, AVIF or TIFF that can be read';

/** Nothing of what was read or scaled is worth keeping here. */
sharp.cache(false);

/** The picture upright, of three channels or, with transparency, four. An animation gives its first picture. */
export async function readPicture({ bytes, field }: SentPicture): Promise<Pixels> {
  const opened = await opening(bytes, field);
  return raw(opened.autoOrient().toColourspace('srgb'), field);
}

/** As a mask: one channel, white on black whatever colours it had; what is transparent counts as black. */
export async function readMask({ bytes, field }: SentPicture): Promise<Pixels> {
  const opened = await opening(bytes, field);
  const flat = opened.autoOrient().flatten({ background: '#000' }).toColourspace('b-w');
  return raw(flat.extractChannel(0), field);
}

export function writePng(pixels: Pixels): Promise<Uint8Array> {
  return opened(pixels).png({ compressionLevel: 6 }).toBuffer();
}

export type Kernel = 'lanczos3' | 'nearest';

/** To exactly this size, whatever becomes of the proportions. */
export async function resized(pixels: Pixels, { width, height }: Size, kernel: Kernel = 'lanczos3'): Promise<Pixels> {
  if (pixels.width === width && pixels.height === height) return pixels;
  return plain(opened(pixels).resize({ width, height, fit: 'fill', kernel }));
}

/** Whole and with its proportions in the middle; around it its own edges go on. */
export async function extended(pixels: Pixels, { width, height }: Size): Promise<Pixels> {
  const scale = Math.min(width / pixels.width, height / pixels.height);
  const inside = await resized(pixels, {
    width: Math.max(1, Math.round(pixels.width * scale)),
    height: Math.max(1, Math.round(pixels.height * scale)),
  });
  const [across, down] = [width - inside.width, height - inside.height];
  if (across === 0 && down === 0) return inside;
  const [left, top] = [Math.floor(across / 2), Math.floor(down / 2)];
  const around = { left, top, right: across - left, bottom: down - top };
  return plain(opened(inside).extend({ ...around, extendWith: 'copy' }));
}

/** In floats: with whole numbers white would not stay quite white. */
export function blurred(pixels: Pixels, sigma: number): Promise<Pixels> {
  return plain(opened(pixels).blur({ sigma, precision: 'float' }));
}

/** Without its transparency: what was hidden becomes white. */
export async function opaque(pixels: Pixels): Promise<Pixels> {
  return pixels.channels === 4 ? plain(opened(pixels).flatten({ background: '#fff' })) : pixels;
}

async function opening(bytes: Uint8Array, field: string): Promise<Sharp> {
  try {
    const picture = sharp(bytes, { limitInputPixels: mostPixels, failOn: 'error' });
    const { format, width, height } = await picture.metadata();
    if (format !== undefined && formats.includes(format) && width > 0 && height > 0) {
      if (width * height <= mostPixels) return picture;
      throw tooLarge(field);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (/pixel limit/i.test((error as Error).message)) throw tooLarge(field);
  }
  throw new AppError('invalid-field', { field, expected });
}

function tooLarge(field: string): AppError {
  return new AppError('invalid-field', { field, expected: `a picture of at most ${mostPixels / 1e6} million pixels` });
}

async function raw(picture: Sharp, field: string): Promise<Pixels> {
  try {
    return await plain(picture);
  } catch {
    throw new AppError('invalid-field', { field, expected });
  }
}

function opened({ data, width, height, channels }: Pixels): Sharp {
  const raw = { width, height, channels: channels as 1 | 2 | 3 | 4 };
  const picture = sharp(data, { raw, limitInputPixels: false });
  return channels === 1 ? picture.toColourspace('b-w') : picture;
}

async function plain(picture: Sharp): Promise<Pixels> {
  const { data, info } = await picture.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels };
}
