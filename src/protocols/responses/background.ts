import { Aborted } from '../../core/abort.ts';
import { AppError, asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { type OwnResponses, ResponseStore, type StoredResponse } from '../../store/responses.ts';
import { encodeWhole, failed, type Session, unfinished } from './encode.ts';
import type { ResponseObject } from './output.ts';

interface Run {
  readonly stop: AbortController;
  readonly finished: Promise<unknown>;
}

interface BackgroundWork extends Pick<StoredResponse, 'context' | 'input'> {
  readonly store: OwnResponses;
  readonly session: Session;
  /** Starts the generation, or throws if the queue is full. */
  readonly begin: (signal: AbortSignal) => AsyncIterable<GenerationEvent>;
}

/** What the server stores of responses. It is shared by all models: a response is found whatever the model. */
export interface ResponseState {
  readonly store: ResponseStore;
  readonly background: BackgroundRuns;
}

export function responseState(store = new ResponseStore()): ResponseState {
  return { store, background: new BackgroundRuns() };
}

/** The responses that are generated in the background. Clients poll the store. */
class BackgroundRuns {
  /** By the id of the response, which is random: a client that finds it in the store may stop it. */
  readonly #runs = new Map<string, Run>();

  start({ store, session, context, input, begin }: BackgroundWork): ResponseObject {
    const { id } = session.response;
    const stop = new AbortController();
    const put = (response: ResponseObject): boolean =>
      store.put({ id, response, context, input, output: response.output });
    const queued = unfinished(session, 'queued');
    const events = begin(stop.signal);
    if (!put(queued)) {
      stop.abort();
      throw new AppError('unsupported', { feature: 'background', instead: 'the request is too large to be stored' });
    }
    // A response that was deleted, or evicted for newer ones, is not stored again; one that became too large for the
    // store is deleted, so that it does not look unfinished for ever.
    const keep = (response: ResponseObject): ResponseObject => {
      if (store.get(id) && !put(response)) store.delete(id);
      return response;
    };
    const started = () => void keep(unfinished(session, 'in_progress'));
    const finished = encodeWhole(events, { ...session, keep }, started)
      .catch((error: unknown) => keep(failed(session, asAppError(error))))
      .finally(() => this.#runs.delete(id));
    this.#runs.set(id, { stop, finished });
    return queued;
  }

  /** Settles when the response is no longer being generated. */
  async finished(id: string): Promise<void> {
    await this.#runs.get(id)?.finished;
  }

  async cancel(id: string): Promise<void> {
    this.#runs.get(id)?.stop.abort(new Aborted('cancelled'));
    await this.finished(id);
  }
}
