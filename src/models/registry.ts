import { AppError } from '../core/errors.ts';
import { unlessAborted } from '../core/unless-aborted.ts';
import { evict, fits, type MemoryBudget, type Resident } from './eviction.ts';
import type { EntryState, Lifecycle, Listed, ModelSpec, UnloadReason, Use } from './lifecycle.ts';
import { RegistryEntry, type RegistryEntryParts } from './registry-entry.ts';

/** The type of a loaded model, by kind. */
export type Kinds = Readonly<Record<string, Lifecycle>>;
export type AnyModelSpec<All extends Kinds> = { [Kind in keyof All & string]: ModelSpec<Kind, All[Kind]> }[keyof All &
  string];

/** All model specs, and the default model of each kind. */
export interface Catalogue<All extends Kinds> {
  readonly specs: readonly AnyModelSpec<All>[];
  readonly usual: { readonly [Kind in keyof All & string]?: string };
}

export interface RegistryParts extends RegistryEntryParts {
  /** The memory for all models; read for each load. */
  readonly room: () => MemoryBudget;
  readonly observer?: RegistryObserver;
}

/** Observer callbacks. Must not throw or block. */
export interface RegistryObserver {
  loading?(name: string, makingRoom: readonly string[]): void;
  loaded?(name: string): void;
  failed?(name: string, reason: string): void;
  left?(name: string, why: UnloadReason): void;
}

interface LoadRequest<All extends Kinds> {
  readonly kept: RegistryEntry<All[keyof All]>;
  /** Models that the caller uses while it waits: they cannot be unloaded before this request is settled. */
  readonly holding: readonly Held[];
  readonly granted: (use: Use<All[keyof All]>) => void;
  readonly refused: (error: AppError) => void;
}

/** A model in use, by name. */
export interface Held {
  readonly kind: string;
  readonly name: string;
}

/** One load, for all requests that wait for it. */
interface Load<All extends Kinds> {
  readonly kept: RegistryEntry<All[keyof All]>;
  /** `measuring` until its memory is known, `waiting` until that memory is free, `entering` while it is loaded. */
  phase: 'measuring' | 'waiting' | 'entering';
  need: number;
  announced: boolean;
  /** Later loads that were started first, with memory that it needs. */
  readonly passedBy: Set<RegistryEntry<All[keyof All]>>;
}

/**
 * All models by name, and which of them are loaded. Loads that compete for memory run in the order of their requests; a load
 * that fits beside what is loaded starts at once. A model that is evicted finishes its requests first and accepts no new ones,
 * so requests that name models in turn are served in order, and none waits forever.
 */
export class Registry<All extends Kinds> {
  #kept: readonly RegistryEntry<All[keyof All]>[] = [];
  #usual: Catalogue<All>['usual'] = {};
  readonly #claims: LoadRequest<All>[] = [];
  /** In the order of their requests. */
  readonly #loads = new Set<Load<All>>();
  #roomAtRest: MemoryBudget | undefined;
  #closed = false;

  constructor(
    catalogue: Catalogue<All>,
    private readonly parts: RegistryParts,
  ) {
    this.#enter(catalogue);
  }

  list(): readonly Listed[] {
    return this.#kept.map((kept) => kept.listed());
  }

  has(kind: string, name: string): boolean {
    return this.#kept.some((kept) => kept.spec.kind === kind && kept.spec.name === name);
  }

  /** Default model of a kind. */
  usual(kind: keyof All & string): string | undefined {
    return this.#usual[kind];
  }

  state(kind: keyof All & string, name = this.usual(kind)): EntryState | undefined {
    return this.#find(kind, name)?.state();
  }

  /** The loaded model of this name; loads nothing. */
  peek<Kind extends keyof All & string>(kind: Kind, name = this.usual(kind)): All[Kind] | undefined {
    return this.#find(kind, name)?.life as All[Kind] | undefined;
  }

