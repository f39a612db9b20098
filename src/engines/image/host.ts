import { AppError } from '../../core/errors.ts';
import type { ImageEngine, ImageEvent, ImageFacts, ImageRequest, UpscaleRequest } from '../../core/image.ts';
import { TaskEngine, type TaskEngineParts, type Told } from '../host/task-engine.ts';

/** What the network is told of some texts, and whether one of them was too long for it. */
export type Condition = (
  texts: readonly string[],
  signal: AbortSignal,
) => Promise<{ readonly vectors: readonly Float32Array[]; readonly shortened: boolean }>;

/** An engine for pictures that has somebody else read its prompts. */
export interface ConditionedEngine extends Omit<ImageEngine, 'draw'> {
  draw(request: ImageRequest, signal: AbortSignal, condition: Condition): AsyncIterable<ImageEvent>;
}

const capability = 'image';

export interface ImageHostParts<Options> extends Omit<TaskEngineParts<Options, ImageFacts>, 'capability'> {
  /** The engine reads its prompts itself. */
  readonly readsPrompts?: boolean;
}

/** The image engine as the server sees it: a process with one model. */
export class ImageHost<Options = ImageOptions>
  extends TaskEngine<Options, ImageFacts, ImageTask, ImageTold>
  implements ConditionedEngine
{
  readonly #readsPrompts: boolean;

  constructor({ readsPrompts = false, ...parts }: ImageHostParts<Options>) {
    super({ ...parts, capability });
    this.#readsPrompts = readsPrompts;
  }

  async *draw(request: ImageRequest, signal: AbortSignal, condition: Condition): AsyncGenerator<ImageEvent> {
    const { initial, mask, ...rest } = request;
    const read = this.#readsPrompts ? undefined : await condition([request.prompt, request.negativePrompt], signal);
    const shortened = read?.shortened ?? false;
    const parts = {
      ...(read && { conditions: bytesOf(read.vectors) }),
      ...(initial && { initial }),
      ...(mask && { mask }),
    };
    const attached = Object.keys(parts) as (keyof typeof parts)[];
    const task: ImageTask = { type: 'draw', request: rest, shortened, attached };
    for await (const told of this.run(task, signal, Object.values(parts))) {
      const event = eventOf(told);
      if (event) yield event;
    }
  }

  async upscale({ picture, ...request }: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array> {
    let found: Uint8Array | undefined;
    for await (const { event, attachments } of this.run({ type: 'upscale', request }, signal, [picture])) {
      if (event.type === 'upscaled') found = attachments[0];
    }
    if (!found) throw new AppError('engine-failed', { capability, reason: 'it gave no picture' });
    return found;
  }
}

function eventOf({ event, attachments: [bytes] }: Told<ImageTold>): ImageEvent | undefined {
  switch (event.type) {
    case 'progress':
      return bytes ? { ...event, preview: bytes } : event;
    case 'picture':
      return bytes && { ...event, png: bytes };
    case 'finish':
      return event;
    case 'upscaled':
      return undefined;
  }
}

function bytesOf(vectors: readonly Float32Array[]): Uint8Array {
  return Buffer.concat(
    vectors.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
  );
}

/** How the engine is to be loaded, in words that survive the way into its process as JSON. */
export interface ImageOptions {
  readonly path: string;
  readonly threads: number;
}

/** The bytes come as attachments, in the order of what is said of them. */
export type ImageTask =
  | {
      readonly type: 'draw';
      readonly request: Omit<ImageRequest, 'initial' | 'mask'>;
      /** How much of the prompts went into what the network is told of them. */
      readonly shortened: boolean;
      /** `conditions` are the numbers for the prompt and those for the negative one. */
      readonly attached: readonly ('conditions' | 'initial' | 'mask')[];
    }
  | { readonly type: 'upscale'; readonly request: Omit<UpscaleRequest, 'picture'> };

/** Bytes of previews and pictures come as the one attachment. */
export type ImageTold =
  | { readonly type: 'progress'; readonly step: number; readonly steps: number }
  | { readonly type: 'picture'; readonly index: number; readonly seed: number }
  | Extract<ImageEvent, { type: 'finish' }>
  | { readonly type: 'upscaled' };
