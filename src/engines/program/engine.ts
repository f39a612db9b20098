import type { ChatRequest } from '../../chat/request.ts';
import { commandKind, type EngineProgram } from '../../config/engine.ts';
import { AppError } from '../../core/errors.ts';
import type { GpuUse } from '../../core/gpu-memory.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { GenerationSink, RunningGeneration, TextEngine, TextState } from '../../core/text-service.ts';
import type { ChildExit, Spawn } from '../host/child.ts';
import { EngineHost, type EngineObserver, EngineProcess, type StartTimer } from '../host/engine-process.ts';
import { howItDied, unreadyText } from '../host/engine-state.ts';
import type { BackendPool } from '../remote/backend-pool.ts';
import { BackendConnection } from '../remote/connection.ts';
import { RemoteFailure } from '../remote/failure.ts';
import { titleOf } from '../remote/kinds.ts';
import { RemoteText } from '../remote/text.ts';
import { type ProgramAddress, type ProgramChildDeps, type ProgramMessage, programChild } from './child.ts';
import { identifyProgram, type ProgramIdentity, type ProgramTask } from './identify.ts';
import { ProgramOutput } from './output.ts';

interface ProgramFacts {
  readonly address: ProgramAddress;
  readonly identity: ProgramIdentity;
}

interface ProgramEngineDeps
  extends Pick<ProgramChildDeps<never>, 'guard' | 'freePort' | 'newKey' | 'loaded' | 'wait' | 'now'> {
  readonly name: string;
  readonly program: EngineProgram;
  /** Of the address where it listens; empty while it does not run. */
  readonly pool: BackendPool;
  readonly startTimer: StartTimer;
  readonly newCallId: () => string;
  readonly defaultContext: number;
  /** Whether it was loaded before, so that a failure may be temporary. */
  readonly proven: boolean;
  /** A line that it has printed. */
  readonly log: (line: string) => void;
  readonly observer: EngineObserver<ProgramIdentity>;
  /** What a process and its children hold of GPUs; undefined if it cannot be known now. */
  readonly gpuUse?: (pid: number) => Promise<readonly GpuUse[] | undefined>;
}

/** Time to end after its `stop` signal. */
const closingMs = 10_000;
/** A request may fail this long before the end of its program is known. */
const exitMs = 2000;
const verbs: Readonly<Record<ProgramTask, string>> = {
  text: 'Text',
  embedding: 'Embeddings',
  image: 'Pictures',
  speech: 'Speech',
  transcription: 'Transcription',
};

/** A model in another program: the program is started, watched and ended as an engine process is, and used by the adapters of remote backends. */
export class ProgramEngine extends EngineHost implements TextEngine {
  protected readonly process: EngineProcess<unknown, { readonly type: 'unused' }, ProgramFacts>;
  readonly output: ProgramOutput;
  readonly #text: RemoteText;
  #identity: ProgramIdentity | undefined;
  #gpus: readonly GpuUse[] = [];
  #died: Promise<void> = new Promise(() => undefined);

  constructor(private readonly deps: ProgramEngineDeps) {
    super();
    const { name, pool, now, newCallId, defaultContext, observer, proven, startTimer } = deps;
    this.output = new ProgramOutput(deps);
    this.#text = new RemoteText({ pool, model: undefined, name, defaultContext, now, newCallId });
    this.process = new EngineProcess({
      capability: pool.capability,
      spawn: this.#spawn,
      entry: '',
      startTimer,
      opening: () => undefined,
      loaded: (facts) => this.#loaded(facts),
      receive: () => undefined,
      closingMs,
      proven,
      loadReason: (exit) => explained(exit),
      observer: { ...observer, loaded: ({ identity }) => observer.loaded?.(identity) },
    });
  }

  /** For the adapters of its other tasks. */
  get pool(): BackendPool {
    return this.deps.pool;
  }

  /** What it can do, once it has run. */
  get identity(): ProgramIdentity | undefined {
    return this.#identity;
  }

  /** What it held of GPUs when it was last measured. */
  gpuUse(): readonly GpuUse[] {
    return this.process.state().type === 'ready' ? this.#gpus : [];
  }

  /** Names of the GPUs that it used, also after its end. */
  get gpuNames(): readonly string[] {
    return this.#gpus.map(({ name }) => name);
  }

  /** Measures again: some programs take memory with their first request only. */
  async gpus(): Promise<readonly GpuUse[]> {
    const { pid } = this;
    if (this.process.state().type === 'ready' && pid !== undefined) await this.#measure(pid);
    return this.gpuUse();
  }

  override async stop(): Promise<void> {
    this.deps.pool.replace();
    await super.stop();
  }

  state(): TextState {
    const state = this.process.state();
    return state.type === 'ready' ? this.#text.state() : unreadyText(this.deps.name, state);
  }

  contextSize(): number {
    return this.#text.contextSize();
  }

  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration {
    return this.#generated(sink, (own) => this.#text.generate(request, seed, own));
  }

