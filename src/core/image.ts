import type { RequestContext } from './request-context.ts';
import type { SentFields } from './sent-fields.ts';

/** A request for images. Decoders set all defaults and clamp all numbers. */
export interface ImageRequest {
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly guidance: number;
  /** An unknown name means the first of the engine, and is reported in the notes. */
  readonly sampler: string;
  readonly scheduler: string;
  /** Of the first image; the others count up from it. */
  readonly seed: number;
  readonly count: number;
  readonly clipSkip: number;
  /** img2img: the initial image, in any readable format. */
  readonly initial?: Uint8Array | undefined;
  /** Inpainting: white is painted. */
  readonly mask?: Uint8Array | undefined;
  /** Denoising strength of img2img, from 0 to 1. */
  readonly strength: number;
  /** Steps between two previews; 0 for none. */
  readonly previewEvery: number;
  readonly loras?: readonly RequestedLora[] | undefined;
}

export interface RequestedLora {
  readonly name: string;
  readonly weight: number;
}

export type ImageEvent =
  | { readonly type: 'progress'; readonly step: number; readonly steps: number; readonly preview?: Uint8Array }
  /** Without text chunks. */
  | { readonly type: 'image'; readonly index: number; readonly seed: number; readonly png: Uint8Array }
  | {
      readonly type: 'finish';
      readonly width: number;
      readonly height: number;
      readonly steps: number;
      readonly sampler: string;
      readonly scheduler: string;
      /** What differs from the request, as sentences. */
      readonly notes: readonly string[];
    };

export interface UpscaleRequest {
  /** In any readable format. */
  readonly image: Uint8Array;
  /** A name of the engine, or `None` for plain resizing. */
  readonly upscaler: string;
  readonly width: number;
  readonly height: number;
}

export interface ImageFacts {
  readonly name: string;
  readonly title: string;
  readonly path: string;
  readonly sha256?: string;
  /** The size that the model was trained for. */
  readonly nativeSize: number;
  readonly samplers: readonly string[];
  readonly schedulers: readonly string[];
  readonly upscalers: readonly { readonly name: string; readonly scale: number }[];
  readonly defaults: { readonly steps: number; readonly guidance: number; readonly size: number };
  readonly loras?: readonly { readonly name: string; readonly file: string }[];
  /** The file that replaces the VAE of the model. */
  readonly vae?: string;
  /** Whether it can show the image between its steps; unknown of a backend that has not answered. */
  readonly previews?: boolean;
  /** Without this, only the graphs that this server can read itself. */
  readonly graphs?: RunsGraphs;
}

export interface GenerateOptions {
  /** What the client sent, for backends to which some fields are passed on as they are. */
  readonly sent?: SentFields | undefined;
}

export interface ImageEngine {
  /** Undefined until it is loaded. */
  facts(): ImageFacts | undefined;
  generate(request: ImageRequest, signal: AbortSignal, options?: GenerateOptions): AsyncIterable<ImageEvent>;
  /** A PNG of the requested size. */
  upscale(request: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array>;
  /** Where its facts have `graphs`. */
  graph?(request: GraphRequest, signal: AbortSignal): AsyncIterable<GraphEvent>;
  /** The classes of nodes of such graphs. */
  nodes?(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
}

export interface ImageProgress {
  readonly genkey: string;
  /** The current image is about to end, because a client skipped it. */
  readonly skipped: boolean;
  readonly step: number;
  readonly steps: number;
  /** Finished and skipped images. */
  readonly images: number;
  readonly count: number;
  readonly secondsSoFar: number;
  readonly preview?: Uint8Array;
}

/** The running image requests of all models and dialects. */
export interface ImageJobs {
  /** Of the oldest request with this genkey, or the oldest of all without one; a client with a key of `--keyfile` sees its own only. */
  progress(genkey?: string, client?: string): ImageProgress | undefined;
  /** Aborts those with this genkey, or all; false if there is none. */
  interrupt(genkey?: string, client?: string): boolean;
  /** Skips their current images; false if there is none. */
  skip(genkey?: string, client?: string): boolean;
}

/** The turn of a request in the queue, in which it may generate and upscale several images. */
export interface ImageTurn {
  readonly signal: AbortSignal;
  generate(request: ImageRequest): AsyncIterable<ImageEvent>;
  upscale(request: UpscaleRequest): Promise<Uint8Array>;
  /** Whether the engine, once it is loaded, runs graphs as they are. */
  runsGraphs(): Promise<boolean>;
  graph(request: GraphRequest): AsyncIterable<GraphEvent>;
}

export interface ImageService {
  readonly name: string;
  /** Known before it is loaded, perhaps less exactly. */
  readonly facts: ImageFacts;
  /** Throws `busy` at once if the queue is full. The work has its turn until it ends. */
  inTurn<Event>(context: RequestContext, work: (turn: ImageTurn) => AsyncIterable<Event>): AsyncIterable<Event>;
  generate(request: ImageRequest, context: RequestContext): AsyncIterable<ImageEvent>;
  upscale(request: UpscaleRequest, context: RequestContext): Promise<Uint8Array>;
  /** The classes of nodes of an engine that runs graphs as they are, which is loaded for that; undefined for others. */
  nodes?(signal: AbortSignal): Promise<Readonly<Record<string, unknown>> | undefined>;
}

declare module './task-services.ts' {
  interface TaskServices {
    readonly image?: ImageService;
  }
}

/** A whole graph in the format of ComfyUI, for a backend that runs it as it is. */
export interface GraphRequest {
  /** Nodes by their ids. */
  readonly graph: Readonly<Record<string, unknown>>;
  /** Beside the graph, such as the workflow that is written into images. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Ids of the only outputs to compute; by default all. */
  readonly targets?: readonly string[] | undefined;
  /** The file of the client that has this name in the graph. */
  readonly file: (name: string) => Uint8Array | undefined;
}

/** A file that a graph has made, by the name that its outputs have. */
export interface GraphFile {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

export type GraphOutputs = Readonly<Record<string, object>>;

export type GraphEvent =
  /** What the backend reports, by its own names: `executing`, `progress`, `executed`. */
  | { readonly type: 'event'; readonly name: string; readonly data: Readonly<Record<string, unknown>> }
  /** A binary message: a preview, or an image that a node sends. */
  | { readonly type: 'preview'; readonly bytes: Uint8Array }
  /** Before the event that names it. */
  | { readonly type: 'file'; readonly file: GraphFile }
  | { readonly type: 'outputs'; readonly outputs: GraphOutputs };

/** Whether graphs run as they are; `perhaps` until the backend has answered. */
export type RunsGraphs = 'whole' | 'perhaps';

/** The image in a binary message of ComfyUI: JPEG or PNG (type 1), or any format that its metadata names (type 4). */
export function previewImage(message: Uint8Array): Uint8Array | undefined {
  if (message.length <= 8) return undefined;
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const [type, second] = [view.getUint32(0), view.getUint32(4)];
  const start = type === 4 ? 8 + second : 8;
  const isPicture = type === 4 || (type === 1 && (second === 1 || second === 2));
  return isPicture && start < message.length ? message.subarray(start) : undefined;
}
