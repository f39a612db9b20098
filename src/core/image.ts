import type { Ticket } from './request.ts';

/** A picture that is to be made. Decoders fill in every default and bring sizes and numbers into their bounds. */
export interface ImageRequest {
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  /** How much the prompt counts (`cfg_scale`). */
  readonly guidance: number;
  /** One of the engine's names; another one is taken for its first, and told in the notes. */
  readonly sampler: string;
  readonly scheduler: string;
  /** Of the first picture; the others count up from it. Always given: whoever leaves it open gets a random one. */
  readonly seed: number;
  readonly count: number;
  /** Layers of the text encoder to leave out, for models that have such. */
  readonly clipSkip: number;
  /** Begin from this picture, in any format that can be read. */
  readonly initial?: Uint8Array | undefined;
  /** Only where it is white is the initial picture painted anew. */
  readonly mask?: Uint8Array | undefined;
  /** How much of the initial picture goes, from 0 to 1. */
  readonly strength: number;
  /** Show what there is after this many steps; 0 for never. */
  readonly previewEvery: number;
  /** What the model is to be changed by, of what the engine has. */
  readonly loras?: readonly AskedLora[] | undefined;
}

export interface AskedLora {
  readonly name: string;
  readonly weight: number;
}

export type ImageEvent =
  | { readonly type: 'progress'; readonly step: number; readonly steps: number; readonly preview?: Uint8Array }
  /** A PNG without any text in it. */
  | { readonly type: 'picture'; readonly index: number; readonly seed: number; readonly png: Uint8Array }
  | {
      readonly type: 'finish';
      /** What was really done. */
      readonly width: number;
      readonly height: number;
      readonly steps: number;
      readonly sampler: string;
      readonly scheduler: string;
      /** What of the request could not be done as it was asked for, as sentences. */
      readonly notes: readonly string[];
    };

export interface UpscaleRequest {
  /** In any format that can be read. */
  readonly picture: Uint8Array;
  /** One of the engine's names, or `None` for nothing but a change of size. */
  readonly upscaler: string;
  readonly width: number;
  readonly height: number;
}

export interface ImageFacts {
  readonly name: string;
  /** As people see it in lists. */
  readonly title: string;
  /** The file, and its hash where it is known. */
  readonly path: string;
  readonly sha256?: string;
  /** The size that the model draws by itself. */
  readonly nativeSize: number;
  readonly samplers: readonly string[];
  readonly schedulers: readonly string[];
  /** With the factor that each is made for. */
  readonly upscalers: readonly { readonly name: string; readonly scale: number }[];
  readonly defaults: { readonly steps: number; readonly guidance: number; readonly size: number };
  /** What requests may change the model by, with the names of the files. */
  readonly loras?: readonly { readonly name: string; readonly file: string }[];
  /** The file that stands in for the model's own VAE. */
  readonly vae?: string;
}

export interface ImageEngine {
  /** Undefined until it is loaded. */
  facts(): ImageFacts | undefined;
  draw(request: ImageRequest, signal: AbortSignal): AsyncIterable<ImageEvent>;
  /** A PNG of the size that was asked for. */
  upscale(request: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array>;
}

/** What is being drawn now, for those who look. */
export interface ImageProgress {
  /** Of whom it is drawn for; empty where they gave none. */
  readonly genkey: string;
  /** Somebody has asked for the next picture, and this one is about to end. */
  readonly skipped: boolean;
  readonly step: number;
  readonly steps: number;
  /** How many are over, those that were skipped among them. */
  readonly pictures: number;
  readonly count: number;
  readonly secondsSoFar: number;
  readonly preview?: Uint8Array;
}

/** The drawings that run now, whichever model draws them and in whatever dialect they were asked for. */
export interface Drawings {
  /** The oldest one with this key, or the oldest of all without a key. Undefined while there is none. */
  progress(genkey?: string): ImageProgress | undefined;
  /** Ends those with this key, or all of them; false where there is none. */
  interrupt(genkey?: string): boolean;
  /** Ends the picture that each of them draws now, and each goes on with its next one; false where there is none. */
  skip(genkey?: string): boolean;
}

/** The turn of one request, in which it may draw and upscale several times. */
export interface ImageTurn {
  /** Fires when nobody wants the result any more. */
  readonly signal: AbortSignal;
  draw(request: ImageRequest): AsyncIterable<ImageEvent>;
  upscale(request: UpscaleRequest): Promise<Uint8Array>;
}

/** Drawing for whoever has a ticket: in turn, and stopped with it. */
export interface ImageService {
  /** The name of the model. */
  readonly name: string;
  /** Known without loading it, though perhaps less exactly. */
  readonly facts: ImageFacts;
  /** Takes a place in the queue, or throws `busy`. The work begins when its turn comes, and keeps the place until it ends. */
  inTurn<Event>(ticket: Ticket, work: (turn: ImageTurn) => AsyncIterable<Event>): AsyncIterable<Event>;
  /** One drawing in a turn of its own. */
  draw(request: ImageRequest, ticket: Ticket): AsyncIterable<ImageEvent>;
  upscale(request: UpscaleRequest, ticket: Ticket): Promise<Uint8Array>;
}
