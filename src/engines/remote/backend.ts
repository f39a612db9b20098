import type { RemoteAddress } from '../../config/remote.ts';
import type { StartTimer } from '../host/engine-process.ts';
import { BackendConnection } from './connection.ts';
import { problemOf, RemoteFailure } from './failure.ts';
import { type Identity, identify, kinds, type RemoteKind, type RemoteModel, shortName, titleOf } from './kinds.ts';

type BackendState =
  | { readonly type: 'unknown' }
  | { readonly type: 'up' }
  /** Not reachable. The reason follows the address in messages. */
  | { readonly type: 'down'; readonly reason: string; readonly failures: number }
  /** Reachable, but rejects requests until this time. */
  | { readonly type: 'away'; readonly reason: string; readonly until: number };

export interface BackendDeps {
  readonly address: RemoteAddress;
  readonly key: string | undefined;
  readonly startTimer: StartTimer;
  /** Detects kind and models of a backend. */
  readonly identify: (connection: BackendConnection) => Promise<Identity>;
  /** Monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Called on each change of state. */
  readonly changed: (backend: Backend) => void;
}

const checkEveryMs = 5000;
const checkMs = 4000;
/** Consecutive failed health checks before the backend counts as down and its requests fail. */
const maxFailedChecks = 3;

/** Exponential back-off of health checks for a backend that is down. */
export function nextCheckMs(failures: number): number {
  return Math.min(15_000, 250 * 2 ** Math.min(failures, 10));
}

/** A remote backend: connections, identity, health and load. */
export class Backend {
  readonly connection: BackendConnection;
  readonly address: RemoteAddress;
  /** The same in every server that uses this backend. */
  readonly id: string;
  readonly weight: number;
  /** Set by the first successful probe; read again after each outage. */
  identity: Identity | undefined;
  running = 0;
  #state: BackendState = { type: 'unknown' };
  #timer: { cancel(): void } | undefined;
  #silences = 0;
  #stopped = false;
  /** A request has failed, and a check decides whether the backend is down. */
  #doubted = false;
  #cut = new AbortController();

  constructor(private readonly deps: BackendDeps) {
    const { base, host, weight } = deps.address;
    this.connection = new BackendConnection({ base, host, key: deps.key });
    this.address = deps.address;
    this.id = base;
    this.weight = weight;
  }

  /** Only the OpenAI API is assumed until it is identified. */
  get kind(): RemoteKind {
    return this.identity?.kind ?? 'openai';
  }

  get state(): BackendState {
    return this.#state;
  }

  /** Aborts when the backend goes down. */
  get cut(): AbortSignal {
    return this.#cut.signal;
  }

  /** The backend's model for this name; its first one if undefined. */
  model(name: string | undefined): RemoteModel | undefined {
    const listed = this.identity?.models ?? [];
    const { model: chosen, purpose } = this.address;
    if (chosen !== undefined) {
      const known = listed.find(({ id }) => id === chosen) ?? listed.find((one) => one.name === shortName(chosen));
      const model = known ?? { id: chosen, name: shortName(chosen), contextSize: undefined, embeds: false };
      return name === undefined || model.name === name ? model : undefined;
    }
    if (name !== undefined) return listed.find((one) => one.name === name);
    const suitable = listed.filter(({ embeds }) => embeds === (purpose === 'embeddings'));
    return suitable[0] ?? listed[0];
  }

  /** Whether it accepts requests. */
  isOpen(now = this.deps.now()): boolean {
    return this.#state.type === 'up' || (this.#state.type === 'away' && this.#state.until <= now);
  }

  /** Resolves after the first probe, successful or not. */
  async start(): Promise<void> {
    this.#stopped = false;
    await this.#check();
  }

