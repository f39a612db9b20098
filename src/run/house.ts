import { AppError } from '../core/errors.ts';
import { findExactly, findNamed } from '../core/model-names.ts';
import type { ListedModel, ModelsView } from '../core/models-view.ts';
import type { Call, Endpoint } from '../http/call.ts';
import type { Registry } from '../registry/registry.ts';
import type { TextKinds } from './kept-text.ts';
import { namedModel } from './named-model.ts';
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
  readonly registry: Registry<TextKinds>;
  readonly openRoom: (model: PreparedModel) => Room;
  /** Offers by name (`--routermode`), asked anew each time: files come and go. */
  readonly offers?: () => Promise<readonly Offer[]>;
  readonly say: (line: string) => void;
  readonly swap?: ModelsView['swap'];
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
  #swap: Promise<void> | undefined;
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
    // Who only looks is answered at once, by what is there.
    if (!endpoint.queued) return enter(this.#present);
    const name = this.parts.offers ? await namedModel(call) : undefined;
    if (name !== undefined) return enter(await this.#named(name));
    while (this.#swap) await orGone(this.#swap, call.signal);
    return enter(this.#present);
  }

  /** The present one first. */
  list(): readonly ListedModel[] {
    const listed = this.parts.registry.list();
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
    const others = this.#known.filter(({ names }) => names[0] !== name);
    const first = file ? [entry(name, file.path)] : [];
    return [...first, ...others.map(({ names, path }) => entry(names[0] ?? '', path))];
  }

  /** Looks at what there is, so that the next list tells it. */
  async look(): Promise<void> {
    if (this.parts.offers) this.#known = await this.parts.offers();
  }

  /** One after the other. Resolves when the new one is there, or the old one is again. */
  async swapTo(model: PreparedModel): Promise<void> {
    while (this.#swap) await this.#swap;
    this.#swap = this.#exchange(model).finally(() => {
      this.#swap = undefined;
    });
    await this.#swap;
  }

  async #exchange(model: PreparedModel): Promise<void> {
    const { registry, say } = this.parts;
    const before = this.#present;
    await empty(before);
    await registry.remove('text', before.model.name);
    const error = await this.#load(model);
    if (error === undefined) {
      this.#rooms.delete(before.model.name);
      this.#present = this.#furnish(model, this.parts.openRoom(model));
      return;
    }
    await registry.remove('text', model.name);
    say(`${model.name} could not be loaded: ${error}. Going back to ${before.model.name}.`);
    const again = await this.#load(before.model);
    if (again !== undefined) say(`${before.model.name} could not be loaded again: ${again}`);
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

  async #named(name: string): Promise<Occupied> {
    const known = findExactly([...this.#rooms.values()], answersTo, name);
    if (known) return known;
    await this.look();
    const offer = findNamed(this.#known, ({ names }) => names, name);
    const own = offer ? this.#rooms.get(offer.names[0] ?? '') : findNamed([...this.#rooms.values()], answersTo, name);
    if (own) return own;
    if (!offer) throw new AppError('model-not-found', { model: name });
    const model = await offer.prepare();
    // Somebody else may have asked for it meanwhile.
    const there = this.#rooms.get(model.name);
    if (there) return there;
    this.parts.registry.add(model.recipe);
    return this.#furnish(model, this.parts.openRoom(model));
  }

  #furnish(model: PreparedModel, room: Room): Occupied {
    const occupied: Occupied = { model, room, guests: 0, emptied: undefined };
    this.#rooms.set(model.name, occupied);
    return occupied;
  }
}

/** Its own name, and the one that the lists show in its place. */
function answersTo({ model }: Occupied): readonly string[] {
  const { hordemodelname } = model.settings;
  return hordemodelname === '' ? [model.name] : [model.name, hordemodelname, `debug-${hordemodelname}`];
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

function orGone(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(signal.reason);
    if (signal.aborted) return gone();
    signal.addEventListener('abort', gone, { once: true });
    void work.then(resolve, resolve).finally(() => signal.removeEventListener('abort', gone));
  });
}
