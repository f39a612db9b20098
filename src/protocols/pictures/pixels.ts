import type { Channel, EditedPicture, Fit, OutputFormat, PictureEditor, Size } from '../../core/pictures.ts';

/** The edits that dialects ask for. Each is done by the picture worker: nothing is decoded in this process. */
export async function fitted(
  editor: PictureEditor,
  picture: EditedPicture,
  { width, height }: Size,
  fit: Fit,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  return needed(await editor.edit({ type: 'fit', size: { width, height }, fit }, [sent(picture)], signal));
}

export interface MaskOptions {
  readonly size: Size;
  readonly fit: Fit;
  /** White and black change places. */
  readonly inverted?: boolean;
  /** White everywhere, whatever the picture shows. */
  readonly all?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** A mask of one channel: white is painted anew. */
export async function fittedMask(
  editor: PictureEditor,
  picture: EditedPicture,
  { size: { width, height }, fit, inverted = false, all = false, signal }: MaskOptions,
): Promise<Uint8Array> {
  const edit = { type: 'mask', size: { width, height }, fit, inverted, all } as const;
  return needed(await editor.edit(edit, [sent(picture)], signal));
}

/** Where the picture is transparent, or has little of a colour, it is painted anew; undefined where it is opaque. */
export function maskOfChannel(
  editor: PictureEditor,
  picture: EditedPicture,
  channel: Channel,
  { size: { width, height }, fit, inverted = channel === 'alpha', signal }: MaskOptions,
): Promise<Uint8Array | undefined> {
  const edit = { type: 'channel-mask', channel, size: { width, height }, fit, inverted } as const;
  return editor.edit(edit, [sent(picture)], signal);
}

/** The picture, transparent where the mask is. */
export async function withAlphaOf(
  editor: PictureEditor,
  picture: EditedPicture,
  mask: EditedPicture,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  return needed(await editor.edit({ type: 'alpha-of-second' }, [sent(picture), sent(mask)], signal));
}

/** Of what the engine drew: already a PNG. */
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

function sent({ bytes, field }: EditedPicture): EditedPicture {
  return { bytes, field };
}

export function needed(bytes: Uint8Array | undefined): Uint8Array {
  if (!bytes) throw new Error('the picture worker gave no picture');
  return bytes;
}
