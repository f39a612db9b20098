import { unlessAborted } from '../core/abort.ts';
import type { Expectation } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import type { GpuMemory, GpuNeed, GpuUse } from '../core/gpu-memory.ts';
import { evict, excludes, fits, type GpuBudget, type MemoryBudget, type Resident } from './eviction.ts';
import type { EntryState, Lifecycle, ModelSpec, UnloadReason, Use } from './lifecycle.ts';
import { asLoadError, loadFailed, reasonOf, tooLarge } from './load-errors.ts';
import {
  type Listed,
  type QueuedUse,
  RegistryEntry,
  type RegistryEntryDeps,
  type RegistryEntryEvents,
} from './registry-entry.ts';
import { isDelayed, type SwapLimits, stayMs, type WaitingRequest } from './swap-order.ts';

interface RegistryDeps extends RegistryEntryDeps {
  /** The memory for all models; read for each load. */
  readonly memoryBudget: () => MemoryBudget;
  /** Free memory. Without it, loaded models are asked to give back all that they can. */
  readonly availableBytes?: () => number;
  /** How long requests for loaded models may go before those that need a swap; in order without it. */
  readonly swapLimits?: SwapLimits;
  readonly observer?: RegistryObserver;
}

/** Observer callbacks. Must not throw or block. */
interface RegistryObserver {
  loading?(name: string, makingRoom: readonly string[]): void;
  loaded?(name: string): void;
  failed?(name: string, reason: string): void;
  left?(name: string, why: UnloadReason): void;
}

interface LoadRequest {
  readonly entry: RegistryEntry;
  readonly sparesBusy: boolean;
  /** Smaller for one that came earlier. */
  readonly order: number;
  readonly resolve: (use: Use) => void;
  readonly reject: (error: AppError) => void;
}

interface UseOptions {
  /** It is rejected at once where a model would have to leave that has running requests. */
  readonly sparesBusy?: boolean;
  /** Of the request, which was queued before. */
  readonly expected?: Expectation | undefined;
}

/** One load, for all requests that wait for it. */
interface Load {
  readonly entry: RegistryEntry;
  /** `measuring` until its memory is known, `waiting` until that memory is free, `entering` while it is loaded. */
  phase: 'measuring' | 'waiting' | 'entering';
  need: number;
  gpus: GpuNeed | undefined;
  announced: boolean;
  /** Later loads that were started first, with memory that it needs. */
  readonly passedBy: Set<RegistryEntry>;
}

/**
 * All models by name, and which of them are loaded. Loads that compete for memory run in the order of their requests; a load
 * that fits beside what is loaded starts at once. A model that is to be evicted goes on with its own requests for a while, within
 * the bounds of `swap-order.ts`. Then it finishes those that run and accepts no new ones, so none waits forever.
 */
export class Registry {
  readonly #entries: RegistryEntry[] = [];
  readonly #loadRequests: LoadRequest[] = [];
  readonly #loads = new Set<Load>();
  /** The memory budget while nothing was being loaded. */
  #idleBudget: MemoryBudget | undefined;
  /** What models may hold of each GPU, as it was when no model was being loaded. */
  #gpuBudgets: readonly GpuBudget[] = [];
  #closed = false;
  /** Of the last request. */
  #order = 0;
  /** The requests that wait for later ones, since this moment. */
  #delayed: { readonly requests: readonly QueuedUse[]; readonly at: number } = { requests: [], at: 0 };
  /** Ends the time that models stay longer than in order. */
  #stayTimer: { cancel(): void } | undefined;
  #isStarting = false;
  #startsAgain = false;
  /** How long the last load took. */
  #lastLoadMs: number | undefined;

  constructor(private readonly deps: RegistryDeps) {}

  list(): readonly Listed[] {
    return this.#entries.map((entry) => entry.listed());
  }

  state(kind: string, name: string): EntryState | undefined {
    return this.#find(kind, name)?.state();
  }

  /** Milliseconds since 1970 when it is unloaded unless it is used again; infinite for never. */
  expiresAt(kind: string, name: string): number {
    return this.#find(kind, name)?.expiresAt ?? Number.POSITIVE_INFINITY;
  }

