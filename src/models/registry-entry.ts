import type { Expectation } from '../core/engine-source.ts';
import type { GpuNeed } from '../core/gpu-memory.ts';
import { Uses } from '../core/synchronization.ts';
import type { Resident } from './eviction.ts';
import type { EntryState, Lifecycle, ModelSpec, UnloadReason, Use } from './lifecycle.ts';
import type { LeavingModel } from './swap-order.ts';

export interface RegistryEntryDeps {
  readonly startTimer: (milliseconds: number, action: () => void) => { cancel(): void };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Default time that a model stays loaded after its last use; infinite for ever. */
  readonly defaultKeepMs: () => number;
}

/** Node's timers fire at once for longer times; such models are never unloaded. */
const maxTimerMs = 2 ** 31 - 1;

/** The latest moment that a date can be, in milliseconds since 1970. */
const latestDate = 8.64e15;

export interface RegistryEntryEvents {
  readonly left: (why: UnloadReason) => void;
  /** A request has ended, or does not wait any more. */
  readonly freed: () => void;
}

/** A request that is queued for a model, or waits until it is loaded. */
export interface QueuedUse {
  /** Smaller for one that came earlier. */
  readonly order: number;
  /** How long it has waited for requests that came later. */
  delayedMs: number;
}

/** An entry as `list` of the registry reports it. */
export type Listed = Readonly<ReturnType<RegistryEntry['listed']>>;

/** One model of the registry: its engine, its users, and when it is unloaded. */
export class RegistryEntry {
  #lifecycle: Lifecycle | undefined;
  /** Set while it finishes its requests; resolves when it is unloaded. */
  #leaving: Promise<void> | undefined;
  #failure: string | undefined;
  readonly #uses = new Uses();
  readonly #expected = new Map<Expectation, QueuedUse>();
  /** The `order` of the requests that use it. */
  readonly #running = new Set<number>();
  #lastUsed = 0;
  #loadMs: number | undefined;
  /** Memory when it was last loaded, which is better than the estimate. */
  #measured: number | undefined;
  #estimated: number | undefined;
  /** What the program of the last load has printed, after its end too. */
  #output: (() => readonly string[]) | undefined;
  #heldOnGpus = 0;
  #gpuNeed: GpuNeed | undefined;
  #keepMs: number;
  #expiresAt = Number.POSITIVE_INFINITY;
  #timer: { cancel(): void } | undefined;

  constructor(
    readonly spec: ModelSpec,
    private readonly deps: RegistryEntryDeps,
    private readonly events: RegistryEntryEvents,
  ) {
    this.#keepMs = this.#defaultKeepMs();
  }

  /** Unique: two kinds may have models of the same name. */
  get id(): string {
    return `${this.spec.kind} ${this.spec.name}`;
  }

  get lifecycle(): Lifecycle | undefined {
    return this.#lifecycle;
  }

  /** Whether it uses memory: it is being loaded, loaded or being unloaded. */
  get resident(): boolean {
    return this.#lifecycle !== undefined;
  }

  /** Whether it accepts requests, now or after a restart. */
  get open(): boolean {
    return this.#lifecycle !== undefined && this.#leaving === undefined;
  }

  /** Whether it has requests, running or queued. */
  get wanted(): boolean {
    return this.#uses.count + this.#expected.size > 0;
  }

