import type { Embedded, EmbeddingRequest, Ranked, RankRequest } from '../../core/embedding.ts';
import type { LoadOptions } from '../llama/load-options.ts';

/** How an embeddings model is to be loaded, in words that survive the way into its process as JSON. */
export interface EmbeddingOptions extends ComputingOptions {
  /** A file, or the model that comes with the program. */
  readonly model: { readonly path: string } | { readonly builtIn: true };
  /** The longest text; 0 leaves it to what the model was trained for. */
  readonly maxTokens: number;
}

/** The part of the options that is said in the same words as for text models. */
export type ComputingOptions = Pick<
  LoadOptions,
  | 'backend'
  | 'gpuLayers'
  | 'devices'
  | 'mainGpu'
  | 'tensorSplit'
  | 'splitMode'
  | 'loadMode'
  | 'metadataOverrides'
  | 'tensorOverrides'
  | 'threads'
  | 'flashAttention'
  | 'cpuLevel'
  | 'cpuBuild'
  | 'skipCpuVariants'
  | 'failedGpuBuilds'
>;

export type EmbeddingTask =
  | { readonly type: 'embed'; readonly request: EmbeddingRequest }
  | { readonly type: 'rank'; readonly request: RankRequest };

export type EmbeddingEvent =
  /** The numbers of all vectors come as bytes, one after the other. */
  | ({
      readonly type: 'embedded';
      /** How many vectors each input has. */
      readonly counts: readonly number[];
      readonly dimensions: number;
    } & Omit<Embedded, 'vectors'>)
  | ({ readonly type: 'ranked' } & Ranked);

/** How many tasks its process has at once, to compute them together. */
export const tasksAtOnce = 8;
