import { AppError } from '../core/errors.ts';
import { TaskEngine, type TaskEngineDeps } from '../engines/host/task-engine.ts';
import type { DocumentStore } from './document-store.ts';
import { bytesOf, type StoreEvent, type StoreMethod, type StoreOptions, type StoreTask } from './messages.ts';
import type { FoundPassage, SearchRules } from './storage/collection.ts';

type Engine = TaskEngine<StoreOptions, object, StoreTask, StoreEvent>;
type Result<Method extends StoreMethod> = Awaited<ReturnType<DocumentStore[Method]>>;

interface StoreHostParts extends Pick<TaskEngineDeps<StoreOptions, object>, 'entry' | 'spawn' | 'startTimer'> {
  readonly folder: string;
  readonly warn: (sentence: string) => void;
}

/** The worker process that has the files of the collections open. It starts on first use. */
export class StoreHost {
  #engine: Engine | undefined;
  #stopped = false;
  #watches = 0;

  constructor(private readonly parts: StoreHostParts) {}

  async call<Method extends StoreMethod>(
    method: Method,
    ...args: Parameters<DocumentStore[Method]>
  ): Promise<Result<Method>> {
    return (await this.#once({ type: 'call', method, args } as StoreTask)) as Result<Method>;
  }

  async read(collection: string, file: number, embedding: string, signal: AbortSignal): Promise<void> {
    await this.#once({ type: 'read', collection, file, embedding }, signal);
  }

  async setVectors(collection: string, ids: readonly number[], vectors: readonly Float32Array[]): Promise<void> {
    await this.#once({ type: 'setVectors', collection, ids, vectors: vectors.map(bytesOf) });
  }

  /** `vectors`: one for each query, or none. */
  async search(
    owner: string,
    collections: readonly string[],
    queries: readonly string[],
    rules: SearchRules,
    vectors: readonly Float32Array[],
    signal: AbortSignal,
  ): Promise<readonly FoundPassage[]> {
    const task = { type: 'search', owner, collections, queries, rules, vectors: vectors.map(bytesOf) } as const;
    return (await this.#once(task, signal)) as readonly FoundPassage[];
  }

  /** Calls `onWork` whenever there is something to index. Ends with the process. */
  async watch(onWork: () => void, signal: AbortSignal): Promise<void> {
    this.#watches += 1;
    for await (const event of this.#started().run({ type: 'watch', nonce: String(this.#watches) }, signal))
      if (event.type === 'work') onWork();
  }

  /** Undefined unless it runs. */
  get pid(): number | undefined {
    return this.#engine?.pid;
  }

  get isReady(): boolean {
    return this.#engine?.state().type === 'ready';
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#engine?.stop();
  }

  async #once(task: StoreTask, signal = neverAborted()): Promise<unknown> {
    try {
      return await this.#result(task, signal);
    } catch (error) {
      // The process ended, perhaps because of another task. Each may be done twice.
      if (!(error instanceof AppError && ['engine-lost', 'engine-silent'].includes(error.code))) throw error;
      return this.#result(task, signal);
    }
  }

  async #result(task: StoreTask, signal: AbortSignal): Promise<unknown> {
    const engine = this.#started();
    let result: unknown;
    try {
      for await (const event of engine.run(task, signal)) if (event.type === 'result') result = event.result;
    } catch (error) {
      const state = engine.state();
      if (state.type !== 'failed') throw error;
      // Another server has the folder: it is tried again with the next request.
      const { reason } = state;
      throw new AppError('engine-down', { capability: 'document', reason, retryAfterSeconds }, { cause: error });
    }
    return result;
  }

  /** One that could not start, because another server had the folder, is tried again. */
  #started(): Engine {
    if (this.#stopped) throw new AppError('stopping', {});
    if (this.#engine?.state().type === 'failed') this.#engine = undefined;
    const { folder, warn, ...parts } = this.parts;
    this.#engine ??= new TaskEngine<StoreOptions, object, StoreTask, StoreEvent>({
      ...parts,
      capability: 'document',
      options: { folder },
      observer: {
        note: warn,
        lost: ({ reason }) => warn(`The document worker ended (${reason}) and is started again.`),
      },
    });
    return this.#engine;
  }
}

/** For those who were told that the folder is in use. */
const retryAfterSeconds = 10;

const neverAborted = (): AbortSignal => new AbortController().signal;
