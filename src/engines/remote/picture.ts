import { AppError } from '../../core/errors.ts';

/**
 * Any picture as a PNG with nothing in it but the picture, of this size where one is given. Rejects for bytes that are no picture, or
 * one that is too large.
 */
export type AsPng = (
  bytes: Uint8Array,
  size?: { readonly width: number; readonly height: number },
) => Promise<{ readonly png: Uint8Array; readonly width: number; readonly height: number }>;

/** A picture that a backend sent. The client is not to blame for one that cannot be read: that is a 502. */
export async function readPng(asPng: AsPng, bytes: Uint8Array, backend: string, size?: Parameters<AsPng>[1]) {
  try {
    return await asPng(bytes, size);
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
    throw new AppError('remote-answer', { backend, reason: `the picture cannot be read: ${reason}` }, { cause: error });
  }
}