  /** What all models together may hold of each GPU that is known: a model that was loaded has used it. */
  get gpuBudgets(): readonly GpuBudget[] {
    return this.#gpuBudgets;
  }

  /** The GPUs that loaded models use, with their memory now and what all models hold of it. */
  async gpus(): Promise<readonly GpuUse[]> {
    const memories = this.#entries.map(async ({ lifecycle }) => (await lifecycle?.gpus?.()) ?? []);
    return withHeld((await Promise.all(memories)).flat(), this.list());
  }

  /** The loaded model of this name; loads nothing. */
  peek(kind: string, name: string): Lifecycle | undefined {
    return this.#find(kind, name)?.lifecycle;
  }

  /** A request for this model is queued. It counts until it uses the model, or ends. */
  expect(kind: string, name: string): Expectation | undefined {
    return this.#find(kind, name)?.expect(this.#nextOrder());
  }

  /** Loads the model if needed; rejects if it cannot be loaded, or on abort. It stays loaded until released. */
  async use(
    kind: string,
    name: string,
    signal?: AbortSignal,
    { sparesBusy = false, expected }: UseOptions = {},
  ): Promise<Use> {
    signal?.throwIfAborted();
    const entry = this.#find(kind, name);
    if (this.#closed || !entry) throw new AppError('model-not-found', { model: name });
    // Waiting for an engine that restarts after a crash must not block other loads.
    const queued = entry.orderOf(expected) === undefined ? entry.expect(this.#nextOrder()) : expected;
    const order = entry.orderOf(queued) ?? 0;
    let use: Use;
    try {
      use = entry.open ? entry.take(order) : await this.#requestLoad({ entry, sparesBusy, order }, signal);
    } finally {
      queued?.end();
    }
    try {
      await unlessAborted(entry.settled(), signal);
      const state = entry.state();
      if (state.type === 'failed') throw loadFailed(entry.spec.name, state.reason);
      return use;
    } catch (error) {
      use.release();
      throw error;
    }
  }

  /** Loads it without using it. */
  async load(kind: string, name: string): Promise<void> {
    (await this.use(kind, name)).release();
  }

  /** Resolves when it is unloaded; running requests finish first. */
  async unload(kind: string, name: string): Promise<void> {
    await this.#find(kind, name)?.leave('requested');
  }

  /** Sets how long it stays loaded after its last use; 0 unloads it when its running requests are finished. */
  keepFor(kind: string, name: string, milliseconds: number): void {
    this.#find(kind, name)?.keepFor(milliseconds);
  }

  /** Adds a spec, unless one of this kind and name exists. */
  add(spec: ModelSpec): void {
    if (this.#find(spec.kind, spec.name)) return;
    const events: RegistryEntryEvents = {
      left: (why) => {
        this.deps.observer?.left?.(spec.name, why);
        this.#startLoads();
      },
      freed: () => this.#startLoads(),
    };
    this.#entries.push(new RegistryEntry(spec, this.deps, events));
  }

  /** Removes the spec at once. The model finishes its requests; resolves when it is unloaded. */
  async remove(kind: string, name: string): Promise<void> {
    const gone = this.#find(kind, name);
    if (!gone) return;
    this.#entries.splice(this.#entries.indexOf(gone), 1);
    for (const request of this.#loadRequests.filter(({ entry }) => entry === gone)) {
      this.#loadRequests.splice(this.#loadRequests.indexOf(request), 1);
      request.reject(new AppError('model-not-found', { model: name }));
    }
    for (const load of this.#loads) if (load.entry === gone && load.phase !== 'entering') this.#loads.delete(load);
    const left = gone.leave('replaced');
    this.#startLoads();
    await left;
  }

  /** Ends all engines without waiting for their requests: the program is ending. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stayTimer?.cancel();
    for (const { entry, reject } of this.#loadRequests.splice(0))
      reject(loadFailed(entry.spec.name, 'the server is ending'));
    this.#loads.clear();
    await Promise.all(this.#entries.map((entry) => entry.end()));
  }

  #find(kind: string, name: string): RegistryEntry | undefined {
    return this.#entries.find(({ spec }) => spec.kind === kind && spec.name === name);
  }

  #requestLoad(
    wanted: Pick<LoadRequest, 'entry' | 'sparesBusy' | 'order'>,
    signal: AbortSignal | undefined,
  ): Promise<Use> {
    const { entry } = wanted;
    return new Promise((resolve, reject) => {
      const settle =
        <Value>(how: (value: Value) => void) =>
        (value: Value): void => {
          signal?.removeEventListener('abort', abort);
          how(value);
        };
      const request: LoadRequest = { ...wanted, resolve: settle(resolve), reject: settle(reject) };
      const abort = (): void => {
        const index = this.#loadRequests.indexOf(request);
        if (index !== -1) this.#loadRequests.splice(index, 1);
        reject(signal?.reason);
        this.#startLoads();
      };
      this.#loadRequests.push(request);
      signal?.addEventListener('abort', abort, { once: true });
      if (![...this.#loads].some((load) => load.entry === entry)) void this.#measure(entry);
      else this.#startLoads();
    });
  }

  /** Never rejects: errors go to the requests that wait for the load. */
  async #measure(entry: RegistryEntry): Promise<void> {
    const load: Load = { entry, phase: 'measuring', need: 0, gpus: undefined, announced: false, passedBy: new Set() };
    this.#loads.add(load);
    try {
      // It may be being evicted.
      await entry.gone();
      load.need = await entry.need();
      load.gpus = await entry.gpuNeed();
      // Other programs use the GPUs too.
      if (load.gpus) this.#knowGpus(await this.gpus());
    } catch (error) {
      if (this.#loads.has(load)) this.#settle(load, asLoadError(entry.spec.name, error));
      return;
    }
    load.phase = 'waiting';
    this.#startLoads();
  }

  /** Starts all loads for which there is memory now. Called whenever memory is freed, a request ends, or a model is requested. */
  #startLoads(): void {
    this.#startsAgain = true;
    // A load that fails settles its requests, and calls this again.
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#startsAgain && !this.#closed) {
      this.#startsAgain = false;
      this.#stayTimer?.cancel();
      this.#stayTimer = undefined;
      this.#countDelays();
      const staying = new Set<RegistryEntry>();
      this.#tryLoads(staying);
      const models = [...staying].map(({ requests }) => requests);
      for (const entry of this.#entries)
        if (entry.state().type === 'leaving') models.push({ ...entry.requests, queued: [] });
      const delayed = this.#waiting().filter((one) => models.some((model) => isDelayed(one, model)));
      this.#delayed = { requests: delayed.map(({ request }) => request), at: this.deps.now() };
    }
    this.#isStarting = false;
  }

  #countDelays(): void {
    const { requests, at } = this.#delayed;
    const passed = Math.max(0, this.deps.now() - at);
    for (const request of requests) request.delayedMs += passed;
  }

  #tryLoads(staying: Set<RegistryEntry>): void {
    for (const load of this.#inOrder()) {
      if (load.phase !== 'waiting') continue;
      if (this.#loadRequests.some(({ entry }) => entry === load.entry)) this.#tryToStart(load, staying);
      // All its requests were aborted.
      else this.#loads.delete(load);
    }
  }

  #tryToStart(load: Load, staying: Set<RegistryEntry>): void {
    const { entry, need } = load;
    const budget = this.#budget();
    const { auxiliary = false, group } = entry.spec;
    const newcomer = { bytes: need, auxiliary, group, gpus: load.gpus };
    const residents = this.#entries.filter((other) => other !== entry && (other.resident || this.#isEntering(other)));
    const earlier = this.#earlier(load);
    const stays = this.#afterwards(residents, earlier);
    const rival = !fits(stays, newcomer, budget);
    if (
      fits(
        residents.map((other) => other.asResident()),
        newcomer,
        budget,
      ) &&
      (!rival || this.#mayPass(load, earlier))
    ) {
      this.#announce(load, []);
      void this.#bring(load);
      return;
    }
    const sparesBusy = this.#loadRequests.every((one) => one.entry !== entry || one.sparesBusy);
    const spared = sparesBusy ? stays.map((other) => ({ ...other, pinned: other.pinned || other.busy })) : stays;
    const gone = evict(spared, newcomer, budget);
    if (gone !== 'cannot') {
      const leaving = residents.filter((other) => gone.includes(other.id));
      const wanted = leaving.filter((other) => other.wanted);
      const maxStayMs = sparesBusy ? 0 : Math.max(0, ...wanted.map((other) => this.#stayMs(other)));
      if (maxStayMs > 0) {
        for (const other of wanted) staying.add(other);
        if (maxStayMs < Number.POSITIVE_INFINITY) this.#tryAgainIn(maxStayMs);
        return;
      }
      this.#announce(load, leaving);
      // Each of them calls #startLoads when it is unloaded.
      for (const other of leaving) void other.leave('memory');
      return;
    }
    // Models that are being loaded, or will be loaded before it, can be evicted after their first use.
    const waits = earlier.length > 0 || residents.some((other) => this.#isEntering(other));
    if (waits && !sparesBusy) return;
    const isInUse = sparesBusy && (waits || stays.some(({ busy }) => busy));
    const reason = stays.some((other) => excludes(other, newcomer))
      ? 'models of another group are in use (--group)'
      : 'its memory is in use by other models';
    const pinned = residents.filter(({ spec }) => spec.pinned);
    const others = stays.filter(({ id }) => !pinned.some((other) => other.id === id));
    const blocked = !isInUse && pinned.length > 0 && evict(others, newcomer, budget) !== 'cannot';
    const apart = pinned.filter(({ spec }) => excludes(spec, newcomer));
    const names = (apart.length > 0 ? apart : pinned).map(({ spec }) => spec.name).join(', ');
    const what = apart.length > 0 ? 'what is pinned (--pin) in another group (--group)' : 'what is pinned (--pin)';
    if (blocked) this.#settle(load, loadFailed(entry.spec.name, `it cannot be loaded beside ${what}: ${names}`));
    else this.#settle(load, isInUse ? loadFailed(entry.spec.name, reason) : tooLarge(entry.spec.name, need, budget));
  }

  /** How long a model may stay for its own requests: every request for a model that is not loaded limits it. */
  #stayMs(entry: RegistryEntry): number {
    const { swapLimits } = this.deps;
    return swapLimits ? stayMs(entry.requests, this.#waiting(), swapLimits) : 0;
  }

  /** The requests for models that wait to be loaded. */
  #waiting(): readonly (WaitingRequest & { readonly request: QueuedUse })[] {
    return [...this.#loads]
      .filter(({ phase }) => phase !== 'entering')
      .flatMap(({ entry }) => {
        const loadMs = entry.loadMs ?? this.#lastLoadMs;
        return entry.queued.map((request) => ({ ...request, loadMs, request }));
      });
  }

  #tryAgainIn(milliseconds: number): void {
    this.#stayTimer?.cancel();
    this.#stayTimer = this.deps.startTimer(Math.ceil(milliseconds), () => this.#startLoads());
  }

  #nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** By the first of their requests. */
  #inOrder(): Load[] {
    const first = ({ entry }: Load): number => Math.min(...entry.queued.map(({ order }) => order));
    return [...this.#loads].sort((a, b) => first(a) - first(b));
  }

  /** Loads that wait for evicted models to be unloaded. */
  #earlier(load: Load): readonly Load[] {
    const all = this.#inOrder();
    return all.slice(0, all.indexOf(load)).filter(({ phase }) => phase === 'waiting');
  }

  /** The models in memory after all evictions and earlier loads. Models that were not used yet cannot be evicted. */
  #afterwards(residents: readonly RegistryEntry[], earlier: readonly Load[]): readonly Resident[] {
    const staying = residents
      .filter((other) => other.open || this.#isEntering(other))
      .map((other) => ({ ...other.asResident(), ...(this.#isEntering(other) ? { pinned: true } : {}) }));
    const coming = earlier.map((load) => ({ ...load.entry.asResident(), bytes: load.need, pinned: true }));
    return [...staying, ...coming];
  }

  /**
   * A load may start before earlier ones that need the same memory while those wait anyway, because the models they wait for may
   * themselves wait for this one. Only once, so that the earlier ones are not starved.
   */
  #mayPass({ entry }: Load, earlier: readonly Load[]): boolean {
    if (earlier.some(({ passedBy }) => passedBy.has(entry))) return false;
    for (const { passedBy } of earlier) passedBy.add(entry);
    return true;
  }

  #isEntering(entry: RegistryEntry): boolean {
    return [...this.#loads].some((load) => load.entry === entry && load.phase === 'entering');
  }

  /** A model that is being loaded counts in full among the residents, but does not use all of that memory yet. */
  #budget(): MemoryBudget {
    const now = this.deps.memoryBudget();
    const isLoading = [...this.#loads].some(({ phase }) => phase === 'entering');
    if (isLoading && this.#idleBudget) return { ...now, bytes: Math.min(now.bytes, this.#idleBudget.bytes) };
    this.#idleBudget = now;
    return now;
  }

  /** While a model is being loaded, it has a part of what is counted for it. */
  #knowGpus(gpus: readonly GpuUse[]): void {
    if ([...this.#loads].some(({ phase }) => phase === 'entering')) return;
    const others = this.#gpuBudgets.filter(({ name }) => !gpus.some((gpu) => gpu.name === name));
    this.#gpuBudgets = [
      ...others,
      ...gpus.map(({ name, freeBytes, heldBytes }) => ({ name, bytes: freeBytes + heldBytes })),
    ].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  }

  #announce(load: Load, leaving: readonly RegistryEntry[]): void {
    if (load.announced && leaving.length === 0) return;
    load.announced = true;
    const names = leaving.map(({ spec }) => spec.name);
    this.deps.observer?.loading?.(load.entry.spec.name, names);
  }

  async #bring(load: Load): Promise<void> {
    const { entry } = load;
    load.phase = 'entering';
    try {
      // Without a wait where nothing is given back: it counts as loaded from now on.
      const released = this.#release(load);
      if (released) await released;
      await entry.enter();
    } catch (error) {
      this.#settle(load, asLoadError(entry.spec.name, error));
      return;
    }
    this.#lastLoadMs = entry.loadMs;
    this.deps.observer?.loaded?.(entry.spec.name);
    this.#settle(load);
  }

  /** Loaded models give back what they can spare, as far as the newcomer needs it; undefined if nothing is needed. */
  #release({ need }: Load): Promise<unknown> | undefined {
    const sparing = this.#entries.filter(({ lifecycle }) => (lifecycle?.spareBytes?.() ?? 0) > 0);
    const lacking = need - (this.deps.availableBytes?.() ?? 0);
    if (lacking <= 0 || sparing.length === 0) return undefined;
    return Promise.all(sparing.map(({ lifecycle }) => lifecycle?.release?.(lacking)));
  }

  /** Settles all requests that wait for this load. */
  #settle(load: Load, error?: AppError): void {
    const { entry } = load;
    this.#loads.delete(load);
    const used = entry.listed().gpus;
    if (used.length > 0) this.#knowGpus(withHeld(used, this.list()));
    if (error) this.deps.observer?.failed?.(entry.spec.name, reasonOf(error));
    for (const one of this.#loadRequests.filter((other) => other.entry === entry)) {
      this.#loadRequests.splice(this.#loadRequests.indexOf(one), 1);
      if (error) one.reject(error);
      // In use at once, so that the next load does not evict it.
      else one.resolve(entry.take(one.order));
    }
    this.#startLoads();
  }
}

/** Each GPU once, with what all models hold of it. */
function withHeld(gpus: readonly GpuMemory[], models: readonly Listed[]): readonly GpuUse[] {
  const held = models.flatMap(({ gpus: used }) => used);
  const byName = new Map(gpus.map((gpu) => [gpu.name, gpu]));
  return [...byName.values()].map((gpu) => ({
    ...gpu,
    heldBytes: held.reduce((sum, { name, heldBytes }) => sum + (name === gpu.name ? heldBytes : 0), 0),
  }));
}
