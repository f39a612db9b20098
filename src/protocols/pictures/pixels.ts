import type { Channel, EditedPicture, Fit, OutputFormat, PictureEditor, Size } from '../../core/pictures.ts';

/** Edits of pictures. The picture worker does them: nothing is decoded in this process. */
export async function fitted(
  editor: PictureEditor,
  picture: EditedPicture,
  { width, height }: Size,
  fit: Fit,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  return needed(await editor.edit({ type: 'fit', size: { width, height }, fit }, [picture], signal));
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
  editor: PictureEditor,
  picture: EditedPicture,
  { size: { width, height }, fit, inverted = false, all = false, signal }: MaskOptions,
): Promise<Uint8Array> {
  const edit = { type: 'mask', size: { width, height }, fit, inverted, all } as const;
  return needed(await editor.edit(edit, [picture], signal));
}

/** A mask from a channel; undefined for the alpha channel of an opaque picture. */
export function maskOfChannel(
  editor: PictureEditor,
  picture: EditedPicture,
  channel: Channel,
  { size: { width, height }, fit, inverted = channel === 'alpha', signal }: MaskOptions,
): Promise<Uint8Array | undefined> {
  const edit = { type: 'channel-mask', channel, size: { width, height }, fit, inverted } as const;
  return editor.edit(edit, [picture], signal);
}

/** `png` is returned unchanged for the format PNG. */
export async function encodedAs(
  editor: PictureEditor,
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
