import { readFile } from 'node:fs/promises';
import { mostPixels } from '../../core/pictures.ts';
import type { Call } from '../../http/call.ts';
import { base64Schema, described, isAbsent, type Read, readText, wrong } from '../fields.ts';
import { inlineMedium } from '../media.ts';
import { type PictureFacts, pictureFacts } from './picture-facts.ts';

/** A picture that a client sent. Its header is valid; its pixels are not decoded. */
export interface SentPicture extends PictureFacts {
  readonly bytes: Uint8Array;
  /** Its path in the request, for errors. */
  readonly field: string;
}

/** Base64, bare or in a data URL. */
export const readPicture: Read<SentPicture> = described(base64Schema, (value, path) => {
  const { base64 } = inlineMedium({ kind: 'image', data: readText(value, path), field: path });
  return pictureOf(Buffer.from(base64, 'base64'), path);
});

/** An empty string means no picture. */
export const readOptionalPicture: Read<SentPicture | undefined> = described(base64Schema, (value, path) =>
  isAbsent(value) || value === '' ? undefined : readPicture(value, path),
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

/** The files of a form field, whose name may end in brackets. */
export async function formPictures({ form, signal }: Call, name: string): Promise<readonly SentPicture[]> {
  const files = (form?.files ?? []).filter(({ field }) => field.replace(/\[\d*\]$/, '') === name);
  return Promise.all(
    files.map(async ({ path }, index) => {
      const place = files.length > 1 ? `${name}[${index}]` : name;
      return pictureOf(await readFile(path, { signal }), place);
    }),
  );
}
