import sharp, { type Sharp } from 'sharp';
import { AppError } from '../../../core/errors.ts';
import { type EditedImage, type ImageEdit, maxPixels } from '../../../core/image-editing.ts';

/** Decoded images are large and seldom needed twice. */
sharp.cache(false);

/** Runs native code: only worker processes may import this file. */
export async function edited(edit: ImageEdit, images: readonly EditedImage[]): Promise<Uint8Array | undefined> {
  const [image, second] = images;
  if (!image) throw new Error('there is no picture to edit');
  switch (edit.type) {
    case 'fit': {
      const { size, fit } = edit;
      const resized = opened(image).resize(size.width, size.height, { fit, background: '#ffffff' });
      return pngOf(image, resized.flatten({ background: '#ffffff' }));
    }
    case 'resize':
      return pngOf(image, opened(image).resize(edit.size.width, edit.size.height, { fit: 'fill' }));
    case 'mask':
      return fittedMask(image, edit);
    case 'channel-mask':
      return channelMask(image, edit);
    case 'alpha-of-second':
      if (!second) throw new Error('there is no second picture');
      return withAlphaOf(image, second);
    case 'colours':
      return pngOf(image, opened(image).removeAlpha().toColourspace('srgb'));
    case 'transparency':
      return transparency(image);
    case 'encode':
      return encoded(image, edit);
  }
}

function fittedMask(image: EditedImage, { size, fit, inverted, all }: ImageEdit & { type: 'mask' }) {
  const flat = opened(image).flatten({ background: '#000000' }).toColourspace('b-w');
  const mask = flat.resize(size.width, size.height, { fit, background: '#000000' });
  if (all) return pngOf(image, mask.linear(0, 255));
  return pngOf(image, inverted ? mask.negate() : mask);
}

async function channelMask(
  image: EditedImage,
  { channel, size, fit, inverted }: ImageEdit & { type: 'channel-mask' },
): Promise<Uint8Array | undefined> {
  if (channel === 'alpha' && (await isOpaque(image))) return undefined;
  const plane = opened(image).ensureAlpha().extractChannel(channel);
  // Encoded in between: sharp would resize all channels before it extracts one.
  const bytes = await pngOf(image, plane);
  const mask = opened({ ...image, bytes })
    .resize(size.width, size.height, { fit })
    .toColourspace('b-w');
  return pngOf(image, inverted ? mask.negate() : mask);
}

/** In several passes: sharp would remove the old alpha channel after it has joined the new one. */
async function withAlphaOf(image: EditedImage, mask: EditedImage): Promise<Uint8Array> {
  const plain = await pngOf(image, opened(image).removeAlpha());
  const { width, height } = await readable(image, () => sharp(plain).metadata());
  const alpha = await pngOf(mask, opened(mask).resize(width, height, { fit: 'fill' }).ensureAlpha());
  const plane = await pngOf(mask, opened({ ...mask, bytes: alpha }).extractChannel('alpha'));
  return pngOf(image, opened({ ...image, bytes: plain }).joinChannel(Buffer.from(plane)));
}

/** In several passes, for the same reason. */
async function transparency(image: EditedImage): Promise<Uint8Array> {
  const plane = await pngOf(image, opened(image).ensureAlpha().extractChannel('alpha'));
  const plain = await pngOf(image, opened(image).removeAlpha().toColourspace('srgb'));
  const black = await pngOf(image, opened({ ...image, bytes: plain }).linear(0, 0));
  return pngOf(image, opened({ ...image, bytes: black }).joinChannel(Buffer.from(plane)));
}

function encoded(image: EditedImage, { format, quality }: ImageEdit & { type: 'encode' }): Promise<Uint8Array> {
  const pipeline = opened(image);
  // sharp refuses quality 0.
  const options = { quality: Math.max(1, quality) };
  switch (format) {
    case 'png':
      return bytesOf(image, pipeline.png());
    case 'jpeg':
      return bytesOf(image, pipeline.flatten({ background: '#ffffff' }).jpeg(options));
    case 'webp':
      return bytesOf(image, pipeline.webp(options));
  }
}

async function isOpaque(image: EditedImage): Promise<boolean> {
  return readable(image, async () => (await opened(image).stats()).isOpaque);
}

/** Applies the EXIF orientation. Of an animation only the first frame is read. */
function opened({ bytes, field }: EditedImage): Sharp {
  // sharp throws at once for no bytes at all.
  if (bytes.byteLength === 0) throw broken(field);
  return sharp(bytes, { limitInputPixels: maxPixels, failOn: 'truncated' }).autoOrient();
}

function pngOf(image: EditedImage, pipeline: Sharp): Promise<Uint8Array> {
  return bytesOf(image, pipeline.png({ compressionLevel: 3 }));
}

function bytesOf(image: EditedImage, pipeline: Sharp): Promise<Uint8Array> {
  return readable(image, () => pipeline.toBuffer());
}

/** An image that sharp cannot read is an error of the client. */
async function readable<Result>({ field }: EditedImage, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch {
    throw broken(field);
  }
}

function broken(field: string): AppError {
  return new AppError('invalid-field', { field, expected: 'a picture that can be read, and this one is broken' });
}
