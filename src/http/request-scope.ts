import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that a piece of running code belongs to. */
export interface RequestScope {
  /** Ends the request with status 500, or its connection if the response has started. False once the request is over. */
  fail(error: unknown): boolean;
}

/**
 * Follows a request through its callbacks and promises, so that an uncaught exception can be assigned to it (see
 * `guardFaults`). Engines and other shared services that a request starts inherit its scope, which is over by then.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();

/**
 * Before Node 24 the first `run` installs async hooks for every promise of the process. Measured on Node 20 with 10,000
 * pieces through a socket, streams then take a fifth more CPU time per piece, wherever the scope is entered. There, errors
 * are only caught at the known boundaries: the handler, the stream and the callbacks of its timers.
 */
export const scopesRequests = Number(process.versions.node.split('.')[0]) >= 24;
