import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that a piece of running code belongs to. */
export interface RequestScope {
  /** Ends the request with status 500, or its connection where an answer has begun. False once the request is over. */
  fail(error: unknown): boolean;
}

/**
 * Follows each request through its callbacks and promises, so that an exception that nobody catches can be assigned to it
 * (see `guardFaults`). What a request starts for everybody, such as an engine, keeps its scope too, which is over by then.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();