  chat(request: ChatRequest, seed: number, sink: GenerationSink): RunningGeneration {
    return this.#generated(sink, (own) => this.#text.chat(request, seed, own));
  }

  tokenize: TextEngine['tokenize'] = (text, options) => this.#text.tokenize(text, options);
  detokenize: TextEngine['detokenize'] = (...args) => this.#text.detokenize(...args);
  pieces: TextEngine['pieces'] = (tokens) => this.#text.pieces(tokens);

  /** Throws if the running program cannot do this. */
  check(task: ProgramTask): void {
    const { identity } = this;
    if (!identity || identity.tasks.includes(task)) return;
    const feature = `${verbs[task]} by ${this.deps.name}`;
    throw new AppError('unsupported', { feature, instead: `it is ${titleOf(identity)}; name another model` });
  }

  /** Resolves when the process that runs now has ended: taken when a request begins, because another one may run when it fails. */
  get died(): Promise<void> {
    return this.#died;
  }

  /** The end of its process instead of the broken connection that a request sees. */
  async explained(error: unknown, died: Promise<void>): Promise<unknown> {
    const { code = '' } = error instanceof AppError ? error : {};
    if (!['remote-down', 'remote-lost', 'engine-failed'].includes(code)) return error;
    const late = Symbol();
    const first = await Promise.race([died, this.deps.wait(exitMs).then(() => late)]);
    return first === late ? error : new AppError('engine-lost', { capability: this.deps.pool.capability });
  }

  #generated(sink: GenerationSink, generate: (sink: GenerationSink) => RunningGeneration): RunningGeneration {
    try {
      this.check('text');
    } catch (error) {
      sink.event({ type: 'error', error: error as AppError });
      return { abort: () => undefined };
    }
    const { traceparent, sent } = sink;
    const { died } = this;
    return generate({
      traceparent,
      sent,
      event: (event) => {
        if (event.type !== 'error') sink.event(event);
        else
          void this.explained(event.error, died).then((error) =>
            sink.event({ type: 'error', error: error as AppError }),
          );
      },
    });
  }

  #loaded({ address, identity }: ProgramFacts): void {
    const { name, program, pool } = this.deps;
    this.#identity = identity;
    const base = `http://127.0.0.1:${address.port}`;
    const { parallel, pass } = program;
    pool.replace({
      address: { base, host: name, purpose: 'text', weight: 1, parallel, ...(pass && { pass }) },
      key: address.key,
      identity,
    });
  }

  async #measure(pid: number): Promise<void> {
    const used = await this.deps.gpuUse?.(pid);
    if (used && this.pid === pid) this.#gpus = used;
  }

  readonly #spawn: Spawn = (_entry, listeners) => {
    const child = programChild<ProgramFacts>(
      { ...this.deps, line: (line) => this.output.add(line), probe: (address) => this.#probe(address) },
      {
        message: (message: ProgramMessage<ProgramFacts>) => listeners.message(message as never, []),
        exit: (exit) => {
          this.deps.pool.replace();
          listeners.exit(exit);
        },
      },
    );
    this.#died = child.died;
    return child;
  };

  async #probe(address: ProgramAddress): Promise<ProgramFacts | string> {
    const { name, program } = this.deps;
    const { port: listening, key } = address;
    const connection = new BackendConnection({ base: `http://127.0.0.1:${listening}`, host: name, key });
    try {
      const problem = await notReady(connection, program.ready);
      if (problem !== undefined) return problem;
      const identity = await identifyProgram(connection, { name, kind: commandKind(program) });
      // Before it counts as loaded, so that no load after this one ignores what it holds.
      if (this.pid !== undefined) await this.#measure(this.pid);
      return { address, identity };
    } finally {
      connection.close();
    }
  }
}

/** Why it is not ready; a program without the default path is asked what it is. */
async function notReady(connection: BackendConnection, path: string | undefined): Promise<string | undefined> {
  try {
    await connection.bytes(path ?? '/health', { milliseconds: 4000 });
    return undefined;
  } catch (error) {
    const { status } = error instanceof RemoteFailure ? error.facts : {};
    const unknown = path === undefined && status !== undefined && status !== 503 && status !== 429;
    return unknown ? undefined : `${path ?? '/health'}: ${(error as Error).message}`;
  }
}

/** The line in which it says why it ended. */
function explained(exit: ChildExit): string {
  // Nothing that it wrote is about that.
  if (exit.signal === 'SIGILL')
    return `${howItDied(exit)}: it was built for another processor; use a build for this one`;
  const lines = exit.lastLines.map((line) => line.trim()).filter((line) => line !== '');
  const line = lines.findLast((one) => /error|fail|cannot|unable|invalid|not found/i.test(one)) ?? lines.at(-1);
  return line === undefined ? howItDied(exit) : `${howItDied(exit)}; it wrote: ${line.slice(0, 300)}`;
}
