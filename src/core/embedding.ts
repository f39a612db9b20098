import type { Ticket } from './request.ts';

/** What is to become a vector: a text, or the tokens that a client made of it. */
export type EmbeddingInput = string | readonly number[];

export interface EmbeddingRequest {
  readonly inputs: readonly EmbeddingInput[];
  /** What does not fit loses its end, and the result tells it; otherwise it is refused. */
  readonly truncate: boolean;
  /** One vector for each token instead of one for all of them. */
  readonly everyToken?: boolean;
}

export interface Embedded {
  /** One for each input, or with `everyToken` one list of them for each; neither shortened nor made to length 1. */
  readonly vectors: readonly (readonly Float32Array[])[];
  /** How many tokens each input has been. */
  readonly tokens: readonly number[];
  /** Which inputs lost their end. */
  readonly truncated: readonly number[];
}

/** How well each document answers a query. */
export interface RankRequest {
  readonly query: string;
  readonly documents: readonly string[];
}

export interface Ranked {
  /** One for each document; larger is better. */
  readonly scores: readonly number[];
  readonly tokens: number;
}

export interface EmbeddingFacts {
  readonly name: string;
  readonly dimensions: number;
  /** The longest text for one vector. */
  readonly maxTokens: number;
  readonly pooling: 'none' | 'mean' | 'cls' | 'last' | 'rank';
}

/** Embedding and ranking for whoever has a ticket: in turn, and stopped with it. */
export interface EmbeddingService {
  /** The name of the model. */
  readonly name: string;
  facts(): EmbeddingFacts | undefined;
  embed(request: EmbeddingRequest, ticket: Ticket): Promise<Embedded>;
  rank(request: RankRequest, ticket: Ticket): Promise<Ranked>;
}

export interface EmbeddingEngine {
  /** Undefined until it is loaded. */
  facts(): EmbeddingFacts | undefined;
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embedded>;
  /** By a model that was made for it, or else by how near the vectors are. */
  rank(request: RankRequest, signal: AbortSignal): Promise<Ranked>;
}
