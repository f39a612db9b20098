import type { Embedded, EmbeddingRequest, Ranked, RankRequest } from '../../core/embedding.ts';
import type { LoadOptions } from '../llama/load-options.ts';

/** Options that text models have too. */
type SharedOptions =
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
  | 'failedGpuBuilds';

/** Load options, as JSON. */
export interface EmbeddingOptions extends Pick<LoadOptions, SharedOptions> {
  /** A file, or the built-in model. */
  readonly model: { readonly path: string } | { readonly builtIn: true };
  /** Maximum input length; 0 means that of the model. */
  readonly maxTokens: number;
}

export type EmbeddingTask =
  | { readonly type: 'embed'; readonly request: EmbeddingRequest }
  | { readonly type: 'rank'; readonly request: RankRequest };

/** All vectors are one attachment; `counts` is the number of vectors per input. */
interface EmbeddedVectors extends Omit<Embedded, 'vectors'> {
  readonly type: 'embedded';
  readonly counts: readonly number[];
  readonly dimensions: number;
}

export type EmbeddingEvent = EmbeddedVectors | ({ readonly type: 'ranked' } & Ranked);
