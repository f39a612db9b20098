import { AppError } from '../core/errors.ts';
import { orGone } from '../core/or-gone.ts';
import { evict, type Room } from './eviction.ts';
import { Keeping, type KeptParts } from './keeping.ts';
import type { EntryState, LeaveReason, Life, Listed, Recipe, Use } from './life.ts';

/** What each kind becomes once it is loaded. */
export type Kinds = Readonly<Record<string, Life>>;
export type AnyRecipe<All extends Kinds> = { [Kind in keyof All & string]: Recipe<Kind, All[Kind]> }[keyof All &
  string];

/** All that can be had, and which of each kind is meant by whoever names none. */
export interface Catalogue<All extends Kinds> {
  readonly recipes: readonly AnyRecipe<All>[];
  readonly usual: { readonly [Kind in keyof All & string]?: string };
}

export interface RegistryParts extends KeptParts {
  /** What there is for all that is kept; asked anew for each load. */
  readonly room: () => Room;
  readonly observer?: RegistryObserver;
}

/** Whoever watches (the console); none of it may fail or wait. */
export interface RegistryObserver {
  loading?(name: string, makingRoom: readonly string[]): void;
  loaded?(name: string): void;
  failed?(name: string, reason: string): void;
  left?(name: string, why: LeaveReason): void;
}

interface Claim<All extends Kinds> {
  readonly kept: Keeping<All[keyof All]>;
  readonly granted: (use: Use<All[keyof All]>) => void;
  readonly refused: (error: AppError) => void;
}

/**
 * All that has a name and can be in memory. One is brought in after the other, in the order in which they were wanted;
 * what has to make room ends its work first, and takes no more of it. So a row of requests that name models in turn is
 * served in order, and nobody waits for ever behind somebody's endless work.
 */
