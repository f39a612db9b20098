import type { ImageEvent, ImageRequest, UpscaleRequest } from '../../core/image.ts';

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
