import { unlessAborted } from '../core/abort.ts';
import { AppError, asAppError } from '../core/errors.ts';
import {
  equalName,
  findExactly,
  findNamed,
  isCommonEmbeddingName,
  modelId,
  nameKey,
  sameName,
} from '../core/model-names.ts';
import type { ListedModel, ModelSelection, PresetFacts } from '../core/models-view.ts';
import { specsOf } from './engine-kinds.ts';
import type { Use } from './lifecycle.ts';
import {
  baseOf,
  type ModelInstance,
  type ModelOffer,
  modelInstance,
  type Selected,
  type SelectedInstance,
  select,
  selectPreset,
} from './model-instance.ts';
import { namingOf, publicName } from './model-name.ts';
import { hasText, type PreparedModel } from './prepared-model.ts';
import type { Registry } from './registry.ts';
import { type Arrival, Arriving, type LoadTimeout, withTimeout } from './registry-source.ts';
import { displayName } from './text-engine.ts';

export interface RouterDeps<Context> {
  readonly registry: Registry;
  /** Requests of a model that is still being swapped in wait for its arrival. */
  readonly contextOf: (model: PreparedModel, arrival?: Arrival) => Context;
  /** The context of a preset, from that of its base. It ends with it. */
  readonly presetContext?: (base: Context, preset: PreparedModel) => Context;
  /** Called with a context that no request uses any more, and none will. */
  readonly retired?: (context: Context) => void;
  /** The models that can be requested by name (`--routermode`). Listed for each request, because files come and go. */
  readonly offers?: () => Promise<readonly ModelOffer[]>;
  /** Only presets are requested by name: every other name means the default model. */
  readonly presetsOnly?: boolean;
  /** `--modelalias`: the target of a name that no model has. */
  readonly alias?: (name: string) => string | undefined;
  /** Whether this name means whichever model is loaded, unless a model has it (`--warmname`). */
  readonly isWarm?: (name: string) => boolean;
  /** Prepares the model again if its files have changed since it was prepared; undefined if they have not. */
  readonly renewed?: (model: PreparedModel) => Promise<(() => Promise<PreparedModel>) | undefined>;
  /** Limits how long a request waits for a swap. */
  readonly timeout?: LoadTimeout;
  readonly log: (line: string) => void;
}

/** A swap in progress. No new request gets the model that is swapped out. */
interface Swap<Context> {
  readonly names: readonly string[];
  /** The model that is swapped in: new requests get it at once, and wait until it is loaded. */
  next: ModelInstance<Context> | undefined;
  readonly over: Promise<void>;
}

/** A swap that waits for the previous one, or for the answer to the request that started it. */
interface QueuedSwap {
  readonly name: string;
  readonly begun: Promise<void>;
}

/**
 * Routes each request to the model instance it names, or to the default one. During a swap, running requests finish on the old
 * instance and new ones queue on the new one, so that streams can report load progress. If the new model fails to load, the old one
 * is restored.
 */
export class ModelRouter<Context> {
  readonly #instances = new Map<string, ModelInstance<Context>>();
  #default: ModelInstance<Context>;
  #swap: Swap<Context> | undefined;
  readonly #queuedSwaps: QueuedSwap[] = [];
  readonly #renewing = new Map<string, Promise<void>>();
  readonly #preparing = new Map<string, Promise<PreparedModel>>();

  constructor(
    initial: { readonly model: PreparedModel; readonly context: Context },
    private readonly deps: RouterDeps<Context>,
  ) {
    this.#default = this.#register(initial.model, initial.context);
  }

  /** The model of requests that name none. */
  get defaultModel(): PreparedModel {
    return this.#default.model;
  }

  /** Without a name, the default model. Throws `model-not-found` for a name that no model has. */
  async resolve(
    sent: string | undefined,
    { queued, modelSelection }: ModelSelection,
    signal: AbortSignal,
  ): Promise<Selected<Context>> {
    const own = this.deps.offers && sent !== undefined ? await this.#selectedName(sent) : undefined;
    // A request for whichever model is loaded follows a swap of the default one.
    const isWarm = own !== sent && sent !== undefined && (this.deps.isWarm?.(sent) ?? false);
    const requested = isWarm && own === this.defaultModel.name ? undefined : own;
    const name =
      requested !== undefined && modelSelection ? await this.#textModelOf(requested, modelSelection) : requested;
    if (modelSelection === 'known-name' && requested !== name)
      throw new AppError('model-not-found', { model: sent ?? '' });
    // Requests for information are answered at once by what is loaded.
    if (!queued) return this.#current(name, signal);
    return withTimeout(name ?? this.defaultModel.name, this.deps.timeout, signal, (waiting) =>
      name === undefined ? this.#unnamed(waiting) : this.#named(name, waiting),
    );
  }

