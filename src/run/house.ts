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
import type { ListedModel } from '../core/models-view.ts';
import { orGone } from '../core/or-gone.ts';
import type { Call, Endpoint } from '../http/call.ts';
import { namingOf, shownName } from '../protocols/native/model-name.ts';
import type { Registry } from '../registry/registry.ts';
import { type Arrival, Arriving } from './arriving.ts';
import { displayName } from './engine.ts';
import { inTime, type Patience } from './in-time.ts';
import type { ModelKinds } from './kinds.ts';
import { namedModel } from './named-model.ts';
import { empty, enter, type Occupied, occupied } from './occupied.ts';
import { recipesOf } from './other-models.ts';
import { hasText, type PreparedModel } from './prepared-model.ts';
import type { Entered, Room } from './rooms.ts';

/** What may be asked for: known by its name, read only when somebody wants it. */
export interface Offer {
  /** All that it answers to, its proper name first. */
  readonly names: readonly string[];
  readonly path: string | undefined;
  /** Under this name, which is its proper one. */
  readonly prepare: (name: string) => Promise<PreparedModel>;
}

export interface HouseParts {
  readonly registry: Registry<ModelKinds>;
  /** The room of a model that is still to come has to wait for its arrival. */
  readonly openRoom: (model: PreparedModel, arrival?: Arrival) => Room;
  /** Offers by name (`--routermode`), asked anew each time: files come and go. */
  readonly offers?: () => Promise<readonly Offer[]>;
  /** `--modelalias`: the model that a name means which no model has itself. */
  readonly alias?: (name: string) => string | undefined;
  /** Where the files of a model have changed since it was prepared, what prepares it anew; undefined where they have not. */
  readonly renewed?: (model: PreparedModel) => Promise<(() => Promise<PreparedModel>) | undefined>;
  /** How long somebody waits for a swap. */
  readonly patience?: Patience;
  readonly say: (line: string) => void;
}

/** While it lasts, nobody comes in to the one that goes. */
interface Swap {
  readonly names: readonly string[];
  /** The one that comes may be entered already: its guests wait inside. */
  coming: Occupied | undefined;
  readonly over: Promise<void>;
}

/** A swap that waits for the one before it, or for the answer to whoever wanted it. */
interface QueuedSwap {
  readonly name: string;
  readonly begun: Promise<void>;
}

/**
 * All models under one roof. Each has a room of its own; calls enter the one that they name, or the present one. A swap lets
 * those who are in finish, has newcomers wait in the new room meanwhile, where a stream can tell how far the model is, and goes
 * back where that cannot be loaded.
 */
export class House {
  readonly #rooms = new Map<string, Occupied>();
  #present: Occupied;
  #swap: Swap | undefined;
  readonly #queuedSwaps: QueuedSwap[] = [];
  readonly #renewing = new Map<string, Promise<void>>();
  readonly #preparing = new Map<string, Promise<PreparedModel>>();

  constructor(
    initial: { readonly model: PreparedModel; readonly room: Room },
    private readonly parts: HouseParts,
  ) {
    this.#present = this.#furnish(initial.model, initial.room);
  }

  get present(): PreparedModel {
    return this.#present.model;
  }

  async choose(call: Call, endpoint: Pick<Endpoint, 'queued' | 'beside'>): Promise<Entered> {
    const sent = this.parts.offers ? await namedModel(call) : undefined;
    const asked = sent === undefined ? undefined : await this.#unaliased(sent);
    const name = asked !== undefined && endpoint.beside ? await this.#roomBeside(asked, endpoint.beside) : asked;
    // Who only looks is answered at once, by what is there.
    if (!endpoint.queued) return this.#lookIn(name, call.signal);
    return inTime(name ?? this.present.name, this.parts.patience, call.signal, (signal) =>
      name === undefined ? this.#unnamed(signal) : this.#named(name, signal),
    );
  }

