import { AppError } from '../core/errors.ts';
import { TaskEngine, type TaskEngineDeps } from '../engines/host/task-engine.ts';
import type { CallTools, DocumentStore } from './document-store.ts';
import {
  bytesOf,
  type CallArguments,
  type StoreEvent,
  type StoreMethod,
  type StoreOptions,
  type StoreTask,
} from './messages.ts';

type Engine = TaskEngine<StoreOptions, object, StoreTask, StoreEvent>;
type Result<Method extends StoreMethod> = Awaited<ReturnType<DocumentStore[Method]>>;

interface StoreHostOptions extends Pick<TaskEngineDeps<StoreOptions, object>, 'entry' | 'spawn' | 'startTimer'> {
  readonly folder: string;
  readonly warn: (sentence: string) => void;
}

/** The worker process that has the files of the collections open. It starts on first use. */
export class StoreHost {
  #engine: Engine | undefined;
  #stopped = false;
  #watches = 0;

  constructor(private readonly options: StoreHostOptions) {}

  async call<Method extends StoreMethod>(method: Method, ...args: CallArguments<Method>): Promise<Result<Method>> {
    return this.callWith({}, method, ...args);
  }

  async callWith<Method extends StoreMethod>(
    { vectors = [], signal = new AbortController().signal }: Partial<CallTools>,
    method: Method,
    ...args: CallArguments<Method>
  ): Promise<Result<Method>> {
    const task = { type: 'call', method, args, vectors: vectors.map(bytesOf) } as const;
    try {
      return (await this.#result(task, signal)) as Result<Method>;
    } catch (error) {
      // The process ended, perhaps because of another task. Each may be done twice.
      if (!(error instanceof AppError && ['engine-lost', 'engine-silent'].includes(error.code))) throw error;
      return (await this.#result(task, signal)) as Result<Method>;
    }
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
    const { folder, warn, ...options } = this.options;
    this.#engine ??= new TaskEngine<StoreOptions, object, StoreTask, StoreEvent>({
      ...options,
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

/** For requests that were refused because the folder is in use. */
const retryAfterSeconds = 10;