export class Registry<All extends Kinds> {
  #kept: readonly Keeping<All[keyof All]>[] = [];
  #usual: Catalogue<All>['usual'] = {};
  readonly #claims: Claim<All>[] = [];
  #bringing: Promise<void> | undefined;
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
    return this.#kept.some((kept) => kept.recipe.kind === kind && kept.recipe.name === name);
  }

  /** The name that is meant by whoever names none. */
  usual(kind: keyof All & string): string | undefined {
    return this.#usual[kind];
  }

  state(kind: keyof All & string, name = this.usual(kind)): EntryState | undefined {
    return this.#find(kind, name)?.state();
  }

  /** What is in memory under this name, for a look that loads nothing. */
  peek<Kind extends keyof All & string>(kind: Kind, name = this.usual(kind)): All[Kind] | undefined {
    return this.#find(kind, name)?.life as All[Kind] | undefined;
  }

  /**
   * Resolves when it is ready, at once where it already is; rejects when it cannot be had, or with the signal's reason when
   * whoever waits has gone. It stays until it is released.
   */
  async use<Kind extends keyof All & string>(
    kind: Kind,
    name: string | undefined,
    signal?: AbortSignal,
  ): Promise<Use<All[Kind]>> {
    signal?.throwIfAborted();
    const kept = this.#wanted(kind, name);
    // One that comes back by itself after a crash is waited for without anybody else having to wait.
    const use = kept.open ? kept.take() : await this.#claim(kept, signal);
    try {
      await orGone(kept.settled(), signal);
      const state = kept.state();
      if (state.type === 'failed') throw loadFailed(kept.recipe.name, state.reason);
      return use as Use<All[Kind]>;
    } catch (error) {
      use.release();
      throw error;
    }
  }

  /** Brings it in without using it. */
  async load(kind: keyof All & string, name?: string): Promise<void> {
    (await this.use(kind, name)).release();
  }

  /** Resolves when it is gone; whoever is being served is served to the end. */
  async unload(kind: keyof All & string, name = this.usual(kind)): Promise<void> {
    await this.#find(kind, name)?.leave('asked');
  }

  /** How long it stays after its last use from now on, and after the work that runs now; 0 lets it go at once. */
  keepFor(kind: keyof All & string, name: string | undefined, milliseconds: number): void {
    this.#find(kind, name ?? this.usual(kind))?.keepFor(milliseconds);
  }

  /** One more thing can be had; a name that is known already stays what it is. */
  add(recipe: AnyRecipe<All>): void {
    if (this.has(recipe.kind, recipe.name)) return;
    this.#enter({ recipes: [...this.#recipes(), recipe], usual: this.#usual });
  }

  /** Resolves when it is gone; it cannot be had any more from now on. */
  remove(kind: keyof All & string, name: string): Promise<void> {
    const recipes = this.#recipes().filter((recipe) => recipe.kind !== kind || recipe.name !== name);
    return this.replace({ recipes, usual: this.#usual });
  }

  /**
   * Other things can be had from now on. What is not among them any more ends its work and goes; what is there under the same
   * recipe stays as it is.
   */
  async replace(catalogue: Catalogue<All>): Promise<void> {
    const before = this.#kept;
    this.#enter(catalogue);
    const gone = before.filter((kept) => !this.#kept.includes(kept));
    for (const claim of this.#claims.filter(({ kept }) => gone.includes(kept))) {
      this.#claims.splice(this.#claims.indexOf(claim), 1);
      claim.refused(new AppError('model-not-found', { model: claim.kept.recipe.name }));
    }
    await Promise.all(gone.map((kept) => kept.leave('replaced')));
  }

  /** Ends everything at once, without waiting for those who are being served: the program is ending. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { kept, refused } of this.#claims.splice(0))
      refused(loadFailed(kept.recipe.name, 'the server is ending'));
    await Promise.all(this.#kept.map((kept) => kept.end()));
  }

  #enter({ recipes, usual }: Catalogue<All>): void {
    this.#kept = recipes.map(
      (recipe) =>
        this.#kept.find((kept) => kept.recipe === recipe) ??
        new Keeping<All[keyof All]>(recipe as unknown as Recipe<string, All[keyof All]>, this.parts, (why) =>
          this.parts.observer?.left?.(recipe.name, why),
        ),
    );
    this.#usual = usual;
  }

  #recipes(): readonly AnyRecipe<All>[] {
    return this.#kept.map(({ recipe }) => recipe as unknown as AnyRecipe<All>);
  }

  #find(kind: string, name: string | undefined): Keeping<All[keyof All]> | undefined {
    return this.#kept.find(({ recipe }) => recipe.kind === kind && recipe.name === name);
  }

  #wanted(kind: keyof All & string, name: string | undefined): Keeping<All[keyof All]> {
    const meant = name ?? this.usual(kind);
    const kept = this.#find(kind, meant);
    if (this.#closed || !kept) throw new AppError('model-not-found', { model: meant ?? kind });
    return kept;
  }

  #claim(kept: Keeping<All[keyof All]>, signal: AbortSignal | undefined): Promise<Use<All[keyof All]>> {
    return new Promise((resolve, reject) => {
      const settle =
        <Value>(how: (value: Value) => void) =>
        (value: Value): void => {
          signal?.removeEventListener('abort', goAway);
          how(value);
        };
      const claim: Claim<All> = { kept, granted: settle(resolve), refused: settle(reject) };
      const goAway = (): void => {
        const place = this.#claims.indexOf(claim);
        if (place !== -1) this.#claims.splice(place, 1);
        reject(signal?.reason);
      };
      this.#claims.push(claim);
      signal?.addEventListener('abort', goAway, { once: true });
      this.#bringing ??= this.#bringAll().finally(() => {
        this.#bringing = undefined;
      });
    });
  }

  /** Never rejects: what goes wrong is told to those who wanted it. */
  async #bringAll(): Promise<void> {
    for (let [claim] = this.#claims; claim; [claim] = this.#claims) {
      const { kept } = claim;
      const error = await this.#bring(kept).then(
        () => undefined,
        (thrown: unknown) => asLoadError(kept.recipe.name, thrown),
      );
      if (error) this.parts.observer?.failed?.(kept.recipe.name, reasonOf(error));
      // All who came for it meanwhile are served by this one load.
      for (const one of this.#claims.filter((other) => other.kept === kept)) {
        this.#claims.splice(this.#claims.indexOf(one), 1);
        if (error) one.refused(error);
        // In use from this moment on: the next claim must not find it idle.
        else one.granted(kept.take());
      }
    }
  }

  async #bring(kept: Keeping<All[keyof All]>): Promise<void> {
    // It may be on its way out, for somebody who was served meanwhile.
    await kept.gone();
    if (kept.open) return;
    const need = await kept.need();
    const others = this.#kept.filter((other) => other !== kept && other.resident);
    const gone = evict(
      others.map((other) => other.asResident()),
      { bytes: need, besides: kept.recipe.besides ?? false },
      this.parts.room(),
    );
    if (gone === 'cannot') throw tooLarge(kept.recipe.name, need, this.parts.room());
    const leaving = others.filter(({ id }) => gone.includes(id));
    this.parts.observer?.loading?.(
      kept.recipe.name,
      leaving.map(({ recipe }) => recipe.name),
    );
    await Promise.all(leaving.map((other) => other.leave('room')));
    if (this.#closed) throw loadFailed(kept.recipe.name, 'the server is ending');
    await kept.enter();
    this.parts.observer?.loaded?.(kept.recipe.name);
  }
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

function tooLarge(model: string, need: number, { bytes, count }: Room): AppError {
  const gigabytes = (value: number): string => `${(value / 2 ** 30).toFixed(1)} GB`;
  const reason =
    need > bytes || count > 0
      ? `it needs about ${gigabytes(need)} and ${gigabytes(Math.max(0, bytes))} can be had`
      : 'no model may be loaded (--maxmodels)';
  return loadFailed(model, reason);
}