  /** The requests that are queued for it. */
  get queued(): readonly QueuedUse[] {
    return [...this.#expected.values()];
  }

  /** The `order` of its requests. */
  get requests(): LeavingModel {
    return { running: [...this.#running], queued: this.queued.map(({ order }) => order) };
  }

  /** How long it took to load the last time. */
  get loadMs(): number | undefined {
    return this.#loadMs;
  }

  /** A request is queued for it, until the expectation ends. */
  expect(order: number): Expectation {
    const expectation: Expectation = {
      end: () => {
        if (this.#expected.delete(expectation)) this.events.freed();
      },
    };
    this.#expected.set(expectation, { order, delayedMs: 0 });
    return expectation;
  }

  orderOf(expectation: Expectation | undefined): number | undefined {
    return expectation && this.#expected.get(expectation)?.order;
  }

  state(): EntryState {
    if (this.#leaving) return { type: 'leaving' };
    if (this.#lifecycle) return this.#lifecycle.state();
    return this.#failure === undefined ? { type: 'unloaded' } : { type: 'failed', reason: this.#failure };
  }

  listed() {
    const { resident, expiresAt } = this;
    const { name, kind, pinned = false } = this.spec;
    return {
      name,
      kind,
      state: this.state(),
      resident,
      inUse: this.#uses.count,
      pinned,
      /** Milliseconds of the clock of the registry; 0 for never. */
      lastUsed: this.#lastUsed,
      bytes: this.#bytes(),
      /** Additional memory that it gives back when others need it. */
      spareBytes: this.#lifecycle?.spareBytes?.() ?? 0,
      gpus: this.#lifecycle?.gpuUse?.() ?? [],
      expiresAt,
      /** The last lines that its program has printed. */
      ...(this.#output && { output: this.#output }),
    };
  }

  /** Milliseconds since 1970 when it is unloaded unless it is used again; infinite for never. */
  get expiresAt(): number {
    return this.#lifecycle ? this.#expiresAt : Number.POSITIVE_INFINITY;
  }

  asResident(): Resident {
    const { pinned = false, auxiliary = false, group } = this.spec;
    const bytes = this.#bytes() ?? 0;
    const gpus = this.#gpus();
    return {
      id: this.id,
      bytes,
      ...(gpus && { gpus }),
      lastUsed: this.#lastUsed,
      pinned,
      group,
      auxiliary,
      busy: this.#uses.count > 0,
      wanted: this.wanted,
    };
  }

  /** What it holds of GPUs, or is expected to hold while it is being loaded. */
  #gpus(): Resident['gpus'] {
    const used = this.#lifecycle?.gpuUse?.() ?? [];
    if (used.length > 0) return new Map(used.map(({ name, heldBytes }) => [name, heldBytes]));
    return this.#lifecycle?.state().type === 'ready' ? undefined : this.#gpuNeed;
  }

  /** Expected memory on GPUs. What it held last may be a part only, if there was no more. */
  async gpuNeed(): Promise<GpuNeed | undefined> {
    const expected = await this.spec.gpuNeed?.();
    this.#gpuNeed = expected && { ...expected, bytes: Math.max(this.#heldOnGpus, expected.bytes) };
    return this.#gpuNeed;
  }

  async need(): Promise<number> {
    if (this.#measured !== undefined) return this.#measured;
    try {
      this.#estimated = await this.spec.need();
    } catch (error) {
      this.#failure = (error as Error).message;
      throw error;
    }
    return this.#estimated;
  }

  settled(): Promise<void> {
    return this.#lifecycle?.settled() ?? Promise.resolve();
  }

  /** Resolves at once unless it is being unloaded. */
  gone(): Promise<void> {
    return this.#leaving ?? Promise.resolve();
  }

  /** Rejects with the reason if it cannot be loaded; then it holds no memory. */
  async enter(): Promise<void> {
    this.#failure = undefined;
    const begunAt = this.deps.now();
    let lifecycle: Lifecycle;
    try {
      lifecycle = this.spec.make();
      this.#lifecycle = lifecycle;
      this.#output = lifecycle.output;
      lifecycle.start();
      await lifecycle.settled();
    } catch (error) {
      this.#lifecycle = undefined;
      this.#failure = (error as Error).message;
      throw error;
    }
    // It may have been unloaded while it was being loaded.
    if (this.#lifecycle !== lifecycle || this.#leaving) throw new Error('it was unloaded while it was being loaded');
    const state = lifecycle.state();
    if (state.type === 'failed') {
      this.#lifecycle = undefined;
      this.#failure = state.reason;
      await lifecycle.stop();
      throw new Error(state.reason);
    }
    this.#lastUsed = this.deps.now();
    this.#loadMs = Math.max(0, this.#lastUsed - begunAt);
    this.#plan();
  }

  take(order: number): Use {
    const lifecycle = this.#lifecycle;
    if (!lifecycle) throw new Error('nothing is loaded that could be used');
    const end = this.#uses.begin();
    this.#running.add(order);
    this.#timer?.cancel();
    this.#lastUsed = this.deps.now();
    // A request after `keepFor(0)` cancels it.
    if (this.#keepMs === 0) this.#keepMs = this.#defaultKeepMs();
    let released = false;
    return {
      name: this.spec.name,
      lifecycle,
      release: () => {
        if (released) return;
        released = true;
        this.#lastUsed = this.deps.now();
        this.#running.delete(order);
        end();
        this.#plan();
        this.events.freed();
      },
    };
  }

  /** A pinned model can only be asked to leave at once. */
  keepFor(milliseconds: number): void {
    if (this.spec.pinned && milliseconds > 0) return;
    this.#keepMs = Math.max(0, milliseconds);
    this.#plan();
  }

  /** Finishes its requests and is unloaded. */
  leave(why: UnloadReason): Promise<void> {
    const lifecycle = this.#lifecycle;
    if (!lifecycle) return Promise.resolve();
    this.#leaving ??= this.#leave(lifecycle, why);
    return this.#leaving;
  }

  /** Ends the engine without waiting for its requests. */
  async end(): Promise<void> {
    this.#timer?.cancel();
    const lifecycle = this.#lifecycle;
    this.#lifecycle = undefined;
    await lifecycle?.stop();
  }

  async #leave(lifecycle: Lifecycle, why: UnloadReason): Promise<void> {
    this.#timer?.cancel();
    this.#measured = lifecycle.bytes?.() ?? this.#measured;
    this.#heldOnGpus = (lifecycle.gpuUse?.() ?? []).reduce((sum, { heldBytes }) => sum + heldBytes, 0);
    await this.#uses.idle();
    await lifecycle.stop();
    if (this.#lifecycle === lifecycle) this.#lifecycle = undefined;
    // `keepFor` was about this load: the next one has the default.
    this.#keepMs = this.#defaultKeepMs();
    this.#leaving = undefined;
    this.events.left(why);
  }

  #defaultKeepMs(): number {
    const { idleMs, pinned, keepMs = Number.POSITIVE_INFINITY } = this.spec;
    return idleMs ?? (pinned ? Number.POSITIVE_INFINITY : Math.min(keepMs, this.deps.defaultKeepMs()));
  }

  #bytes(): number | undefined {
    return this.#lifecycle?.bytes?.() ?? this.#measured ?? this.#estimated;
  }

  #plan(): void {
    this.#timer?.cancel();
    const expiresAt = this.deps.now() + this.#keepMs;
    this.#expiresAt = expiresAt <= latestDate ? expiresAt : Number.POSITIVE_INFINITY;
    if (!this.#lifecycle || this.#leaving || this.#uses.count > 0 || this.#keepMs > maxTimerMs) return;
    this.#timer = this.deps.startTimer(this.#keepMs, () => this.#idle());
  }

  #idle(): void {
    if (!this.#lifecycle || this.#uses.count > 0) return;
    // A model that is being loaded has a request that waits for it.
    if (this.#lifecycle.state().type === 'loading') this.#plan();
    else void this.leave(this.#keepMs === 0 ? 'used' : 'idle');
  }
}
