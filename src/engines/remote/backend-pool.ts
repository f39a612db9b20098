import type { RemoteAddress } from '../../config/remote.ts';
import { AppError } from '../../core/errors.ts';
import type { SentFields } from '../../core/sent-fields.ts';
import type { EngineState } from '../host/engine-state.ts';
import { Backend, type BackendDeps, backendLine, identifyByModels } from './backend.ts';
import { clientError, RemoteFailure } from './failure.ts';
import type { Identity, RemoteKind, RemoteModel } from './kinds.ts';
import { type Affinity, choose } from './load-balancing.ts';
import { withPassed } from './passed-fields.ts';

export interface BackendPoolDeps extends Pick<BackendDeps, 'startTimer' | 'now'> {
  readonly addresses: readonly RemoteAddress[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Capability for messages such as "The text engine is not there". */
  readonly capability: string;
  readonly log: (line: string) => void;
  /** How backends are identified; by the OpenAI API unless given. */
  readonly identify?: BackendDeps['identify'];
}

/** A request that is assigned to a backend. The caller must release it. */
export interface Assignment {
  readonly backend: Backend;
  readonly model: RemoteModel;
  done(): void;
}

/** All backends of one capability. Those with the same model share its requests. */
export class BackendPool {
  #backends: readonly Backend[];
  readonly capability: string;
  #started: Promise<void> | undefined;
  #users = 0;

  constructor(private readonly deps: BackendPoolDeps) {
    this.capability = deps.capability;
    this.#backends = deps.addresses.map((address) => {
      const key = address.keyVariable === undefined ? undefined : deps.environment[address.keyVariable];
      return this.#backend(address, key);
    });
  }

  get backends(): readonly Backend[] {
    return this.#backends;
  }

  /** Replaces all backends with one that was identified already, or with none: of a program that was started again. */
  replace(next?: { readonly address: RemoteAddress; readonly key: string; readonly identity: Identity }): void {
    for (const backend of this.#backends) backend.stop();
    this.#backends = next ? [this.#backend(next.address, next.key)] : [];
    if (next) this.#backends[0]?.open(next.identity);
  }

  #backend(address: RemoteAddress, key: string | undefined): Backend {
    const { startTimer, now, identify = identifyByModels, log } = this.deps;
    const changed = (backend: Backend): void => log(backendLine(backend, backend.model(undefined)));
    return new Backend({ address, key, startTimer, now, identify, changed });
  }

  /** Resolves after the first probe of each backend. Calls of start and stop are counted. */
  start(): Promise<void> {
    this.#users += 1;
    this.#started ??= Promise.all(this.backends.map((backend) => backend.start())).then(() => undefined);
    return this.#started;
  }

  stop(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#started = undefined;
    for (const backend of this.backends) backend.stop();
  }

  /** Available models, in the order of the command line. */
  models(): readonly RemoteModel[] {
    const all = this.backends.flatMap((backend) => {
      const { model, purpose } = backend.address;
      const own = backend.model(undefined);
      if (model !== undefined || purpose !== 'text') return own ? [own] : [];
      const texts = (backend.identity?.models ?? []).filter(({ embeds }) => !embeds);
      return texts.length > 0 ? texts : own ? [own] : [];
    });
    return all.filter(({ name }, index) => all.findIndex((one) => one.name === name) === index);
  }

  /** Backends with this model, available or not. */
  serving(name: string | undefined): readonly Backend[] {
    return this.backends.filter((backend) => backend.model(name));
  }

  capacity(name: string | undefined): number {
    const open = this.serving(name).filter((backend) => backend.isOpen());
    const all = open.length > 0 ? open : this.backends;
    return all.reduce((sum, { address }) => sum + address.parallel, 0);
  }

  /** Undefined if no backend is left to try. */
  assign(name: string | undefined, affinity: Affinity, tried: ReadonlySet<Backend>): Assignment | undefined {
    const now = this.deps.now();
    const open = this.serving(name).filter((backend) => !tried.has(backend) && backend.isOpen(now));
    const free = open.filter(({ running, address }) => running < address.parallel);
    const backend = choose(free.length > 0 ? free : open, affinity);
    const model = backend?.model(name);
    if (!backend || !model) return undefined;
    backend.running += 1;
    let over = false;
    return {
      backend,
      model,
      done: () => {
        if (!over) backend.running -= 1;
        over = true;
      },
    };
  }

  /** Error if no backend is available, with the time for a retry. */
  trouble(name: string | undefined) {
    const serving = this.serving(name);
    const now = this.deps.now();
    const all = serving.length > 0 ? serving : this.backends;
    const waits = all.map(({ state }) => (state.type === 'away' ? Math.max(1, (state.until - now) / 1000) : 5));
    const reasons = all.flatMap(({ state, address }) =>
      'reason' in state ? [`${new URL(address.base).origin} ${state.reason}`] : [],
    );
    const listed = [...reasons.slice(0, 3), ...(reasons.length > 3 ? [`${reasons.length - 3} more`] : [])];
    const reason = listed.join('; ') || 'none of the remote backends has this model';
    const prefix = reasons.length === 1 ? 'The remote backend at ' : 'No remote backend can be used: ';
    return { reason, sentence: `${prefix}${reason}.`, retryAfterSeconds: Math.ceil(Math.min(...waits, 30)) };
  }

  troubleError(name: string | undefined): AppError {
    const { sentence, retryAfterSeconds } = this.trouble(name);
    return new AppError('remote-down', { sentence, retryAfterSeconds });
  }
}

