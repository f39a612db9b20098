import sharp, { type Sharp } from 'sharp';
import { AppError } from '../../core/errors.ts';

/** Rows of pixels from the top left, 8 bits per channel. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

/** With its field, for error messages. */
interface SentImage {
  readonly bytes: Uint8Array;
  readonly field: string;
}

export type Size = Pick<Pixels, 'width' | 'height'>;

/** Bounds the memory; more than cameras make. */
const maxPixels = 64_000_000;
const formats = ['png', 'jpeg', 'webp', 'gif', 'tiff', 'heif'];
const expected = 'a picture as PNG, JPEG, WebP, GIF, AVIF or TIFF that can be read';

// Images are not read twice.
sharp.cache(false);

/** Upright sRGB with three channels, or four with alpha; the first frame of an animation. */
export async function readImage({ bytes, field }: SentImage): Promise<Pixels> {
  const opened = await opening(bytes, field);
  return raw(opened.autoOrient().toColourspace('srgb'), field);
}

/** A mask: one channel of luminance; transparent pixels are black. */
export async function readMask({ bytes, field }: SentImage): Promise<Pixels> {
  const opened = await opening(bytes, field);
  const flat = opened.autoOrient().flatten({ background: '#000' }).toColourspace('b-w');
  return raw(flat.extractChannel(0), field);
}

export function writePng(pixels: Pixels): Promise<Uint8Array> {
  return opened(pixels).png({ compressionLevel: 6 }).toBuffer();
}

/** Exactly this size; the aspect ratio may change. */
export async function resized(
  pixels: Pixels,
  { width, height }: Size,
  kernel: 'lanczos3' | 'nearest' = 'lanczos3',
): Promise<Pixels> {
  if (pixels.width === width && pixels.height === height) return pixels;
  return plain(opened(pixels).resize({ width, height, fit: 'fill', kernel }));
}

/** Fits the image into this size with its aspect ratio, and repeats its edges around it. */
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

/** In floats: with integers, white would become slightly grey. */
export function blurred(pixels: Pixels, sigma: number): Promise<Pixels> {
  return plain(opened(pixels).blur({ sigma, precision: 'float' }));
}

/** Composited onto white. */
export async function opaque(pixels: Pixels): Promise<Pixels> {
  return pixels.channels === 4 ? plain(opened(pixels).flatten({ background: '#fff' })) : pixels;
}

export async function withoutAlpha(pixels: Pixels): Promise<Pixels> {
  return pixels.channels === 4 ? plain(opened(pixels).removeAlpha()) : pixels;
}

export function alphaOf(pixels: Pixels): Promise<Pixels> {
  return plain(opened(pixels).extractChannel('alpha'));
}

export function withAlpha(colours: Pixels, { data, width, height }: Pixels): Promise<Pixels> {
  return plain(opened(colours).joinChannel(Buffer.from(data), { raw: { width, height, channels: 1 } }));
}

async function opening(bytes: Uint8Array, field: string): Promise<Sharp> {
  try {
    const image = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error' });
    const { format, width, height } = await image.metadata();
    if (format !== undefined && formats.includes(format) && width > 0 && height > 0) {
      if (width * height <= maxPixels) return image;
      throw tooLarge(field);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (/pixel limit/i.test((error as Error).message)) throw tooLarge(field);
  }
  throw new AppError('invalid-field', { field, expected });
}

function tooLarge(field: string): AppError {
  return new AppError('invalid-field', { field, expected: `a picture of at most ${maxPixels / 1e6} million pixels` });
}

async function raw(image: Sharp, field: string): Promise<Pixels> {
  try {
    return await plain(image);
  } catch {
    throw new AppError('invalid-field', { field, expected });
  }
}

function opened({ data, width, height, channels }: Pixels): Sharp {
  const raw = { width, height, channels: channels as 1 | 2 | 3 | 4 };
  const image = sharp(data, { raw, limitInputPixels: false });
  return channels === 1 ? image.toColourspace('b-w') : image;
}

async function plain(image: Sharp): Promise<Pixels> {
  const { data, info } = await image.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels };
}

/** RGB as planes, one after the other, in the given range of values. */
export function toPlanes({ data, width, height, channels }: Pixels, from: number, to: number): Float32Array {
  const area = width * height;
  const planes = new Float32Array(3 * area);
  for (let plane = 0; plane < 3; plane += 1) {
    for (let pixel = 0; pixel < area; pixel += 1) {
      planes[plane * area + pixel] = from + ((to - from) * (data[pixel * channels + plane] as number)) / 255;
    }
  }
  return planes;
}

export function fromPlanes(planes: Float32Array, { width, height }: Size, from: number, to: number): Pixels {
  const area = width * height;
  const data = new Uint8Array(3 * area);
  for (let plane = 0; plane < 3; plane += 1) {
    for (let pixel = 0; pixel < area; pixel += 1) {
      const value = ((planes[plane * area + pixel] as number) - from) / (to - from);
      data[pixel * 3 + plane] = Math.round(Math.min(1, Math.max(0, value)) * 255);
    }
  }
  return { data, width, height, channels: 3 };
}

/** `over` where the mask is white, `under` where it is black. All have the same size; the mask has one channel. */
export function blended(over: Pixels, under: Pixels, mask: Pixels): Pixels {
  const data = new Uint8Array(over.data.length);
  for (let index = 0; index < data.length; index += 1) {
    const pixel = Math.floor(index / over.channels);
    const share = (mask.data[pixel] as number) / 255;
    const behind = under.data[pixel * under.channels + (index % over.channels)] as number;
    data[index] = Math.round((over.data[index] as number) * share + behind * (1 - share));
  }
  return { ...over, data };
}
