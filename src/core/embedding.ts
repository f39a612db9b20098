import type { Ticket } from './request.ts';

/** What is to become a vector: a text, or the tokens that a client made of it. */
export type EmbeddingInput = string | readonly number[];

/** How one vector comes of those of the tokens; `none` leaves one for each token, and `rank` gives figures for a pair of texts. */
export type Pooling = 'none' | 'mean' | 'cls' | 'last' | 'rank';

export interface EmbeddingRequest {
  readonly inputs: readonly EmbeddingInput[];
  /** What does not fit loses its end, and the result tells it; otherwise it is refused. */
  readonly truncate: boolean;
  /** The way of the model unless told otherwise. */
  readonly pooling?: Exclude<Pooling, 'rank'>;
}

export interface Embedded {
  /** A list for each input, with one vector or with `pooling: none` one for each token; none is made to length 1. */
  readonly vectors: readonly (readonly Float32Array[])[];
  /** How many tokens of each input were read. */
  readonly tokens: readonly number[];
  /** Which inputs lost their end. */
  readonly truncated: readonly number[];
  readonly pooling: Pooling;
}

/** How well each document answers a query. */
export interface RankRequest {
  readonly query: string;
  readonly documents: readonly string[];
  /** As for vectors. A query must fit in any case. */
  readonly truncate: boolean;
}

export interface Ranked {
  /** One for each document; larger is better. */
  readonly scores: readonly number[];
  readonly tokens: number;
  /** Which documents lost their end. */
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
}

/** Embedding and ranking for whoever has a ticket: in turn, and stopped with it. */
export interface EmbeddingService {
  /** The name of the model. */
  readonly name: string;
  /** What was found out about the model when it was last in memory. */
  facts(): EmbeddingFacts | undefined;
  loaded(): boolean;
  /** The size of its file and when that last changed, in milliseconds since 1970; undefined where there is none. */
  file?(): { readonly sizeBytes: number; readonly modifiedAt: number } | undefined;
  /** How long it stays in memory after its last use. */
  keepFor?(milliseconds: number): void;
  /** Milliseconds since 1970 when it leaves the memory unless it is used again; infinite for never. */
  expiresAt?(): number;
  embed(request: EmbeddingRequest, ticket: Ticket): Promise<Served<Embedded>>;
  rank(request: RankRequest, ticket: Ticket): Promise<Served<Ranked>>;
}

/** A result, and how long the model had to be waited for before. */
export type Served<Result> = Result & { readonly loadMs: number };

export interface EmbeddingEngine {
  /** Undefined until it is loaded. */
  facts(): EmbeddingFacts | undefined;
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embedded>;
  /** By a model that was made for it, or else by how near the vectors are. */
  rank(request: RankRequest, signal: AbortSignal): Promise<Ranked>;
}
