import type { StoredFile } from './stored-files.ts';

/** The states of the OpenAI API, which those of the Messages API are part of. */
type BatchStatus =
  | 'validating'
  | 'in_progress'
  | 'cancelling'
  | 'finalizing'
  | 'completed'
  | 'failed'
  | 'expired'
  | 'cancelled';

/** What is wrong with the input of a batch, of which nothing is run then. */
export interface BatchProblem {
  readonly code: string;
  readonly message: string;
  readonly param?: string;
  /** From 1. */
  readonly line?: number;
}

export interface BatchCounts {
  readonly total: number;
  readonly succeeded: number;
  /** Answered with an error. */
  readonly failed: number;
}

/** Tokens of all its requests together. */
export interface BatchUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Requests that run when the server has nothing else to do. Times in seconds since 1970. */
export interface Batch {
  readonly id: string;
  readonly status: BatchStatus;
  /** The path of its requests. */
  readonly endpoint: string;
  /** The model of its first request. */
  readonly model?: string;
  readonly inputFile?: StoredFile['id'];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly createdAt: number;
  /** What is not done by then is not run any more. */
  readonly expiresAt: number;
  readonly startedAt?: number;
  readonly cancelledAt?: number;
  readonly finalizingAt?: number;
  readonly endedAt?: number;
  /** The results are deleted. */
  readonly archivedAt?: number;
  readonly problems?: readonly BatchProblem[];
  readonly counts: BatchCounts;
  readonly usage: BatchUsage;
  readonly outputFile?: StoredFile['id'];
  readonly errorFile?: StoredFile['id'];
}

export interface BatchRequest {
  /** Unique within the batch. */
  readonly customId: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What became of a request: its reply, whatever the status, or why it was not run. */
export type BatchResult = { readonly customId: string } & (
  | { readonly type: 'reply'; readonly status: number; readonly requestId: string; readonly body: unknown }
  | { readonly type: 'cancelled' | 'expired' }
);

/** Who has sent it, for limits and turns. */
export interface BatchSender {
  /** The name of the key. */
  readonly key?: string;
  readonly address: string;
}

export interface NewBatch {
  readonly api: 'openai' | 'messages';
  readonly endpoint: string;
  /** A file with a request in each line, or the requests themselves. */
  readonly input: { readonly file: string } | { readonly requests: readonly BatchRequest[] };
  readonly sender: BatchSender;
  readonly metadata?: Readonly<Record<string, string>>;
  /** When its output files expire, in seconds after they were made. */
  readonly outputSeconds?: number;
}

/** The batches of one owner. Methods throw `not-stored` for ids that this owner does not have. */
export interface BatchLibrary {
  /** The newest first. */
  list(api: NewBatch['api']): Promise<readonly Batch[]>;
  get(id: string): Promise<Batch>;
  create(batch: NewBatch): Promise<Batch>;
  /** Throws `invalid-field` for one that has ended. */
  cancel(id: string): Promise<Batch>;
  /** Of one that has ended, a result for each request. */
  results(id: string): Promise<AsyncIterable<BatchResult>>;
  /** Throws `invalid-field` for one that has not ended. */
  delete(id: string): Promise<void>;
}

export const batchHasEnded = ({ status }: Pick<Batch, 'status'>): boolean =>
  ['completed', 'failed', 'expired', 'cancelled'].includes(status);
