import sharp, { type Sharp } from 'sharp';
import { AppError } from '../../../core/errors.ts';
import { type EditedPicture, maxPixels, type PictureEdit } from '../../../core/pictures.ts';

/** Decoded pictures are large and seldom needed twice. */
sharp.cache(false);

/** Runs native code: only worker processes may import this file. */
export async function edited(edit: PictureEdit, pictures: readonly EditedPicture[]): Promise<Uint8Array | undefined> {
  const [picture, second] = pictures;
  if (!picture) throw new Error('there is no picture to edit');
  switch (edit.type) {
    case 'fit': {
      const { size, fit } = edit;
      const resized = opened(picture).resize(size.width, size.height, { fit, background: '#ffffff' });
      return pngOf(picture, resized.flatten({ background: '#ffffff' }));
    }
    case 'resize':
      return pngOf(picture, opened(picture).resize(edit.size.width, edit.size.height, { fit: 'fill' }));
    case 'mask':
      return fittedMask(picture, edit);
    case 'channel-mask':
      return channelMask(picture, edit);
    case 'alpha-of-second':
      if (!second) throw new Error('there is no second picture');
      return withAlphaOf(picture, second);
    case 'colours':
      return pngOf(picture, opened(picture).removeAlpha().toColourspace('srgb'));
    case 'transparency':
      return transparency(picture);
    case 'encode':
      return encoded(picture, edit);
  }
}

function fittedMask(picture: EditedPicture, { size, fit, inverted, all }: PictureEdit & { type: 'mask' }) {
  const flat = opened(picture).flatten({ background: '#000000' }).toColourspace('b-w');
  const mask = flat.resize(size.width, size.height, { fit, background: '#000000' });
  if (all) return pngOf(picture, mask.linear(0, 255));
  return pngOf(picture, inverted ? mask.negate() : mask);
}

async function channelMask(
  picture: EditedPicture,
  { channel, size, fit, inverted }: PictureEdit & { type: 'channel-mask' },
): Promise<Uint8Array | undefined> {
  if (channel === 'alpha' && (await isOpaque(picture))) return undefined;
  const plane = opened(picture).ensureAlpha().extractChannel(channel);
  // Encoded in between: sharp would resize all channels before it extracts one.
  const bytes = await pngOf(picture, plane);
  const mask = opened({ ...picture, bytes })
    .resize(size.width, size.height, { fit })
    .toColourspace('b-w');
  return pngOf(picture, inverted ? mask.negate() : mask);
}

/** In several passes: sharp would remove the old alpha channel after it has joined the new one. */
async function withAlphaOf(picture: EditedPicture, mask: EditedPicture): Promise<Uint8Array> {
  const plain = await pngOf(picture, opened(picture).removeAlpha());
  const { width, height } = await readable(picture, () => sharp(plain).metadata());
  const alpha = await pngOf(mask, opened(mask).resize(width, height, { fit: 'fill' }).ensureAlpha());
  const plane = await pngOf(mask, opened({ ...mask, bytes: alpha }).extractChannel('alpha'));
  return pngOf(picture, opened({ ...picture, bytes: plain }).joinChannel(Buffer.from(plane)));
}

/** In several passes, for the same reason. */
async function transparency(picture: EditedPicture): Promise<Uint8Array> {
  const plane = await pngOf(picture, opened(picture).ensureAlpha().extractChannel('alpha'));
  const plain = await pngOf(picture, opened(picture).removeAlpha().toColourspace('srgb'));
  const black = await pngOf(picture, opened({ ...picture, bytes: plain }).linear(0, 0));
  return pngOf(picture, opened({ ...picture, bytes: black }).joinChannel(Buffer.from(plane)));
}

function encoded(picture: EditedPicture, { format, quality }: PictureEdit & { type: 'encode' }): Promise<Uint8Array> {
  const image = opened(picture);
  // sharp refuses quality 0.
  const options = { quality: Math.max(1, quality) };
  switch (format) {
    case 'png':
      return bytesOf(picture, image.png());
    case 'jpeg':
      return bytesOf(picture, image.flatten({ background: '#ffffff' }).jpeg(options));
    case 'webp':
      return bytesOf(picture, image.webp(options));
  }
}

async function isOpaque(picture: EditedPicture): Promise<boolean> {
  return readable(picture, async () => (await opened(picture).stats()).isOpaque);
}

/** Applies the EXIF orientation. Of an animation only the first frame is read. */
function opened({ bytes, field }: EditedPicture): Sharp {
  // sharp throws at once for no bytes at all.
  if (bytes.byteLength === 0) throw broken(field);
  return sharp(bytes, { limitInputPixels: maxPixels, failOn: 'truncated' }).autoOrient();
}

function pngOf(picture: EditedPicture, image: Sharp): Promise<Uint8Array> {
  return bytesOf(picture, image.png({ compressionLevel: 3 }));
}

function bytesOf(picture: EditedPicture, image: Sharp): Promise<Uint8Array> {
  return readable(picture, () => image.toBuffer());
}

/** A picture that sharp cannot read is an error of the client. */
async function readable<Result>({ field }: EditedPicture, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch {
    throw broken(field);
  }
}

function broken(field: string): AppError {
  return new AppError('invalid-field', { field, expected: 'a picture that can be read, and this one is broken' });
}
