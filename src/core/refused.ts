import type { AppError } from './errors.ts';

/** A request that was answered with a refusal, and who sent it. */
export interface Refused {
  readonly error: AppError;
  /** As the client saw it. */
  readonly status: number;
  /** Both empty for what never became a request. */
  readonly method: string;
  readonly path: string;
  readonly remoteAddress: string;
}