  /** Accepts requests at once: it was identified before. */
  open(identity: Identity): void {
    this.#stopped = false;
    this.identity = identity;
    this.#become({ type: 'up' });
    if (this.#healthPath !== undefined) this.#plan(checkEveryMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#abortRequests();
    this.connection.close();
    this.#state = { type: 'unknown' };
  }

  /** Updates the state from the outcome of a request. */
  failed(failure: RemoteFailure): void {
    if (failure.type === 'unwilling') {
      const until = this.deps.now() + (failure.facts.retryAfterSeconds ?? 1) * 1000;
      this.#become({ type: 'away', reason: problemOf('unwilling', failure.message), until });
    } else if (failure.type === 'unreachable' && !failure.facts.stale && this.#state.type !== 'down') {
      // Requests that fail together are one outage: only failed checks make the next check later.
      if (failure.facts.unconnected) this.#gone(problemOf('unreachable', failure.message));
      else this.#doubt();
    }
  }

  /** One broken response does not mean that it is down, and others may go on: a check at once decides. */
  #doubt(): void {
    if (this.#doubted || this.#stopped) return;
    this.#doubted = true;
    void this.#check().finally(() => {
      this.#doubted = false;
    });
  }

  async #check(): Promise<void> {
    this.#timer?.cancel();
    const before = this.#state;
    try {
      await this.#probe().catch((error: unknown) => {
        // A stale keep-alive connection says nothing about the backend.
        if (!(error instanceof RemoteFailure) || !error.facts.stale) throw error;
        return this.#probe();
      });
      this.#silences = 0;
      // A rejection during the health check is newer than its result.
      if (this.#state.type !== 'away' || this.#state === before) this.#become({ type: 'up' });
      if (this.#healthPath !== undefined) this.#plan(checkEveryMs);
    } catch (error) {
      this.#unwell(error);
    }
  }

  async #probe(): Promise<void> {
    const isNew = !this.identity || this.#doubted || this.#state.type === 'down';
    if (isNew) this.identity = await this.deps.identify(this.connection);
    else if (this.#healthPath) await this.connection.bytes(this.#healthPath, { milliseconds: checkMs });
  }

  #unwell(error: unknown): void {
    if (this.#stopped) return;
    const failure = error instanceof RemoteFailure ? error : undefined;
    if (failure?.type === 'unwilling') {
      this.failed(failure);
      this.#plan(1000);
      return;
    }
    this.#silences += 1;
    if (this.#silences >= maxFailedChecks) this.#abortRequests();
    this.#gone(problemOf(failure?.type ?? 'failed', (error as Error).message));
  }

  #abortRequests(): void {
    const cut = this.#cut;
    this.#cut = new AbortController();
    cut.abort();
  }

  #gone(reason: string): void {
    const failures = this.#state.type === 'down' ? this.#state.failures + 1 : 0;
    this.#become({ type: 'down', reason, failures });
    this.#plan(nextCheckMs(failures));
  }

  get #healthPath(): string | undefined {
    return this.identity && kinds[this.identity.kind].healthPath;
  }

  #become(state: BackendState): void {
    if (this.#stopped) return;
    const before = this.#state;
    this.#state = state;
    if (before.type !== state.type) this.deps.changed(this);
  }

  #plan(milliseconds: number): void {
    this.#timer?.cancel();
    if (!this.#stopped) this.#timer = this.deps.startTimer(milliseconds, () => void this.#check());
  }
}

/** Identifies a backend by its OpenAI API. */
export async function identifyByModels(connection: BackendConnection): Promise<Identity> {
  const ask = (path: string) => connection.json('GET', path, undefined, { milliseconds: checkMs });
  const list = await ask('/v1/models');
  return identify(list, (path) => ask(path).catch(() => undefined));
}

export function backendLine(backend: Backend, model: RemoteModel | undefined): string {
  const { state, identity } = backend;
  const { host, weight } = backend.address;
  if (state.type === 'down') return `The remote backend at ${host} ${state.reason}. It is checked until it answers.`;
  if (state.type === 'away') return `The remote backend at ${host} ${state.reason}.`;
  const kind = identity ? titleOf(identity) : 'unknown';
  const context = model?.contextSize ? `, context ${model.contextSize}` : '';
  return `The remote backend at ${host} is ready (${kind}): ${model?.name ?? 'no model'}${context}${weight === 1 ? '' : `, weight ${weight}`}`;
}
