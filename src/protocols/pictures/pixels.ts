import type { Sharp } from 'sharp';
import { wrong } from '../fields/readers.ts';
import { mostPixels, type SentPicture } from './sent-picture.ts';

/** How a picture is brought to a size: cut around its middle, stretched, or with white beside it. */
export type Fit = 'cover' | 'fill' | 'contain';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** All of this is done by threads of the library; nobody waits for it here. */
export async function fitted(picture: SentPicture, { width, height }: Size, fit: Fit): Promise<Uint8Array> {
  const resized = (await opened(picture)).autoOrient().resize(width, height, { fit, background: '#ffffff' });
  return pngOf(picture, resized.flatten({ background: '#ffffff' }));
}

export interface MaskOptions {
  readonly size: Size;
  readonly fit: Fit;
  /** White and black change places. */
  readonly inverted?: boolean;
  /** White everywhere, whatever the picture shows. */
  readonly all?: boolean;
}

/** A mask of one channel: white is painted anew. */
export async function fittedMask(
  picture: SentPicture,
  { size, fit, inverted = false, all = false }: MaskOptions,
): Promise<Uint8Array> {
  const { width, height } = size;
  const flat = (await opened(picture)).flatten({ background: '#000000' }).toColourspace('b-w');
  const mask = flat.resize(width, height, { fit, background: '#000000' });
  if (all) return pngOf(picture, mask.linear(0, 255));
  return pngOf(picture, inverted ? mask.negate() : mask);
}

export type Channel = 'alpha' | 'red' | 'green' | 'blue';

/** Where the picture is transparent, or has little of a colour, it is painted anew; nothing where it has no such place. */
export async function maskOfChannel(
  picture: SentPicture,
  channel: Channel,
  { size, fit, inverted = channel === 'alpha' }: MaskOptions,
): Promise<Uint8Array | undefined> {
  const { width, height } = size;
  if (channel === 'alpha' && (await isOpaque(picture))) return undefined;
  const plane = (await opened(picture)).ensureAlpha().extractChannel(channel);
  // Packed in between: the library would change the size of all channels before it takes one out.
  const bytes = await pngOf(picture, plane);
  const mask = (await opened({ ...picture, bytes })).resize(width, height, { fit }).toColourspace('b-w');
  return pngOf(picture, inverted ? mask.negate() : mask);
}

/** The picture, transparent where the mask is. Step by step: the library would drop its old transparency last of all. */
export async function withAlphaOf(picture: SentPicture, mask: SentPicture): Promise<Uint8Array> {
  const alpha = await pngOf(
    mask,
    (await opened(mask)).resize(picture.width, picture.height, { fit: 'fill' }).ensureAlpha(),
  );
  const plane = await pngOf(mask, (await opened({ ...mask, bytes: alpha })).extractChannel('alpha'));
  const plain = { ...picture, bytes: await pngOf(picture, (await opened(picture)).removeAlpha()) };
  return pngOf(picture, (await opened(plain)).joinChannel(Buffer.from(plane)));
}

/** Its colours, those of its transparent places too. */
export async function withoutAlpha(picture: SentPicture): Promise<Uint8Array> {
  return pngOf(picture, (await opened(picture)).removeAlpha().toColourspace('srgb'));
}

/** Black, and as transparent as the picture. Step by step: the library would drop its transparency last of all. */
export async function alphaAlone(picture: SentPicture): Promise<Uint8Array> {
  const plane = await pngOf(picture, (await opened(picture)).ensureAlpha().extractChannel('alpha'));
  const plain = await pngOf(picture, (await opened(picture)).removeAlpha().toColourspace('srgb'));
  const black = await pngOf(picture, (await opened({ ...picture, bytes: plain })).linear(0, 0));
  return pngOf(picture, (await opened({ ...picture, bytes: black })).joinChannel(Buffer.from(plane)));
}

export type OutputFormat = 'png' | 'jpeg' | 'webp';

/** Of what the engine drew. */
export async function encodedAs(png: Uint8Array, format: OutputFormat, quality: number): Promise<Uint8Array> {
  if (format === 'png') return png;
  const drawn = { bytes: png, field: 'picture' };
  const flat = await opened(drawn);
  // Quality 0 is none that the library knows.
  const options = { quality: Math.max(1, quality) };
  return bytesOf(drawn, format === 'jpeg' ? flat.flatten({ background: '#ffffff' }).jpeg(options) : flat.webp(options));
}

type Opening = Pick<SentPicture, 'bytes' | 'field'>;

async function isOpaque(picture: Opening): Promise<boolean> {
  return readable(picture, async () => (await (await opened(picture)).stats()).isOpaque);
}

/** Loaded by the first who needs it: most servers never do. */
async function opened({ bytes }: Opening): Promise<Sharp> {
  const { default: sharp } = await import('sharp');
  return sharp(bytes, { limitInputPixels: mostPixels, failOn: 'truncated' });
}

function pngOf(picture: Opening, image: Sharp): Promise<Uint8Array> {
  return bytesOf(picture, image.png({ compressionLevel: 3 }));
}

function bytesOf(picture: Opening, image: Sharp): Promise<Uint8Array> {
  return readable(picture, () => image.toBuffer());
}

/** What the library cannot read is the client's to mend. */
async function readable<Result>({ field }: Opening, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch {
    throw wrong(field, 'a picture that can be read, and this one is broken');
  }
}
