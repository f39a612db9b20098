import { mostPixels } from '../../core/pictures.ts';
import { described, type Read, readText, wrong } from '../fields/readers.ts';
import { base64Schema } from '../fields/schemas.ts';
import { inlineMedium } from '../media.ts';
import { type PictureFacts, pictureFacts } from './picture-facts.ts';

/** A picture that a client sent and that is what it says it is, as far as one can tell without unpacking it. */
export interface SentPicture extends PictureFacts {
  readonly bytes: Uint8Array;
  /** Where it stands in the request. */
  readonly field: string;
}

/** Base64, bare or in a data URL. */
export const readPicture: Read<SentPicture> = described(base64Schema, (value, path) => {
  const { base64 } = inlineMedium({ kind: 'image', data: readText(value, path), field: path });
  return pictureOf(Buffer.from(base64, 'base64'), path);
});

/** Empty texts stand for pictures that are not there. */
export const readOptionalPicture: Read<SentPicture | undefined> = described(base64Schema, (value, path) =>
  value === undefined || value === null || value === '' ? undefined : readPicture(value, path),
);

export function pictureOf(bytes: Uint8Array, field: string): SentPicture {
  const facts = pictureFacts(bytes);
  if (!facts) throw wrong(field, 'a whole PNG, JPEG, WebP or GIF picture');
  const { width, height } = facts;
  if (width * height > mostPixels) {
    throw wrong(field, `a picture of at most ${mostPixels} pixels, and this one has ${width} x ${height}`);
  }
  return { ...facts, bytes, field };
}
