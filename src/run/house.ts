import { AppError } from '../core/errors.ts';
import type { ListedModel } from '../core/models-view.ts';
import { orGone } from '../core/or-gone.ts';
import type { Call, Endpoint } from '../http/call.ts';
import type { Registry } from '../registry/registry.ts';
import { displayName } from './engine.ts';
import type { ModelKinds } from './kinds.ts';
import { equalName, namedModel, sameName } from './named-model.ts';
import { recipesOf } from './other-models.ts';
import type { PreparedModel } from './prepared-model.ts';
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
  readonly openRoom: (model: PreparedModel) => Room;
  /** Offers by name (`--routermode`), asked anew each time: files come and go. */
  readonly offers?: () => Promise<readonly Offer[]>;
  readonly say: (line: string) => void;
}

/** While it lasts, nobody comes in to those who take part. */
interface Swap {
  readonly names: readonly string[];
  readonly over: Promise<void>;
}

interface Occupied {
  readonly model: PreparedModel;
  readonly room: Room;
  guests: number;
  emptied: (() => void) | undefined;
}

/**
 * All models under one roof. Each has a room of its own; calls enter the one that they name, or the present one. A swap lets
 * those who are in finish, keeps newcomers waiting at the door meanwhile, and goes back where the new one cannot be loaded.
 */
export class House {
  readonly #rooms = new Map<string, Occupied>();
  #present: Occupied;
  #swap: Swap | undefined;
  readonly #preparing = new Map<string, Promise<PreparedModel>>();
  #known: readonly Offer[] = [];

  constructor(
    initial: { readonly model: PreparedModel; readonly room: Room },
    private readonly parts: HouseParts,
  ) {
    this.#present = this.#furnish(initial.model, initial.room);
  }

  get present(): PreparedModel {
    return this.#present.model;
  }

  async choose(call: Call, endpoint: Pick<Endpoint, 'queued'>): Promise<Entered> {
    const name = this.parts.offers ? await namedModel(call) : undefined;
    // Who only looks is answered at once, by what is there.
    if (!endpoint.queued) return this.#lookIn(name, call.signal);
    if (name !== undefined) return this.#named(name, call.signal);
    while (this.#swap) await orGone(this.#swapOver(), call.signal);
    return enter(this.#present);
  }

  /** The present one first. */
  list(): readonly ListedModel[] {
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
    const others = this.#known.filter(({ names }) => !equalName(names[0] ?? '', name));
    const first = file ? [entry(name, file.path)] : [];
    return [...first, ...others.map(({ names, path }) => entry(names[0] ?? '', path))];
  }

  /** Looks at what there is, so that the next list tells it. */
  async look(): Promise<void> {
    if (this.parts.offers) this.#known = await this.parts.offers();
  }

  /** One after the other. Resolves when the new one is there, or the old one is again. */
  async swapTo(model: PreparedModel): Promise<void> {
    while (this.#swap) await this.#swap.over;
    const work = this.#exchange(model).finally(() => {
      this.#swap = undefined;
    });
    this.#swap = { names: [this.present.name, model.name], over: work.catch(() => undefined) };
    await work;
  }

  async #exchange(model: PreparedModel): Promise<void> {
    const { registry, say } = this.parts;
    const before = this.#present;
    const room = this.parts.openRoom(model);
    await empty(before);
    const namesake = this.#rooms.get(model.name);
    if (namesake && namesake !== before) await this.#close(namesake);
    await registry.remove('text', before.model.name);
    const error = await this.#load(model);
    if (error === undefined) {
      this.#rooms.delete(before.model.name);
      this.#present = this.#furnish(model, room);
      await this.#dismissOthers(before.model);
      return;
    }
    await registry.remove('text', model.name);
    say(`${model.name} could not be loaded: ${error}. Going back to ${before.model.name}.`);
    const again = await this.#load(before.model);
    if (again !== undefined) say(`${before.model.name} could not be loaded again: ${again}`);
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
  async #close(occupied: Occupied): Promise<void> {
    await empty(occupied);
    this.#rooms.delete(occupied.model.name);
    await this.parts.registry.remove('text', occupied.model.name);
  }