  /**
   * Loads the model unless it is loaded. Rejects if it cannot be loaded, or with the reason of the signal. The model stays loaded until
   * it is released. `holding` names the models that the caller uses while it waits; they are not evicted for this load, because each
   * would wait for the other.
   */
  async use<Kind extends keyof All & string>(
    kind: Kind,
    name: string | undefined,
    signal?: AbortSignal,
    holding: readonly Held[] = [],
  ): Promise<Use<All[Kind]>> {
    signal?.throwIfAborted();
    const kept = this.#wanted(kind, name);
    // Waiting for an engine that restarts after a crash must not block other loads.
    const use = kept.open ? kept.take() : await this.#claim(kept, holding, signal);
    try {
      await unlessAborted(kept.settled(), signal);
      const state = kept.state();
      if (state.type === 'failed') throw loadFailed(kept.spec.name, state.reason);
      return use as Use<All[Kind]>;
    } catch (error) {
      use.release();
      throw error;
    }
  }

  /** Loads it without using it. */
  async load(kind: keyof All & string, name?: string): Promise<void> {
    (await this.use(kind, name)).release();
  }

  /** Resolves when it is unloaded; running requests finish first. */
  async unload(kind: keyof All & string, name = this.usual(kind)): Promise<void> {
    await this.#find(kind, name)?.leave('asked');
  }

  /** Sets how long it stays loaded after its last use; 0 unloads it when its running requests are finished. */
  keepFor(kind: keyof All & string, name: string | undefined, milliseconds: number): void {
    this.#find(kind, name ?? this.usual(kind))?.keepFor(milliseconds);
  }

  /** Adds a spec, unless one of this kind and name exists. */
  add(spec: AnyModelSpec<All>): void {
    if (this.has(spec.kind, spec.name)) return;
    this.#enter({ specs: [...this.#specs(), spec], usual: this.#usual });
  }