  /** The present one first. */
  async list(): Promise<readonly ListedModel[]> {
    const offers = await this.#offers();
    const listed = this.parts.registry.list().filter(({ kind }) => kind === 'text');
    const entry = (
      name: string,
      own: { readonly path?: string | undefined; aliases?: readonly string[] },
    ): ListedModel => {
      const found = listed.find((one) => one.name === name);
      const { state, bytes, expiresAt = Number.POSITIVE_INFINITY } = found ?? {};
      const prepared = this.#rooms.get(name)?.model;
      const seen = prepared?.known();
      return {
        name,
        id: modelId((prepared && shownName(namingOf(prepared.settings))) || name),
        present: hasText(this.#present.model) && name === this.#present.model.name,
        ...(own.aliases && own.aliases.length > 0 ? { aliases: own.aliases } : {}),
        state: state?.type ?? 'unloaded',
        path: prepared?.file?.path ?? own.path,
        known: seen?.type === 'ready' ? seen.model : undefined,
        bytes,
        expiresAt,
      };
    };
    const { name, file } = this.#present.model;
    const isPresent = ({ names }: Offer) => equalName(names[0] ?? '', name);
    const own = { path: file?.path, aliases: offers.find(isPresent)?.names.slice(1) ?? [] };
    const first = hasText(this.#present.model) ? [entry(name, own)] : [];
    const others = offers.filter((offer) => !isPresent(offer));
    return [...first, ...others.map(({ names: [id = '', ...aliases], path }) => entry(id, { path, aliases }))];
  }

  /**
   * One after the other. Resolves when the new one is there, or the old one is again. Requests that come meanwhile wait for the
   * last of the swaps that were asked for.
   */
  async swapTo(model: PreparedModel, answered?: Promise<void>): Promise<void> {
    const queued = this.#queue(model.name, answered);
    if (queued) {
      await queued.begun;
      // In one step with the beginning of the swap: no request may find neither of them.
      this.#queuedSwaps.splice(this.#queuedSwaps.indexOf(queued), 1);
    }
    const arriving = new Arriving(model.name, this.parts.patience);
    const coming = occupied(model, this.parts.openRoom(model, arriving));
    const work = this.#exchange(coming, arriving)
      .catch((error: unknown) => {
        this.#giveUp(coming, arriving, asAppError(error));
        throw error;
      })
      .finally(() => {
        this.#swap = undefined;
      });
    this.#swap = { names: [this.present.name, model.name], coming, over: work.catch(() => undefined) };
    await work;
  }

  /** Without anything to wait for the swap begins at once. */
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

  async #exchange(coming: Occupied, arriving: Arriving): Promise<void> {
    const { registry, say } = this.parts;
    const { model } = coming;
    const before = this.#present;
    await Promise.all([empty(before), before.handedOver]);
    const namesake = this.#rooms.get(model.name);
    if (namesake && namesake !== before) await this.#close(namesake);
    await registry.remove('text', before.model.name);
    arriving.begin();
    const error = await this.#load(model);
    if (error === undefined) {
      this.#rooms.delete(before.model.name);
      this.#rooms.set(model.name, coming);
      this.#present = coming;
      arriving.end();
      await this.#dismissOthers(before.model);
      return;
    }
    this.#giveUp(coming, arriving, error);
    await registry.remove('text', model.name);
    say(`${model.name} could not be loaded: ${error.message}. Going back to ${before.model.name}.`);
    const again = await this.#load(before.model);
    if (again !== undefined) say(`${before.model.name} could not be loaded again: ${again.message}`);
  }

  /** Those who wait for it are answered by the one that stays, where nothing was said to them yet. */
  #giveUp(coming: Occupied, arriving: Arriving, error: AppError): void {
    if (this.#present === coming) return;
    coming.givenUp = true;
    if (this.#swap) this.#swap.coming = undefined;
    arriving.end(error);
  }

  /** What stood beside a model that is gone goes too, unless another one has it. */
  async #dismissOthers({ others }: PreparedModel): Promise<void> {
    const wanted = [...this.#rooms.values()].flatMap(({ model }) => recipesOf(model.others));
    const isWanted = ({ kind, name }: { readonly kind: string; readonly name: string }) =>
      wanted.some((one) => one.kind === kind && one.name === name);
    const gone = recipesOf(others).filter((recipe) => !isWanted(recipe));
    await Promise.all(gone.map(({ kind, name }) => this.parts.registry.remove(kind, name)));
  }

  /** One that was asked for by name has other settings than the one that takes its name now. */
  async #close(closed: Occupied): Promise<void> {
    await Promise.all([empty(closed), closed.handedOver]);
    this.#rooms.delete(closed.model.name);
    await this.parts.registry.remove('text', closed.model.name);
  }

  /** The reason why it cannot be there; undefined when it is. */
  async #load(model: PreparedModel): Promise<AppError | undefined> {
    if (!hasText(model)) return undefined;
    const { recipe, name } = model;
    this.parts.registry.add(recipe);
    return this.parts.registry.load('text', name).then(() => undefined, asAppError);
  }