  /** The reason why it cannot be there; undefined when it is. */
  async #load({ file, recipe, name }: PreparedModel): Promise<string | undefined> {
    if (!file) return undefined;
    this.parts.registry.add(recipe);
    return this.parts.registry.load('text', name).then(
      () => undefined,
      (thrown: unknown) => (thrown instanceof AppError ? thrown.message : String(thrown)),
    );
  }

  /** A name that nobody has is the endpoint's to speak of. */
  async #lookIn(name: string | undefined, signal: AbortSignal): Promise<Entered> {
    if (name === undefined) return enter(this.#present);
    const known = this.#roomOf(name) ?? this.#nicknamed(name);
    if (known) return enter(known);
    return (await this.#offerOf(name)) ? this.#named(name, signal) : enter(this.#present);
  }

  async #named(name: string, signal: AbortSignal): Promise<Entered> {
    while (this.#isSwapped(name)) await orGone(this.#swapOver(), signal);
    const known = this.#roomOf(name);
    if (known) return enter(known);
    const offer = await this.#offerOf(name);
    const own = offer?.names[0] ?? this.#nicknamed(name)?.model.name;
    if (own === undefined) throw new AppError('model-not-found', { model: name });
    while (this.#isSwapped(own)) await orGone(this.#swapOver(), signal);
    const there = this.#roomOf(own);
    if (there) return enter(there);
    // It has been swapped for another one meanwhile.
    if (!offer) throw new AppError('model-not-found', { model: name });
    const model = await this.#prepare(own, offer);
    while (this.#isSwapped(model.name)) await orGone(this.#swapOver(), signal);
    // Somebody else may have asked for it meanwhile.
    return enter(this.#roomOf(model.name) ?? this.#opened(model));
  }

  #opened(model: PreparedModel): Occupied {
    const room = this.parts.openRoom(model);
    this.parts.registry.add(model.recipe);
    return this.#furnish(model, room);
  }

  async #offerOf(name: string): Promise<Offer | undefined> {
    await this.look();
    const by = (same: typeof sameName) => this.#known.find(({ names }) => names.some((one) => same(one, name)));
    return by(equalName) ?? by(sameName);
  }

  /** Once for all who ask for it at the same time. */
  #prepare(name: string, offer: Offer): Promise<PreparedModel> {
    const preparing = this.#preparing.get(name) ?? offer.prepare().finally(() => this.#preparing.delete(name));
    this.#preparing.set(name, preparing);
    return preparing;
  }

  /** However it ends. */
  #swapOver(): Promise<void> {
    return Promise.resolve(this.#swap?.over).catch(() => undefined);
  }

  #isSwapped(name: string): boolean {
    return this.#swap?.names.some((one) => equalName(one, name)) ?? false;
  }

  #roomOf(name: string): Occupied | undefined {
    return [...this.#rooms.values()].find(({ model }) => equalName(model.name, name));
  }

  /** Models are also known by their files and by the name that the horde has for them, where nobody else has it. */
  #nicknamed(name: string): Occupied | undefined {
    return [this.#present, ...this.#rooms.values()].find(({ model }) => {
      const { file, settings } = model;
      const nicknames = [model.name, file && displayName(file.path), settings.hordemodelname];
      return nicknames.some((one) => one && sameName(one, name));
    });
  }

  #furnish(model: PreparedModel, room: Room): Occupied {
    const occupied: Occupied = { model, room, guests: 0, emptied: undefined };
    this.#rooms.set(model.name, occupied);
    return occupied;
  }
}

function enter(occupied: Occupied): Entered {
  occupied.guests += 1;
  let left = false;
  return {
    room: occupied.room,
    leave: () => {
      if (left) return;
      left = true;
      occupied.guests -= 1;
      if (occupied.guests === 0) occupied.emptied?.();
    },
  };
}

function empty(occupied: Occupied): Promise<void> {
  if (occupied.guests === 0) return Promise.resolve();
  return new Promise((resolve) => {
    occupied.emptied = resolve;
  });
}
