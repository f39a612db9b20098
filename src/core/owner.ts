/**
 * Who owns what a request leaves on the server: the key of `--keyfile` that was sent, by its name. All others (the holders of the
 * password, everybody where there are no keys) are one owner.
 */
export type Owner = string;

/** The owner without a key of `--keyfile`. */
export const noKey: Owner = 'no key';

export function ownerOf({ key }: { readonly key?: { readonly name: string } | undefined }): Owner {
  return key ? `key ${key.name}` : noKey;
}

/** Who sends a request, as far as its libraries are concerned. */
export interface Sender {
  readonly key?: { readonly name: string; readonly shared?: boolean } | undefined;
}

/**
 * Whose library (saved stories, chats, settings) a request uses: its key's own, or the common one, that of requests without a key and of
 * shared keys. Keys that were made before there was a choice use the common one, as they did then.
 */
export function libraryOf({ key }: Sender): Owner {
  return key?.shared === false ? ownerOf({ key }) : noKey;
}

/** A sender whose library this is. */
export function senderOf(library: Owner): Sender {
  return library === noKey ? {} : { key: { name: library.replace(/^key /, ''), shared: false } };
}

/** A store for each library, made on first use. */
export class Libraries<Store> {
  readonly #stores = new Map<Owner, Store>();

  constructor(private readonly make: (library: Owner) => Store) {}

  of(sender: Sender): Store {
    const library = libraryOf(sender);
    const store = this.#stores.get(library) ?? this.make(library);
    this.#stores.set(library, store);
    return store;
  }

  /** Its store is opened anew when it is used again. */
  forget(library: Owner): void {
    this.#stores.delete(library);
  }
}

/** Libraries that are opened somewhere else. */
export type LibrariesOf<Store> = Pick<Libraries<Store>, 'of'>;

/** An entry of a store that several owners share. */
interface OwnedEntry {
  readonly owner: Owner;
  /** Its share of the limit: 1 where entries are counted, or its bytes. */
  readonly size: number;
  /** Whether it may be dropped now. */
  readonly droppable: boolean;
}

/**
 * Which of these entries, the oldest first, to drop for one of `newcomer`: the oldest of the owner who has the most. Undefined if that
 * would take from somebody who has less than the newcomer. Sizes of the newcomer's entry are included by the caller.
 */
export function entryToDrop<Entry extends OwnedEntry>(entries: readonly Entry[], newcomer: Owner): Entry | undefined {
  const sizes = new Map<Owner, number>();
  for (const { owner, size } of entries) sizes.set(owner, (sizes.get(owner) ?? 0) + size);
  const held = (owner: Owner): number => sizes.get(owner) ?? 0;
  let chosen: Entry | undefined;
  for (const entry of entries) {
    if (!entry.droppable || held(entry.owner) < held(newcomer)) continue;
    const isLarger = !chosen || held(entry.owner) > held(chosen.owner);
    // Between equals the newcomer makes its own room.
    const isOwn =
      chosen?.owner !== newcomer && entry.owner === newcomer && held(newcomer) === held(chosen?.owner ?? '');
    if (isLarger || isOwn) chosen = entry;
  }
  return chosen;
}

/**
 * The client of a request, for the queue and for finding requests again: the key of `--keyfile`, or else the address alone,
 * because a client can send another text as its key with each request.
 */
export function clientName(remoteAddress: string, key: { readonly name: string } | undefined): string {
  return key ? `key ${key.name}` : `address ${remoteAddress}`;
}

/**
 * Whether a client may see and stop a request, whatever genkey it guesses: one of a key of `--keyfile` is seen by that key only. All
 * others see each other's.
 */
export function maySee(client: string, request: { readonly client: string }): boolean {
  return client === request.client || !(isOfKey(client) || isOfKey(request.client));
}

const isOfKey = (client: string): boolean => client.startsWith('key ');