  /** Removes the spec at once; resolves when the model is unloaded. */
  remove(kind: keyof All & string, name: string): Promise<void> {
    const specs = this.#specs().filter((spec) => spec.kind !== kind || spec.name !== name);
    return this.replace({ specs, usual: this.#usual });
  }

  /**
   * Replaces all specs. Models whose spec is removed finish their requests and are unloaded; those with the same spec stay loaded.
   */
  async replace(catalogue: Catalogue<All>): Promise<void> {
    const before = this.#kept;
    this.#enter(catalogue);
    const gone = before.filter((kept) => !this.#kept.includes(kept));
    for (const claim of this.#claims.filter(({ kept }) => gone.includes(kept))) {
      this.#claims.splice(this.#claims.indexOf(claim), 1);
      claim.refused(new AppError('model-not-found', { model: claim.kept.spec.name }));
    }
    for (const load of this.#loads) if (gone.includes(load.kept) && load.phase !== 'entering') this.#loads.delete(load);
    const left = Promise.all(gone.map((kept) => kept.leave('replaced')));
    this.#startLoads();
    await left;
  }

  /** Ends all engines without waiting for their requests: the program is ending. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { kept, refused } of this.#claims.splice(0)) refused(loadFailed(kept.spec.name, 'the server is ending'));
    this.#loads.clear();
    await Promise.all(this.#kept.map((kept) => kept.end()));
  }

  #enter({ specs, usual }: Catalogue<All>): void {
    this.#kept = specs.map(
      (spec) =>
        this.#kept.find((kept) => kept.spec === spec) ??
        new RegistryEntry<All[keyof All]>(spec as unknown as ModelSpec<string, All[keyof All]>, this.parts, (why) => {
          this.parts.observer?.left?.(spec.name, why);
          this.#startLoads();
        }),
    );
    this.#usual = usual;
  }

  #specs(): readonly AnyModelSpec<All>[] {
    return this.#kept.map(({ spec }) => spec as unknown as AnyModelSpec<All>);
  }

  #find(kind: string, name: string | undefined): RegistryEntry<All[keyof All]> | undefined {
    return this.#kept.find(({ spec }) => spec.kind === kind && spec.name === name);
  }

  #wanted(kind: keyof All & string, name: string | undefined): RegistryEntry<All[keyof All]> {
    const meant = name ?? this.usual(kind);
    const kept = this.#find(kind, meant);
    if (this.#closed || !kept) throw new AppError('model-not-found', { model: meant ?? kind });
    return kept;
  }

  #claim(
    kept: RegistryEntry<All[keyof All]>,
    holding: readonly Held[],
    signal: AbortSignal | undefined,
  ): Promise<Use<All[keyof All]>> {
    return new Promise((resolve, reject) => {
      const settle =
        <Value>(how: (value: Value) => void) =>
        (value: Value): void => {
          signal?.removeEventListener('abort', goAway);
          how(value);
        };
      const claim: LoadRequest<All> = { kept, holding, granted: settle(resolve), refused: settle(reject) };
      const goAway = (): void => {
        const place = this.#claims.indexOf(claim);
        if (place !== -1) this.#claims.splice(place, 1);
        reject(signal?.reason);
        this.#startLoads();
      };
      this.#claims.push(claim);
      signal?.addEventListener('abort', goAway, { once: true });
      if (![...this.#loads].some((load) => load.kept === kept)) void this.#measure(kept);
      else this.#startLoads();
    });
  }

  /** Never rejects: errors go to the requests that wait for the load. */
  async #measure(kept: RegistryEntry<All[keyof All]>): Promise<void> {
    const load: Load<All> = { kept, phase: 'measuring', need: 0, announced: false, passedBy: new Set() };
    this.#loads.add(load);
    try {
      // It may be being evicted.
      await kept.gone();
      load.need = await kept.need();
    } catch (error) {
      if (this.#loads.has(load)) this.#settle(load, asLoadError(kept.spec.name, error));
      return;
    }
    load.phase = 'waiting';
    this.#startLoads();
  }

  /** Starts all loads for which there is memory now. Called whenever memory is freed or a model is requested. */
  #startLoads(): void {
    if (this.#closed) return;
    for (const load of this.#loads) {
      if (load.phase !== 'waiting') continue;
      if (this.#claims.some(({ kept }) => kept === load.kept)) this.#tryToStart(load);
      // All its requests were aborted.
      else this.#loads.delete(load);
    }
  }

  #tryToStart(load: Load<All>): void {
    const { kept, need } = load;
    const room = this.#room();
    const newcomer = { bytes: need, besides: kept.spec.besides ?? false };
    const residents = this.#kept.filter((other) => other !== kept && other.resident);
    // The models that earlier loads wait for may be in use until this one is loaded.
    const earlier = this.#isHeldUp(load) ? [] : this.#earlier(load);
    const stays = this.#afterwards(load, residents, earlier);
    const rival = !fits(stays, newcomer, room);
    if (fits(residents.map(asResident), newcomer, room) && (!rival || this.#mayPass(load, earlier))) {
      this.#announce(load, []);
      void this.#bring(load);
      return;
    }
    const gone = evict(stays, newcomer, room);
    if (gone !== 'cannot') {
      const leaving = residents.filter((other) => gone.includes(other.id));
      this.#announce(load, leaving);
      // Each of them calls #startLoads when it is unloaded.
      for (const other of leaving) void other.leave('room');
      return;
    }
    // Models that are being loaded, or will be loaded before it, can be evicted after their first use.
    if (earlier.length > 0 || residents.some((other) => this.#isEntering(other))) return;
    this.#settle(load, tooLarge(kept.spec.name, need, room));
  }

  /** Loads that wait for evicted models to be unloaded. */
  #earlier(load: Load<All>): readonly Load<All>[] {
    const all = [...this.#loads];
    return all.slice(0, all.indexOf(load)).filter(({ phase }) => phase === 'waiting');
  }

  /**
   * The models in memory once all evictions are done and all earlier loads are loaded. Models that were not used yet, and those that
   * the waiting requests hold, cannot be evicted.
   */
  #afterwards(
    { kept }: Load<All>,
    residents: readonly RegistryEntry<All[keyof All]>[],
    earlier: readonly Load<All>[],
  ): readonly Resident[] {
    const held = this.#claims.filter((claim) => claim.kept === kept).flatMap(({ holding }) => holding);
    const isHeld = ({ spec }: RegistryEntry<All[keyof All]>) =>
      held.some(({ kind, name }) => kind === spec.kind && name === spec.name);
    const staying = residents
      .filter((other) => other.open || isHeld(other))
      .map((other) => ({
        ...other.asResident(),
        ...(this.#isEntering(other) || isHeld(other) ? { pinned: true } : {}),
      }));
    const coming = earlier.map((load) => ({ ...load.kept.asResident(), bytes: load.need, pinned: true }));
    return [...staying, ...coming];
  }

  /**
   * A load may start before earlier ones that need the same memory while those wait anyway, because the models they wait for may
   * themselves wait for this one. Only once, so that the earlier ones are not starved.
   */
  #mayPass({ kept }: Load<All>, earlier: readonly Load<All>[]): boolean {
    if (earlier.some(({ passedBy }) => passedBy.has(kept))) return false;
    for (const { passedBy } of earlier) passedBy.add(kept);
    return true;
  }

  #isHeldUp({ kept }: Load<All>): boolean {
    return this.#claims.some((claim) => claim.kept === kept && claim.holding.length > 0);
  }

  #isEntering(kept: RegistryEntry<All[keyof All]>): boolean {
    return [...this.#loads].some((load) => load.kept === kept && load.phase === 'entering');
  }

  /** A model that is being loaded counts in full among the residents, but does not use all of that memory yet. */
  #room(): MemoryBudget {
    const now = this.parts.room();
    const isLoading = [...this.#loads].some(({ phase }) => phase === 'entering');
    if (isLoading && this.#roomAtRest) return { ...now, bytes: Math.min(now.bytes, this.#roomAtRest.bytes) };
    this.#roomAtRest = now;
    return now;
  }

  #announce(load: Load<All>, leaving: readonly RegistryEntry<All[keyof All]>[]): void {
    if (load.announced && leaving.length === 0) return;
    load.announced = true;
    const names = leaving.map(({ spec }) => spec.name);
    this.parts.observer?.loading?.(load.kept.spec.name, names);
  }

  async #bring(load: Load<All>): Promise<void> {
    const { kept } = load;
    load.phase = 'entering';
    try {
      await kept.enter();
    } catch (error) {
      this.#settle(load, asLoadError(kept.spec.name, error));
      return;
    }
    this.parts.observer?.loaded?.(kept.spec.name);
    this.#settle(load);
  }

  /** Settles all requests that wait for this load. */
  #settle(load: Load<All>, error?: AppError): void {
    const { kept } = load;
    this.#loads.delete(load);
    if (error) this.parts.observer?.failed?.(kept.spec.name, reasonOf(error));
    for (const one of this.#claims.filter((other) => other.kept === kept)) {
      this.#claims.splice(this.#claims.indexOf(one), 1);
      if (error) one.refused(error);
      // In use at once, so that the next load does not evict it.
      else one.granted(kept.take());
    }
    this.#startLoads();
  }
}

function asResident(kept: Pick<RegistryEntry<Lifecycle>, 'asResident'>): Resident {
  return kept.asResident();
}

function loadFailed(model: string, reason: string): AppError {
  return new AppError('model-load-failed', { model, reason });
}

function asLoadError(model: string, thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  return loadFailed(model, thrown instanceof Error ? thrown.message : String(thrown));
}

function reasonOf(error: AppError): string {
  return error.code === 'model-load-failed' ? (error.details as { reason: string }).reason : error.message;
}

function tooLarge(model: string, need: number, { bytes, count }: MemoryBudget): AppError {
  const gigabytes = (value: number): string => `${(value / 2 ** 30).toFixed(1)} GB`;
  const reason =
    need > bytes || count > 0
      ? `it needs about ${gigabytes(need)} and ${gigabytes(Math.max(0, bytes))} can be had`
      : 'no model may be loaded (--maxmodels)';
  return loadFailed(model, reason);
}
