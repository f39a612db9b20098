import { AppError } from '../../core/errors.ts';
import type {
  GenerateOptions,
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

interface ConditionedOptions extends GenerateOptions {
  readonly read?: PromptVectors;
}

/** An image engine that has its own text encoder, or gets the embeddings of its prompts. */
export interface ConditionedEngine extends ImageEngine {
  generate(request: ImageRequest, signal: AbortSignal, options?: ConditionedOptions): AsyncIterable<ImageEvent>;
}

/** Host of an image worker process. */
export class ImageHost<Options = ImageOptions>
  extends TaskEngine<Options, ImageFacts, ImageTask, ImageTaskEvent>
  implements ConditionedEngine
{
  async *generate(
    request: ImageRequest,
    signal: AbortSignal,
    { read }: ConditionedOptions = {},
  ): AsyncGenerator<ImageEvent> {
    const conditions = read && { conditions: bytesOf(read.vectors) };
    const task: ImageTask = { type: 'generate', request, shortened: read?.shortened ?? false, ...conditions };
    for await (const event of this.run(task, signal)) if (event.type !== 'upscaled') yield event;
  }

  async upscale(request: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array> {
    const event = await this.outcome({ type: 'upscale', request }, signal);
    if (event?.type === 'upscaled') return event.png;
    throw new AppError('engine-failed', { capability: 'image', reason: 'it gave no picture' });
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
      readonly type: 'generate';
      readonly request: ImageRequest;
      /** Whether a prompt was truncated for its embedding. */
      readonly shortened: boolean;
      /** The embeddings of both prompts, for models without a text encoder. */
      readonly conditions?: Uint8Array;
    }
  | { readonly type: 'upscale'; readonly request: UpscaleRequest };

export type ImageTaskEvent = ImageEvent | { readonly type: 'upscaled'; readonly png: Uint8Array };