export interface BackendRequest {
  readonly path: string;
  readonly body: object;
}

export interface BackendFacts {
  readonly kind: RemoteKind;
  readonly host: string;
  readonly model: RemoteModel;
}

export interface CallOptions {
  readonly model: string | undefined;
  readonly affinity: Affinity;
  readonly signal: AbortSignal;
  /** What the client sent, for backends with `pass`. */
  readonly sent?: SentFields | undefined;
}

/** Maximum size of a response: enough for several images as base64, or for thousands of vectors as decimal numbers. */
const answerBytes = 256 * 2 ** 20;

/** Sends a request with a JSON response to the best backend. */
export function callBackend(
  pool: BackendPool,
  requestFor: (facts: BackendFacts) => BackendRequest,
  options: CallOptions,
  run: typeof withBackend = onBackend,
) {
  return run(pool, options, async ({ backend, model }) => {
    const facts: BackendFacts = { kind: backend.kind, host: backend.address.host, model };
    const { path, body } = requestFor(facts);
    const whole = withPassed(body, options.sent, backend.address.pass);
    const limits = { signal: options.signal, bytes: answerBytes };
    return { answer: await backend.connection.json('POST', path, whole, limits), facts };
  });
}

/** Runs work on the best backend, as `withBackend` does; every error is one for the client. */
export async function onBackend<Answer>(
  pool: BackendPool,
  options: CallOptions,
  work: (assignment: Assignment) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await withBackend(pool, options, work);
  } catch (error) {
    options.signal.throwIfAborted();
    throw clientError(error, pool.capability);
  }
}

/** Runs work on one backend; retries on the next if that one is not available. */
export async function withBackend<Answer>(
  pool: BackendPool,
  { model: name, affinity, signal }: CallOptions,
  work: (assignment: Assignment) => Promise<Answer>,
): Promise<Answer> {
  const tried = new Set<Backend>();
  const excused = new Set<Backend>();
  for (let last: RemoteFailure | undefined; ; ) {
    const assignment = pool.assign(name, affinity, tried);
    if (!assignment) throw last ? clientError(last, pool.capability) : pool.troubleError(name);
    const { backend, done } = assignment;
    try {
      return await work(assignment);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RemoteFailure)) throw clientError(error, pool.capability);
      backend.failed(error);
      if (!error.isPassing) throw error.type === 'failed' ? error : clientError(error, pool.capability);
      last = error;
      // A stale keep-alive connection: retry once on the same backend.
      if (error.facts.stale && !excused.has(backend)) excused.add(backend);
      else tried.add(backend);
    } finally {
      done();
    }
  }
}

/** Lifecycle of a remote engine: there is no process to start, load or restart. */
export class PoolLifecycle {
  #settled: Promise<void> | undefined;

  constructor(protected readonly pool: BackendPool) {}

  start(): void {
    this.#settled ??= this.pool.start();
  }

  async stop(): Promise<void> {
    if (this.#settled) this.pool.stop();
    this.#settled = undefined;
  }

  settled(): Promise<void> {
    return this.#settled ?? Promise.resolve();
  }

  protected get isStarted(): boolean {
    return this.#settled !== undefined;
  }
}

export class RemoteTaskEngine<Deps> extends PoolLifecycle {
  readonly pid = undefined;

  constructor(
    pool: BackendPool,
    protected readonly deps: Deps,
  ) {
    super(pool);
  }

  /** Backends that are down fail the request, not the engine. */
  state(): EngineState {
    return { type: this.isStarted ? 'ready' : 'idle' };
  }
}