  /** A name that nobody has is the endpoint's to speak of. */
  async #lookIn(name: string | undefined, signal: AbortSignal): Promise<Entered> {
    if (name === undefined) return enter(this.#present);
    const known = this.#roomOf(name);
    if (known) return enter(known);
    const own = (await this.#offerOf(name))?.names[0];
    if (own === undefined) return enter(this.#nicknamed(name) ?? this.#present);
    const there = this.#roomOf(own);
    return there ? enter(there) : this.#named(own, signal);
  }

  async #unnamed(signal: AbortSignal | undefined): Promise<Entered> {
    while (this.#queuedSwaps.length > 0 || (this.#swap && !this.#swap.coming)) await this.#swapOver(signal);
    return enter(this.#swap?.coming ?? this.#present);
  }

  async #named(name: string, signal: AbortSignal | undefined): Promise<Entered> {
    while (this.#leaves(name)) await this.#swapOver(signal);
    const known = this.#open(name) && (await this.#upToDate(name, signal));
    if (known) return enter(known);
    const offer = await this.#offerOf(name);
    const own = offer?.names[0] ?? this.#nicknamed(name)?.model.name;
    if (own === undefined) throw new AppError('model-not-found', { model: name });
    while (this.#leaves(own)) await this.#swapOver(signal);
    const there = this.#open(own) && (await this.#upToDate(own, signal));
    if (there) return enter(there);
    // It has been swapped for another one meanwhile.
    if (!offer) throw new AppError('model-not-found', { model: name });
    const model = await this.#prepare(own, offer);
    while (this.#leaves(model.name)) await this.#swapOver(signal);
    // Somebody else may have asked for it meanwhile.
    return enter(this.#open(model.name) ?? this.#opened(model));
  }

  #opened(model: PreparedModel): Occupied {
    const room = this.parts.openRoom(model);
    this.parts.registry.add(model.recipe);
    return this.#furnish(model, room);
  }

  async #offerOf(name: string): Promise<Offer | undefined> {
    return findNamed(await this.#offers(), ({ names }) => names, name);
  }

  /** A model's own name goes before an alias. */
  async #unaliased(name: string): Promise<string> {
    const target = this.parts.alias?.(name);
    if (target === undefined || this.#open(name)) return name;
    const beside = recipesOf(this.present.others).some((recipe) => equalName(recipe.name, name));
    return beside || findExactly(await this.#offers(), ({ names }) => names, name) ? name : target;
  }

  /** The room of this name, after what has changed in its files is taken up; undefined where a swap has closed it meanwhile. */
  async #upToDate(name: string, signal: AbortSignal | undefined): Promise<Occupied | undefined> {
    if (!this.#coming(name)) await this.#renew(name);
    while (this.#leaves(name)) await this.#swapOver(signal);
    return this.#open(name);
  }

  /** Once for all who ask at the same time. What cannot be prepared anew stays as it was. */
  #renew(name: string): Promise<void> {
    const key = nameKey(name);
    const renewing = this.#renewing.get(key) ?? this.#renewed(name).finally(() => this.#renewing.delete(key));
    this.#renewing.set(key, renewing);
    return renewing;
  }

  async #renewed(name: string): Promise<void> {
    const old = this.#roomOf(name);
    const prepare = old && (await this.parts.renewed?.(old.model));
    if (!prepare) return;
    try {
      const model = await prepare();
      // A swap may have taken its place meanwhile.
      if (this.#rooms.get(old.model.name) === old && !this.#leaves(name)) this.#replace(old, model);
    } catch (error) {
      this.parts.say(`${old.model.name} has changed, and stays as it was: ${(error as Error).message}`);
    }
  }

  /** Requests that run finish on the old one; new ones wait in the room of the new one. */
  #replace(old: Occupied, model: PreparedModel): void {
    const { registry, say } = this.parts;
    const arriving = new Arriving(model.name, this.parts.patience);
    const fresh = occupied(model, this.parts.openRoom(model, arriving));
    say(`${model.name} has changed and is read anew.`);
    this.#rooms.set(model.name, fresh);
    if (this.#present === old) this.#present = fresh;
    const handOver = async (): Promise<void> => {
      await Promise.all([empty(old), old.handedOver]);
      await registry.remove('text', old.model.name);
      if (hasText(model)) registry.add(model.recipe);
      arriving.begin();
      arriving.end();
      await this.#dismissOthers(old.model);
    };
    fresh.handedOver = handOver().catch((error: unknown) => arriving.end(asAppError(error)));
  }

  async #offers(): Promise<readonly Offer[]> {
    return (await this.parts.offers?.()) ?? [];
  }

  /** Once for all who ask for it at the same time. */
  #prepare(name: string, offer: Offer): Promise<PreparedModel> {
    const preparing = this.#preparing.get(name) ?? offer.prepare(name).finally(() => this.#preparing.delete(name));
    this.#preparing.set(name, preparing);
    return preparing;
  }

  /** However it ends. What was true before may not be after it: whoever waits has to look again. */
  #swapOver(signal: AbortSignal | undefined): Promise<void> {
    return orGone(this.#swap?.over ?? this.#queuedSwaps[0]?.begun ?? Promise.resolve(), signal);
  }

  /** Whether a swap closes the room of this name, and brings none that has it. */
  #leaves(name: string): boolean {
    if (this.#queuedSwaps.some((queued) => equalName(queued.name, name))) return true;
    const isSwapped = this.#swap?.names.some((one) => equalName(one, name)) ?? false;
    return isSwapped && !this.#coming(name);
  }

  /** Where whoever wants to work finds it. */
  #open(name: string): Occupied | undefined {
    return this.#coming(name) ?? this.#roomOf(name);
  }

  #coming(name: string): Occupied | undefined {
    const coming = this.#swap?.coming;
    return coming && equalName(coming.model.name, name) ? coming : undefined;
  }

  #roomOf(name: string): Occupied | undefined {
    return findExactly([...this.#rooms.values()], ({ model }) => [model.name], name);
  }

  /** Models are also known by their files and by the name that the horde has for them, where nobody else has it. */
  #nicknamed(name: string): Occupied | undefined {
    return [this.#present, ...this.#rooms.values()].find(({ model }) => {
      const { file, settings, elsewhere } = model;
      const own = [model.name, file && displayName(file.path), settings.hordemodelname];
      const nicknames = [...own, ...(elsewhere?.names ?? [])];
      return nicknames.some((one) => one && sameName(one, name));
    });
  }

  /** What stands beside the present model is had in its room. */
  async #roomBeside(name: string, names: NonNullable<Endpoint['beside']>): Promise<string | undefined> {
    if (recipesOf(this.present.others).some((recipe) => sameName(recipe.name, name))) return undefined;
    if (names === 'own-name' && !isCommonEmbeddingName(name)) return name;
    return this.#roomOf(name) || this.#nicknamed(name) || (await this.#offerOf(name)) ? name : undefined;
  }

  #furnish(model: PreparedModel, room: Room): Occupied {
    const furnished = occupied(model, room);
    this.#rooms.set(model.name, furnished);
    return furnished;
  }
}