  /** Whether a model has this name. */
  async knows(name: string): Promise<boolean> {
    const own = await this.#unaliased(name);
    return (this.#instanceOf(own) ?? (await this.#offerOf(own)) ?? this.#aliased(own)) !== undefined;
  }

  /**
   * Another model for a part of a request, which uses its own one already. Undefined during a swap or a change of that model: waiting for
   * it could mean to wait for the request itself.
   */
  async beside(sent: string): Promise<SelectedInstance<Context> | undefined> {
    const name = await this.#unaliased(sent);
    const known = this.#instanceOf(name);
    const offer = known ? undefined : await this.#offerOf(name);
    if (offer?.preset) {
      const selected = await this.beside(baseOf(offer));
      return selected && this.#onBase(offer, selected);
    }
    const own = known?.model.name ?? offer?.names[0] ?? this.#aliased(name)?.model.name;
    if (own === undefined) throw new AppError('model-not-found', { model: sent });
    const existing = this.#instanceOf(own);
    const model = existing || !offer ? undefined : await this.#prepare(own, offer);
    if (this.#isInSwap(own)) return undefined;
    // Another request may have opened it meanwhile.
    const instance = this.#instanceOf(own) ?? (model && this.#opened(model));
    return instance?.isRegistered ? select(instance) : undefined;
  }

  /** Loads a model, unless one that is in use would have to leave; it stays loaded until it is released. */
  async hold(name: string): Promise<Pick<Use, 'release'>> {
    const { instance, release } = await this.#named(name, undefined);
    try {
      const { spec, taskModels } = instance.model;
      const own = hasText(instance.model) ? spec : specsOf(taskModels).find((one) => one.name === spec.name);
      if (!own) throw new AppError('model-not-found', { model: name });
      return await this.deps.registry.use(own.kind, own.name, undefined, { sparesBusy: true });
    } finally {
      release();
    }
  }

  /** The default model first. */
  async list(): Promise<readonly ListedModel[]> {
    const offers = await this.#offers();
    const listed = this.deps.registry.list().filter(({ kind }) => kind === 'text');
    const entry = (
      name: string,
      own: { readonly path?: string | undefined; aliases?: readonly string[]; preset?: PresetFacts | undefined },
    ): ListedModel => {
      const base = own.preset?.base;
      const listedModel = listed.find((one) => one.name === (base ?? name));
      const { state, bytes, expiresAt = Number.POSITIVE_INFINITY } = listedModel ?? {};
      const prepared = this.#instances.get(base ?? name)?.model;
      const lastState = prepared?.known();
      const hordeName = base === undefined && prepared ? publicName(namingOf(prepared.settings)) : '';
      return {
        name,
        id: modelId(hordeName || name),
        present: hasText(this.#default.model) && name === this.#default.model.name,
        ...(own.aliases && own.aliases.length > 0 ? { aliases: own.aliases } : {}),
        ...(own.preset ? { preset: own.preset } : {}),
        state: state?.type ?? 'unloaded',
        path: prepared?.file?.path ?? own.path,
        known: lastState?.type === 'ready' ? lastState.model : undefined,
        bytes,
        expiresAt,
      };
    };
    const { name, file } = this.#default.model;
    const isPresent = ({ names }: ModelOffer) => equalName(names[0] ?? '', name);
    const own = { path: file?.path, aliases: offers.find(isPresent)?.names.slice(1) ?? [] };
    const first = hasText(this.#default.model) ? [entry(name, own)] : [];
    const others = offers.filter((offer) => !isPresent(offer) && offer.preset?.problem === undefined);
    const pathOf = (own: string | undefined) => offers.find(({ names: [id] }) => id === own)?.path;
    const rest = others.map(({ names: [id = '', ...aliases], path, preset }) =>
      entry(id, { path: path ?? pathOf(preset?.base), aliases, preset }),
    );
    return [...first, ...rest];
  }

  /**
   * Swaps run in order; requests wait for the last one. Resolves when a model is loaded, the new or the old one; with the error
   * if it is the old one.
   */
  async swapTo(model: PreparedModel, answered?: Promise<void>): Promise<AppError | undefined> {
    const queued = this.#queue(model.name, answered);
    if (queued) {
      await queued.begun;
      // Synchronous with the beginning of the swap, so that every request sees one of the two.
      this.#queuedSwaps.splice(this.#queuedSwaps.indexOf(queued), 1);
    }
    const arriving = new Arriving(model.name, this.deps.timeout);
    const next = modelInstance(model, this.deps.contextOf(model, arriving));
    const work = this.#exchange(next, arriving)
      .catch((error: unknown) => {
        this.#abandon(next, arriving, asAppError(error));
        throw error;
      })
      .finally(() => {
        this.#swap = undefined;
        this.#default.abandoned = false;
      });
    const over = work.then(
      () => undefined,
      () => undefined,
    );
    this.#swap = { names: [this.defaultModel.name, model.name], next, over };
    return work;
  }

  /** Undefined if the swap can begin at once. */
  #queue(name: string, answered: Promise<void> | undefined): QueuedSwap | undefined {
    if (!answered && !this.#swap && this.#queuedSwaps.length === 0) return undefined;
    const before = this.#queuedSwaps.at(-1)?.begun;
    const begun = (async () => {
      await answered;
      await before;
      while (this.#swap) await this.#swap.over;
    })();
    const queued = { name, begun };
    this.#queuedSwaps.push(queued);
    return queued;
  }

  async #exchange(next: ModelInstance<Context>, arriving: Arriving): Promise<AppError | undefined> {
    const { registry, log } = this.deps;
    const { model } = next;
    const before = this.#default;
    await Promise.all([before.uses.idle(), before.registered]);
    const namesake = this.#instances.get(model.name);
    if (namesake && namesake !== before) await this.#close(namesake);
    // Requests for information that still have it are repeated on the one that comes.
    before.abandoned = true;
    await registry.remove('text', before.model.name);
    arriving.begin();
    const error = await this.#load(model);
    if (error === undefined) {
      this.#instances.delete(before.model.name);
      this.#instances.set(model.name, next);
      this.#default = next;
      arriving.end();
      this.#retire(before);
      await this.#removeAuxiliary(before.model);
      return undefined;
    }
    this.#abandon(next, arriving, error);
    await registry.remove('text', model.name);
    log(`${model.name} could not be loaded: ${error.message}. Going back to ${before.model.name}.`);
    const again = await this.#load(before.model);
    if (again !== undefined) log(`${before.model.name} could not be loaded again: ${again.message}`);
    return error;
  }

  /** Its requests are repeated on the model that stays, unless their answer has begun. */
  #abandon(next: ModelInstance<Context>, arriving: Arriving, error: AppError): void {
    if (this.#default === next) return;
    next.abandoned = true;
    if (this.#swap) this.#swap.next = undefined;
    arriving.end(error);
    this.#retire(next);
  }

  /** Of an instance that no new request gets. */
  #retire({ uses, context }: ModelInstance<Context>): void {
    void uses.idle().then(() => this.deps.retired?.(context));
  }

  /** Engines of the other kinds that only the removed model used. */
  async #removeAuxiliary({ taskModels }: PreparedModel): Promise<void> {
    const used = [...this.#instances.values()].flatMap(({ model }) => specsOf(model.taskModels));
    const isUsed = ({ kind, name }: { readonly kind: string; readonly name: string }) =>
      used.some((one) => one.kind === kind && one.name === name);
    const gone = specsOf(taskModels).filter((spec) => !isUsed(spec));
    await Promise.all(gone.map(({ kind, name }) => this.deps.registry.remove(kind, name)));
  }

  /** An instance that was requested by name has other settings than the one that takes its name now. */
  async #close(closed: ModelInstance<Context>): Promise<void> {
    await Promise.all([closed.uses.idle(), closed.registered]);
    this.#instances.delete(closed.model.name);
    this.#retire(closed);
    await this.deps.registry.remove('text', closed.model.name);
  }

  /** The error if it cannot be loaded. */
  async #load(model: PreparedModel): Promise<AppError | undefined> {
    if (!hasText(model)) return undefined;
    const { spec, name } = model;
    this.deps.registry.add(spec);
    return this.deps.registry.load('text', name).then(() => undefined, asAppError);
  }

  /** An unknown name is left to the endpoint to report. */
  async #current(name: string | undefined, signal: AbortSignal): Promise<Selected<Context>> {
    if (name === undefined) return select(this.#default);
    const known = this.#instanceOf(name);
    if (known) return select(known);
    const own = (await this.#offerOf(name))?.names[0];
    if (own === undefined) return select(this.#aliased(name) ?? this.#default);
    const existing = this.#instanceOf(own);
    return existing ? select(existing) : this.#named(own, signal);
  }

  async #unnamed(signal: AbortSignal | undefined): Promise<Selected<Context>> {
    while (this.#queuedSwaps.length > 0 || (this.#swap && !this.#swap.next)) await this.#swapOver(signal);
    return select(this.#swap?.next ?? this.#default);
  }

  async #named(name: string, signal: AbortSignal | undefined): Promise<SelectedInstance<Context>> {
    while (this.#isSwappedOut(name)) await this.#swapOver(signal);
    const known = this.#open(name) && (await this.#upToDate(name, signal));
    if (known) return select(known);
    const offer = await this.#offerOf(name);
    if (offer?.preset) return this.#onBase(offer, await this.#named(baseOf(offer), signal));
    const own = offer?.names[0] ?? this.#aliased(name)?.model.name;
    if (own === undefined) throw new AppError('model-not-found', { model: name });
    while (this.#isSwappedOut(own)) await this.#swapOver(signal);
    const existing = this.#open(own) && (await this.#upToDate(own, signal));
    if (existing) return select(existing);
    // It has been swapped out meanwhile.
    if (!offer) throw new AppError('model-not-found', { model: name });
    const model = await this.#prepare(own, offer);
    while (this.#isSwappedOut(model.name)) await this.#swapOver(signal);
    // Another request may have opened it meanwhile.
    return select(this.#open(model.name) ?? this.#opened(model));
  }

  /** Uses its base, which is swapped, renewed and retired with all its presets. */
  #onBase(offer: ModelOffer, selected: SelectedInstance<Context>): Promise<SelectedInstance<Context>> {
    return selectPreset(offer, selected, this.deps.presetContext);
  }

  #opened(model: PreparedModel): ModelInstance<Context> {
    const context = this.deps.contextOf(model);
    this.deps.registry.add(model.spec);
    return this.#register(model, context);
  }

  async #offerOf(name: string): Promise<ModelOffer | undefined> {
    return findNamed(await this.#offers(), ({ names }) => names, name);
  }

  async #selectedName(sent: string): Promise<string | undefined> {
    const own = await this.#unaliased(sent);
    if (!this.deps.presetsOnly) return own;
    const preset = this.#open(own) ? undefined : await this.#offerOf(own);
    return preset ? own : undefined;
  }

  /** A model's own name takes precedence over an alias. */
  async #unaliased(name: string): Promise<string> {
    const target = this.deps.alias?.(name);
    if (target === undefined || this.#open(name)) return name;
    const beside = specsOf(this.defaultModel.taskModels).some((spec) => equalName(spec.name, name));
    return beside || findExactly(await this.#offers(), ({ names }) => names, name) ? name : target;
  }

  /** The instance of this name, prepared again if its files have changed; undefined if a swap has removed it meanwhile. */
  async #upToDate(name: string, signal: AbortSignal | undefined): Promise<ModelInstance<Context> | undefined> {
    if (!this.#nextNamed(name)) await this.#renew(name);
    while (this.#isSwappedOut(name)) await this.#swapOver(signal);
    return this.#open(name);
  }

  /** Once for all concurrent requests. A model that cannot be prepared again stays as it was. */
  #renew(name: string): Promise<void> {
    const key = nameKey(name);
    const renewing = this.#renewing.get(key) ?? this.#renewed(name).finally(() => this.#renewing.delete(key));
    this.#renewing.set(key, renewing);
    return renewing;
  }

  async #renewed(name: string): Promise<void> {
    const old = this.#instanceOf(name);
    const prepare = old && (await this.deps.renewed?.(old.model));
    if (!prepare) return;
    try {
      const model = await prepare();
      // A swap may have replaced it meanwhile, or be about to.
      if (this.#instances.get(old.model.name) === old && !this.#isInSwap(name)) this.#replace(old, model);
    } catch (error) {
      this.deps.log(`${old.model.name} has changed, and stays as it was: ${(error as Error).message}`);
    }
  }

  /** Running requests finish on the old instance; new ones wait for the new one. */
  #replace(old: ModelInstance<Context>, model: PreparedModel): void {
    const { registry, log } = this.deps;
    const arriving = new Arriving(model.name, this.deps.timeout);
    const fresh = modelInstance(model, this.deps.contextOf(model, arriving));
    log(`${model.name} has changed and is read anew.`);
    this.#instances.set(model.name, fresh);
    if (this.#default === old) this.#default = fresh;
    const handOver = async (): Promise<void> => {
      await Promise.all([old.uses.idle(), old.registered]);
      await registry.remove('text', old.model.name);
      if (hasText(model)) registry.add(model.spec);
      arriving.begin();
      arriving.end();
      this.#retire(old);
      await this.#removeAuxiliary(old.model);
    };
    fresh.isRegistered = false;
    fresh.registered = handOver()
      .catch((error: unknown) => arriving.end(asAppError(error)))
      .then(() => {
        fresh.isRegistered = true;
      });
  }

  async #offers(): Promise<readonly ModelOffer[]> {
    return (await this.deps.offers?.()) ?? [];
  }

  /** Once for all concurrent requests. */
  #prepare(name: string, offer: ModelOffer): Promise<PreparedModel> {
    const preparing = this.#preparing.get(name) ?? offer.prepare(name).finally(() => this.#preparing.delete(name));
    this.#preparing.set(name, preparing);
    return preparing;
  }

  /** Settles however the swap ends. Callers must check again what held before. */
  #swapOver(signal: AbortSignal | undefined): Promise<void> {
    return unlessAborted(this.#swap?.over ?? this.#queuedSwaps[0]?.begun ?? Promise.resolve(), signal);
  }

  /** Whether a swap removes the instance of this name, and brings none with the same name. */
  #isSwappedOut(name: string): boolean {
    if (this.#queuedSwaps.some((queued) => equalName(queued.name, name))) return true;
    return this.#isInSwap(name) && !this.#nextNamed(name);
  }

  /** Whether a swap, present or queued, removes or brings an instance of this name. */
  #isInSwap(name: string): boolean {
    const names = [...(this.#swap?.names ?? []), ...this.#queuedSwaps.map((queued) => queued.name)];
    return names.some((one) => equalName(one, name));
  }

  /** The instance for new work. */
  #open(name: string): ModelInstance<Context> | undefined {
    return this.#nextNamed(name) ?? this.#instanceOf(name);
  }

  #nextNamed(name: string): ModelInstance<Context> | undefined {
    const next = this.#swap?.next;
    return next && equalName(next.model.name, name) ? next : undefined;
  }

  #instanceOf(name: string): ModelInstance<Context> | undefined {
    return findExactly([...this.#instances.values()], ({ model }) => [model.name], name);
  }

  /** Models also answer to their file name, their horde name and their names on a remote backend, unless another model has that name. */
  #aliased(name: string): ModelInstance<Context> | undefined {
    return [this.#default, ...this.#instances.values()].find(({ model }) => {
      const { file, settings, remote } = model;
      const own = [model.name, file && displayName(file.path), settings.hordemodelname];
      const nicknames = [...own, ...(remote?.names ?? [])];
      return nicknames.some((one) => one && sameName(one, name));
    });
  }

  /** The text model that has this name, or whose context has the engine with this name; undefined for the default one. */
  async #textModelOf(name: string, selection: ModelSelection['modelSelection']): Promise<string | undefined> {
    const isTask = specsOf(this.defaultModel.taskModels).some((spec) => sameName(spec.name, name));
    if (isTask && selection !== 'known-name') return undefined;
    if (selection === 'own-name' && !isCommonEmbeddingName(name)) return name;
    return this.#instanceOf(name) || this.#aliased(name) || (await this.#offerOf(name)) ? name : undefined;
  }

  #register(model: PreparedModel, context: Context): ModelInstance<Context> {
    const instance = modelInstance(model, context);
    this.#instances.set(model.name, instance);
    return instance;
  }
}
