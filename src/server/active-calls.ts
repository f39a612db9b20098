import { Aborted } from '../core/abort.ts';
import { AppError } from '../core/errors.ts';
import { atEnd } from '../core/steps.ts';
import { type Deferred, deferred } from '../core/synchronization.ts';
import type { ClientKey, Endpoint } from '../http/call.ts';

interface ActiveCall {
  readonly stop: AbortController;
  readonly done: Deferred<void>;
}

/** The requests of each key of `--keyfile` that are being answered, so that all of a person can be ended. */
export class ActiveCalls {
  readonly #calls = new Map<string, Set<ActiveCall>>();

  /** `isValid`: whether the key may still be used; its request may have been sent for a while. */
  constructor(private readonly isValid: (key: ClientKey) => boolean) {}

  /** The same endpoint, whose calls can be ended. */
  followed(endpoint: Endpoint): Endpoint {
    return {
      ...endpoint,
      handle: async (call) => {
        const { key } = call;
        if (!key || endpoint.access === 'open') return endpoint.handle(call);
        if (!this.isValid(key)) throw new AppError('unauthorized', {});
        const { stop, ended } = this.#begin(key.name);
        try {
          const reply = await endpoint.handle({ ...call, signal: AbortSignal.any([call.signal, stop.signal]) });
          if ('stream' in reply) return { ...reply, stream: atEnd(reply.stream, ended) };
          ended();
          return reply;
        } catch (error) {
          ended();
          throw error;
        }
      },
    };
  }

  /** Resolves when no request of this key is answered any more, but not later than after some seconds. */
  async end(name: string, wait: (milliseconds: number) => Promise<unknown>): Promise<void> {
    const calls = [...(this.#calls.get(name) ?? [])];
    for (const { stop } of calls) stop.abort(new Aborted('cancelled'));
    await Promise.race([Promise.all(calls.map(({ done }) => done.promise)), wait(maxEndMs)]);
  }

  #begin(name: string) {
    const call = { stop: new AbortController(), done: deferred<void>() };
    const calls = this.#calls.get(name) ?? new Set();
    this.#calls.set(name, calls);
    calls.add(call);
    const ended = (): void => {
      calls.delete(call);
      if (calls.size === 0) this.#calls.delete(name);
      call.done.resolve();
    };
    return { stop: call.stop, ended };
  }
}

/** A handler that ignores its signal must not block the removal of a person. */
const maxEndMs = 5000;
