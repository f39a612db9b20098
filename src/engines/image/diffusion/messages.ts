/** What stable-diffusion.cpp is loaded from, by the names that its driver has for the parts. All paths are absolute. */
export interface PainterFiles {
  readonly model: string;
  readonly clipL?: string;
  readonly clipG?: string;
  readonly t5Xxl?: string;
  readonly llm?: string;
  readonly vae?: string;
}

export type PainterConfig = Readonly<Record<string, string | number | boolean>>;

export interface PainterLoad {
  /** The driver's own module. */
  readonly module: string;
  readonly files: PainterFiles;
  readonly config: PainterConfig;
  /** A file that enlarges pictures; it is opened when somebody wants that. */
  readonly upscaler?: string | undefined;
  readonly upscalerConfig: PainterConfig;
}

/** One picture, by the names of the driver. */
export interface PaintParams {
  readonly prompt: string;
  readonly negative_prompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly cfg_scale: number;
  readonly guidance?: number;
  readonly sampling_method: string;
  readonly scheduler?: string;
  readonly seed: number;
  readonly batch_count: 1;
  readonly clip_skip?: number;
  readonly vae_tiling: boolean;
  readonly strength?: number;
  readonly lora?: string;
}

/** To the process that has stable-diffusion.cpp in it; pictures go as the bytes of a message. */
export type ToPainter =
  | { readonly type: 'load'; readonly load: PainterLoad }
  | { readonly type: 'draw'; readonly id: number; readonly params: PaintParams; readonly initial: boolean }
  | { readonly type: 'upscale'; readonly id: number }
  | { readonly type: 'cancel' };

export type FromPainter =
  | { readonly type: 'loaded' }
  | { readonly type: 'load-failed'; readonly reason: string }
  | { readonly type: 'progress'; readonly id: number; readonly step: number; readonly steps: number }
  | { readonly type: 'picture'; readonly id: number }
  | { readonly type: 'ended'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string };
