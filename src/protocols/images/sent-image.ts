import { readFile } from 'node:fs/promises';
import {
  type Channel,
  type EditedImage,
  type Fit,
  type ImageEditor,
  maxPixels,
  type OutputFormat,
  type Size,
} from '../../core/image-editing.ts';
import type { Call } from '../../http/call.ts';
import { base64Schema, described, isAbsent, type Read, readText, wrong } from '../fields.ts';
import { inlineMedium } from '../media.ts';
import { type ImageHeader, imageHeader } from './image-header.ts';

/** An image that a client sent. Its header is valid; its pixels are not decoded. */
export interface SentImage extends ImageHeader {
  readonly bytes: Uint8Array;
  /** Its path in the request, for errors. */
  readonly field: string;
}

/** Base64, bare or in a data URL. */
export const readImage: Read<SentImage> = described(base64Schema, (value, path) => {
  const { base64 } = inlineMedium({ kind: 'image', data: readText(value, path), field: path });
  return sentImage(Buffer.from(base64, 'base64'), path);
});

/** An empty string means no image. */
export const readOptionalImage: Read<SentImage | undefined> = described(base64Schema, (value, path) =>
  isAbsent(value) || value === '' ? undefined : readImage(value, path),
);

export function sentImage(bytes: Uint8Array, field: string): SentImage {
  const facts = imageHeader(bytes);
  if (!facts) throw wrong(field, 'a whole PNG, JPEG, WebP or GIF picture');
  const { width, height } = facts;
  if (width * height > maxPixels) {
    throw wrong(field, `a picture of at most ${maxPixels} pixels, and this one has ${width} x ${height}`);
  }
  return { ...facts, bytes, field };
}

/** The files of a form field, whose name may end in brackets. */
export async function formImages({ form, signal }: Call, name: string): Promise<readonly SentImage[]> {
  const files = (form?.files ?? []).filter(({ field }) => field.replace(/\[\d*\]$/, '') === name);
  return Promise.all(
    files.map(async ({ path }, index) => {
      const field = files.length > 1 ? `${name}[${index}]` : name;
      return sentImage(await readFile(path, { signal }), field);
    }),
  );
}

/** Edits of images. The worker for image editing does them: nothing is decoded in this process. */
export async function fitted(
  editor: ImageEditor,
  image: EditedImage,
  { width, height }: Size,
  fit: Fit,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  return needed(await editor.edit({ type: 'fit', size: { width, height }, fit }, [image], signal));
}

interface MaskOptions {
  readonly size: Size;
  readonly fit: Fit;
  readonly inverted?: boolean;
  /** White everywhere. */
  readonly all?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** A mask with one channel, in which white is repainted. */
export async function fittedMask(
  editor: ImageEditor,
  image: EditedImage,
  { size: { width, height }, fit, inverted = false, all = false, signal }: MaskOptions,
): Promise<Uint8Array> {
  const edit = { type: 'mask', size: { width, height }, fit, inverted, all } as const;
  return needed(await editor.edit(edit, [image], signal));
}

/** A mask from a channel; undefined for the alpha channel of an opaque image. */
export function maskOfChannel(
  editor: ImageEditor,
  image: EditedImage,
  channel: Channel,
  { size: { width, height }, fit, inverted = channel === 'alpha', signal }: MaskOptions,
): Promise<Uint8Array | undefined> {
  const edit = { type: 'channel-mask', channel, size: { width, height }, fit, inverted } as const;
  return editor.edit(edit, [image], signal);
}

/** `png` is returned unchanged for the format PNG. */
export async function encodedAs(
  editor: ImageEditor,
  png: Uint8Array,
  format: OutputFormat,
  quality: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (format === 'png') return png;
  return needed(await editor.edit({ type: 'encode', format, quality }, [{ bytes: png, field: 'picture' }], signal));
}

export function needed(bytes: Uint8Array | undefined): Uint8Array {
  if (!bytes) throw new Error('the picture worker gave no picture');
  return bytes;
}
