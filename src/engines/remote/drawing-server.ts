import { AppError } from '../../core/errors.ts';
import type { ImageFacts, ImageRequest, UpscaleRequest } from '../../core/image.ts';
import type { BackendConnection } from './connection.ts';
import { RemoteFailure } from './failure.ts';

/** A picture as the backend made it, and what it says of it. */
export interface RemotePicture {
  readonly bytes: Uint8Array;
  readonly seed: number;
}

export interface RemoteDrawing {
  readonly request: ImageRequest;
  readonly signal: AbortSignal;
  readonly progress: (step: number, steps: number, preview?: Uint8Array) => void;
}

/** One product that draws, spoken to through its own API. */
export interface DrawingServer {
  /** What it has, asked for once. */
  facts(): Promise<ImageFacts>;
  /** One picture, whatever the request says of their number. Rejects where none came. */
  draw(drawing: RemoteDrawing): Promise<RemotePicture>;
  upscale(request: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array>;
  /** Ends what it draws now. */
  stop(): Promise<void>;
}

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

/** The largest answer with a picture in it: a PNG of 16 megapixels as base64 is half of it. */
export const pictureBytes = 128 * 2 ** 20;
const listMs = 15_000;

/** A list or a setting of the server; undefined where it does not have this path, or answers with something that is no JSON. */
export async function found(connection: Pick<BackendConnection, 'json'>, path: string): Promise<unknown> {
  try {
    return await connection.json('GET', path, undefined, { milliseconds: listMs });
  } catch (error) {
    const { type, facts } = error instanceof RemoteFailure ? error : { type: 'other', facts: { status: 0 } };
    if ((type !== 'failed' && type !== 'refused') || facts.status === 401 || facts.status === 403) throw error;
    return undefined;
  }
}
