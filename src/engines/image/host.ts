import { AppError } from '../../core/errors.ts';
import type {
  DrawOptions,
  ImageEngine,
  ImageEvent,
  ImageFacts,
  ImageRequest,
  UpscaleRequest,
} from '../../core/image.ts';
import { TaskEngine } from '../host/task-engine.ts';

/** Embeddings of the prompt and of the negative prompt, and whether one of them was truncated. */
export interface PromptVectors {
  readonly vectors: readonly Float32Array[];
  readonly shortened: boolean;
}

interface ConditionedOptions extends DrawOptions {
  readonly read?: PromptVectors;
}

/** An image engine that has its own text encoder, or gets the embeddings of its prompts. */
export interface ConditionedEngine extends ImageEngine {
  draw(request: ImageRequest, signal: AbortSignal, options?: ConditionedOptions): AsyncIterable<ImageEvent>;
}

/** Host of an image worker process. */
export class ImageHost<Options = ImageOptions>
  extends TaskEngine<Options, ImageFacts, ImageTask, ImageTold>
  implements ConditionedEngine
{
  async *draw(
    request: ImageRequest,
    signal: AbortSignal,
    { read }: ConditionedOptions = {},
  ): AsyncGenerator<ImageEvent> {
    const { initial, mask, ...rest } = request;
    const shortened = read?.shortened ?? false;
    const parts = {
      ...(read && { conditions: bytesOf(read.vectors) }),
      ...(initial && { initial }),
      ...(mask && { mask }),
    };
    const attached = Object.keys(parts) as (keyof typeof parts)[];
    const task: ImageTask = { type: 'draw', request: rest, shortened, attached };
    for await (const { event, attachments } of this.run(task, signal, Object.values(parts))) {
      const [bytes] = attachments;
      if (event.type === 'finish') yield event;
      else if (event.type === 'progress') yield bytes ? { ...event, preview: bytes } : event;
      else if (event.type === 'picture' && bytes) yield { ...event, png: bytes };
    }
  }

  async upscale({ picture, ...request }: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array> {
    let found: Uint8Array | undefined;
    for await (const { event, attachments } of this.run({ type: 'upscale', request }, signal, [picture])) {
      if (event.type === 'upscaled') found = attachments[0];
    }
    if (!found) throw new AppError('engine-failed', { capability: 'image', reason: 'it gave no picture' });
    return found;
  }
}

function bytesOf(vectors: readonly Float32Array[]): Uint8Array {
  return Buffer.concat(vectors.map((vector) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)));
}

/** Load options, as JSON. */
export interface ImageOptions {
  readonly path: string;
  readonly threads: number;
}

export type ImageTask =
  | {
      readonly type: 'draw';
      readonly request: Omit<ImageRequest, 'initial' | 'mask'>;
      /** Whether a prompt was truncated for its embedding. */
      readonly shortened: boolean;
      /** Names of the attachments, in order. `conditions` are the embeddings of both prompts. */
      readonly attached: readonly ('conditions' | 'initial' | 'mask')[];
    }
  | { readonly type: 'upscale'; readonly request: Omit<UpscaleRequest, 'picture'> };

/** A preview or picture is the attachment of its event. */
export type ImageTold =
  | { readonly type: 'progress'; readonly step: number; readonly steps: number }
  | { readonly type: 'picture'; readonly index: number; readonly seed: number }
  | Extract<ImageEvent, { type: 'finish' }>
  | { readonly type: 'upscaled' };
