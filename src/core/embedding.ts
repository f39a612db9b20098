import type { EngineSource } from './engine-source.ts';
import type { GpuUse } from './gpu-memory.ts';
import type { RequestContext } from './request-context.ts';
import type { SentFields } from './sent-fields.ts';

/** A text, or its tokens. */
export type EmbeddingInput = string | readonly number[];

/** How token vectors become one; `none` keeps one per token, `rank` scores a pair of texts. */
export type Pooling = 'none' | 'mean' | 'cls' | 'last' | 'rank';

export interface EmbeddingRequest {
  readonly inputs: readonly EmbeddingInput[];
  /** Truncates inputs that are too long, and reports it; otherwise they are rejected. */
  readonly truncate: boolean;
  /** By default that of the model. */
  readonly pooling?: Exclude<Pooling, 'rank'>;
}

export interface Embedded {
  /** For each input one vector, or with `pooling: none` one per token. Not normalised. */
  readonly vectors: readonly (readonly Float32Array[])[];
  readonly tokens: readonly number[];
  /** Indices of truncated inputs. */
  readonly truncated: readonly number[];
  readonly pooling: Pooling;
}

/** How well each document answers a query. */
export interface RankRequest {
  readonly query: string;
  readonly documents: readonly string[];
  /** Truncates documents; a query must always fit. */
  readonly truncate: boolean;
}

export interface Ranked {
  /** One per document; larger is better. */
  readonly scores: readonly number[];
  readonly tokens: number;
  /** Indices of truncated documents. */
  readonly truncated: readonly number[];
}

export interface EmbeddingFacts {
  readonly dimensions: number;
  /** The longest text for one vector. */
  readonly maxTokens: number;
  readonly pooling: Pooling;
  readonly architecture: string;
  readonly parameters: number;
  readonly sizeBytes: number;
  /** The GPUs that it uses, right after it was loaded. */
  readonly gpus?: readonly GpuUse[];
}

export interface EmbeddingService
  extends Pick<EngineSource<EmbeddingEngine>, 'name' | 'builtIn' | 'file' | 'keepFor' | 'expiresAt'> {
  /** Facts from when the model was last loaded. */
  facts(): EmbeddingFacts | undefined;
  loaded(): boolean;
  embed(request: EmbeddingRequest, context: RequestContext): Promise<Served<Embedded>>;
  rank(request: RankRequest, context: RequestContext): Promise<Served<Ranked>>;
}

/** A result, and how long the model took to load before. */
type Served<Result> = Result & { readonly loadMs: number };

export interface EmbeddingEngine {
  /** Undefined until it is loaded. */
  facts(): EmbeddingFacts | undefined;
  embed(request: EmbeddingRequest, signal: AbortSignal, sent?: SentFields): Promise<Embedded>;
  /** By a reranking model, or else by the similarity of the vectors. */
  rank(request: RankRequest, signal: AbortSignal, sent?: SentFields): Promise<Ranked>;
}

declare module './task-services.ts' {
  interface TaskServices {
    readonly embedding?: EmbeddingService;
    /** Embeddings by the text model, for requests that name it. */
    readonly textEmbedding?: EmbeddingService;
  }
}
