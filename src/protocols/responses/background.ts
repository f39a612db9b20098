import { Aborted } from '../../core/abort-cause.ts';
import { AppError, asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { ResponseStore, type StoredItem } from '../../store/responses.ts';
import { encodeWhole, failed, type Session, unfinished } from './encode.ts';
import type { ResponseObject } from './response.ts';

interface Run {
  readonly stop: AbortController;
  readonly finished: Promise<void>;
}

export interface BackgroundWork {
  readonly session: Session;
  readonly context: readonly StoredItem[];
  readonly input: readonly StoredItem[];
  /** Begins the generation, or throws at once when there is no place for it. */
  readonly begin: (signal: AbortSignal) => AsyncIterable<GenerationEvent>;
}

/** What is kept of responses between requests. One for the whole server: any model's endpoints may be asked for any of them. */
export interface ResponseState {
  readonly store: ResponseStore;
  readonly background: BackgroundRuns;
}

export function responseState(store = new ResponseStore()): ResponseState {
  return { store, background: new BackgroundRuns(store) };
}

/** The responses that are made while nobody waits for them. Clients ask the store how far they are. */
export class BackgroundRuns {
  readonly #store: ResponseStore;
  readonly #runs = new Map<string, Run>();

  constructor(store: ResponseStore) {
    this.#store = store;
  }

  start({ session, context, input, begin }: BackgroundWork): ResponseObject {
    const { id } = session.identity;
    const stop = new AbortController();
    const put = (response: ResponseObject): boolean =>
      this.#store.put({ id, response, context, input, output: response.output });
    const queued = unfinished(session, 'queued');
    const events = begin(stop.signal);
    if (!put(queued)) {
      stop.abort();
      throw new AppError('unsupported', { feature: 'background', instead: 'the request is too large to be stored' });
    }
    // One that was deleted, or dropped for newer ones, does not come back; one that outgrew the store must not look
    // unfinished for ever.
    const keep = (response: ResponseObject): ResponseObject => {
      if (this.#store.get(id) && !put(response)) this.#store.delete(id);
      return response;
    };
    const begun = (): void => void keep(unfinished(session, 'in_progress'));
    const finished = encodeWhole(announced(events, begun), { ...session, keep })
      .then(() => undefined)
      .catch((error: unknown) => void keep(failed(session, asAppError(error))))
      .finally(() => this.#runs.delete(id));
    this.#runs.set(id, { stop, finished });
    return queued;
  }

  /** Settles when the response is no longer in the making. */
  async finished(id: string): Promise<void> {
    await this.#runs.get(id)?.finished;
  }

  async cancel(id: string): Promise<void> {
    this.#runs.get(id)?.stop.abort(new Aborted('cancelled'));
    await this.finished(id);
  }
}

async function* announced(events: AsyncIterable<GenerationEvent>, begun: () => void): AsyncGenerator<GenerationEvent> {
  let first = true;
  for await (const event of events) {
    if (first) begun();
    first = false;
    yield event;
  }
}
