import { AppError, asAppError } from '../core/errors.ts';
import type { ListedModel } from '../core/models-view.ts';
import { orGone } from '../core/or-gone.ts';
import type { Call, Endpoint } from '../http/call.ts';
import type { Registry } from '../registry/registry.ts';
import { type Arrival, Arriving } from './arriving.ts';
import { displayName } from './engine.ts';
import { inTime, type Patience } from './in-time.ts';
import type { ModelKinds } from './kinds.ts';
import { equalName, namedModel, sameName } from './named-model.ts';
import { recipesOf } from './other-models.ts';
import { hasText, type PreparedModel } from './prepared-model.ts';
import type { Entered, Room } from './rooms.ts';

/** What may be asked for: known by its name, read only when somebody wants it. */
export interface Offer {
  /** All that it answers to, its proper name first. */
  readonly names: readonly string[];
  readonly path: string | undefined;
  readonly prepare: () => Promise<PreparedModel>;
}

export interface HouseParts {
  readonly registry: Registry<ModelKinds>;
  /** The room of a model that is still to come has to wait for its arrival. */
  readonly openRoom: (model: PreparedModel, arrival?: Arrival) => Room;
  /** Offers by name (`--routermode`), asked anew each time: files come and go. */
  readonly offers?: () => Promise<readonly Offer[]>;
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

interface Occupied {
  readonly model: PreparedModel;
  readonly room: Room;
  guests: number;
  emptied: (() => void) | undefined;
  /** Its model could not be had: whoever is inside has to go elsewhere. */
  givenUp: boolean;
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
    const asked = this.parts.offers ? await namedModel(call) : undefined;
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
    const entry = (name: string, path: string | undefined): ListedModel => {
      const found = listed.find((one) => one.name === name);
      const { state, bytes, expiresAt = Number.POSITIVE_INFINITY } = found ?? {};
      const prepared = this.#rooms.get(name)?.model;
      const seen = prepared?.known();
      return {
        name,
        state: state?.type ?? 'unloaded',
        path: prepared?.file?.path ?? path,
        known: seen?.type === 'ready' ? seen.model : undefined,
        bytes,
        expiresAt,
      };
    };
    const { name, file } = this.#present.model;
    const present = hasText(this.#present.model);
    const others = offers.filter(({ names }) => !equalName(names[0] ?? '', name));
    const first = present ? [entry(name, file?.path)] : [];
    return [...first, ...others.map(({ names, path }) => entry(names[0] ?? '', path))];
  }

  /** One after the other. Resolves when the new one is there, or the old one is again. */
  async swapTo(model: PreparedModel): Promise<void> {
    while (this.#swap) await this.#swap.over;
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

  async #exchange(coming: Occupied, arriving: Arriving): Promise<void> {
    const { registry, say } = this.parts;
    const { model } = coming;
    const before = this.#present;
    await empty(before);
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
    await empty(closed);
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
    const known = this.#roomOf(name) ?? this.#nicknamed(name);
    if (known) return enter(known);
    return (await this.#offerOf(name)) ? this.#named(name, signal) : enter(this.#present);
  }

  async #unnamed(signal: AbortSignal | undefined): Promise<Entered> {
    while (this.#swap && !this.#swap.coming) await this.#swapOver(signal);
    return enter(this.#swap?.coming ?? this.#present);
  }

  async #named(name: string, signal: AbortSignal | undefined): Promise<Entered> {
    while (this.#leaves(name)) await this.#swapOver(signal);
    const known = this.#open(name);
    if (known) return enter(known);
    const offer = await this.#offerOf(name);
    const own = offer?.names[0] ?? this.#nicknamed(name)?.model.name;
    if (own === undefined) throw new AppError('model-not-found', { model: name });
    while (this.#leaves(own)) await this.#swapOver(signal);
    const there = this.#open(own);
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
    const offers = await this.#offers();
    const by = (same: typeof sameName) => offers.find(({ names }) => names.some((one) => same(one, name)));
    return by(equalName) ?? by(sameName);
  }

  async #offers(): Promise<readonly Offer[]> {
    return (await this.parts.offers?.()) ?? [];
  }

  /** Once for all who ask for it at the same time. */
  #prepare(name: string, offer: Offer): Promise<PreparedModel> {
    const preparing = this.#preparing.get(name) ?? offer.prepare().finally(() => this.#preparing.delete(name));
    this.#preparing.set(name, preparing);
    return preparing;
  }

  /** However it ends. What was true before may not be after it: whoever waits has to look again. */
  #swapOver(signal: AbortSignal | undefined): Promise<void> {
    return orGone(this.#swap?.over ?? Promise.resolve(), signal);
  }

  /** Whether a swap closes the room of this name, and brings none that has it. */
  #leaves(name: string): boolean {
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
    return [...this.#rooms.values()].find(({ model }) => equalName(model.name, name));
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
    if (names === 'own-name') return name;
    return this.#roomOf(name) || this.#nicknamed(name) || (await this.#offerOf(name)) ? name : undefined;
  }

  #furnish(model: PreparedModel, room: Room): Occupied {
    const furnished = occupied(model, room);
    this.#rooms.set(model.name, furnished);
    return furnished;
  }
}

function occupied(model: PreparedModel, room: Room): Occupied {
  return { model, room, guests: 0, emptied: undefined, givenUp: false };
}

function enter(entered: Occupied): Entered {
  entered.guests += 1;
  let left = false;
  return {
    room: entered.room,
    givenUp: () => entered.givenUp,
    leave: () => {
      if (left) return;
      left = true;
      entered.guests -= 1;
      if (entered.guests === 0) entered.emptied?.();
    },
  };
}

function empty(left: Occupied): Promise<void> {
  if (left.guests === 0) return Promise.resolve();
  return new Promise((resolve) => {
    left.emptied = resolve;
  });
}
