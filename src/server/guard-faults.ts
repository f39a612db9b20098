import type { EventEmitter } from 'node:events';
import { type RequestScope, requestScope } from '../http/request-scope.ts';
import { RateLimitedLog, type RateLimitOptions } from '../observe/rate-limited-log.ts';

interface FaultGuardDeps extends RateLimitOptions {
  /** Versions for a report. */
  readonly facts: string;
  readonly process?: Pick<EventEmitter, 'on'>;
  /** The request that the failing code belongs to. */
  readonly scope?: () => RequestScope | undefined;
}

/**
 * Handles uncaught exceptions, from the moment the port is open; before that they end the process, as
 * they should. One that belongs to a request ends that request alone. Any other is written to the log with its stack, and
 * the server goes on: each request has its own state, engines are processes of their own, and ending the server would end
 * every request that runs. The log is bounded: the first few faults of one kind in a minute are written, the rest counted.
 */
export function guardFaults({ facts, ...deps }: FaultGuardDeps): void {
  const { process = globalThis.process, scope = () => requestScope.getStore() } = deps;
  const repeats = new RateLimitedLog(deps);
  const take = (what: string) => (error: unknown) => {
    // The request reports the fault itself.
    if (scope()?.fail(error)) return;
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    // One of these ends one connection, wherever it was thrown.
    if (connectionCodes.has((error as NodeJS.ErrnoException | undefined)?.code))
      repeats.log('failed connections', `A connection failed: ${stack}`);
    else repeats.log(what, `${what}. The server goes on, but please report this (${facts}): ${stack}`);
  };
  process.on('uncaughtException', take('An exception was not caught'));
  process.on('unhandledRejection', take('A rejected promise was not handled'));
}

const connectionCodes: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ETIMEDOUT',
  'ERR_STREAM_WRITE_AFTER_END',
  'ERR_STREAM_DESTROYED',
]);
