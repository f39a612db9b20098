import { AppError } from '../../../core/errors.ts';
import type { GraphEvent, GraphRequest, ImageFacts, ImageRequest, UpscaleRequest } from '../../../core/image.ts';
import type { BackendConnection } from '../connection.ts';
import { RemoteFailure } from '../failure.ts';

/** An image from the backend, with its seed. */
export interface GeneratedImage {
  readonly bytes: Uint8Array;
  readonly seed: number;
  /** If they may differ from those of the request. */
  readonly used?: SamplerNames;
  /** What differs from the request, as sentences. */
  readonly notes?: readonly string[];
}

export type SamplerNames = Pick<ImageRequest, 'sampler' | 'scheduler'>;

/** Additional fields of the client's request that are passed on with this body. */
type PassedTo = (body: object) => object;

export type Progress = (step: number, steps: number, preview?: Uint8Array) => void;

/** Adapter for the image API of one product. */
export interface ImageServer {
  /** Models, samplers and defaults; read once. */
  facts(): Promise<ImageFacts>;
  /** Generates one image, whatever the count of the request. */
  generate(request: ImageRequest, signal: AbortSignal, progress: Progress, passed?: PassedTo): Promise<GeneratedImage>;
  upscale(request: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array>;
  /** Interrupts the running image. */
  stop(): Promise<void>;
  /** Of a server that runs whole graphs. */
  readonly graphs?: GraphServer;
}

export interface GraphServer {
  /** An abort ends it on the server too. */
  run(request: GraphRequest, signal: AbortSignal, event: (event: GraphEvent) => void): Promise<void>;
  /** The classes of its nodes. */
  nodes(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
}

export type ImageServerConnection = Pick<BackendConnection, 'json' | 'bytes' | 'upload'>;
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** Time-out of short requests, which are slow while the server computes. */
export const shortRequestMs = 15_000;
/** Maximum response with an image; twice a PNG of 16 megapixels as base64. */
export const maxImageBytes = 128 * 2 ** 20;
export const defaultImageFacts = { nativeSize: 512, defaults: { steps: 20, guidance: 7, size: 512 } };

/** Of a backend that has not answered. Whether it runs graphs depends on the product, if that is known. */
export function unprobedImageFacts(name: string, product: string | undefined): ImageFacts {
  return {
    name,
    title: name,
    path: name,
    ...defaultImageFacts,
    samplers: ['Euler a'],
    schedulers: ['automatic'],
    upscalers: [],
    ...(product === 'comfyui' && { graphs: 'whole' }),
    ...(product === undefined && { graphs: 'perhaps' }),
  };
}

export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

export function imageServerFailed(reason: string): AppError {
  return new AppError('engine-failed', { capability: 'image', reason: `the server of --sdremote ${reason}` });
}

/** Converts any image to a PNG without metadata, resized if a size is given. Rejects an invalid or too large one. */
export type AsPng = (bytes: Uint8Array, size?: Size) => Promise<Size & { readonly png: Uint8Array }>;
export type Size = Pick<ImageRequest, 'width' | 'height'>;

/** Reads an image of a backend. An unreadable one is the backend's error: 502. */
export async function readPng(asPng: AsPng, bytes: Uint8Array, backend: string, size?: Size) {
  try {
    return await asPng(bytes, size);
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
    throw new AppError('remote-answer', { backend, reason: `the picture cannot be read: ${reason}` }, { cause: error });
  }
}

/** Reads a JSON resource; undefined if the path is missing or the response is not JSON. */
export async function optionalJson(connection: Pick<BackendConnection, 'json'>, path: string): Promise<unknown> {
  try {
    return await connection.json('GET', path, undefined, { milliseconds: shortRequestMs });
  } catch (error) {
    if (error instanceof RemoteFailure && error.isMissing) return undefined;
    throw error;
  }
}
