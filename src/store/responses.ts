import { heapShare } from '../core/memory.ts';
import type { Owner } from '../core/owner.ts';
import { BoundedMap } from './bounded-map.ts';

/** An item of a conversation in its wire format. Its id can be referenced by later requests. */
export interface StoredItem {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A response that can be fetched again or continued by a later request. */
export interface StoredResponse {
  readonly id: string;
  /** The object that the client was given. */
  readonly response: Readonly<Record<string, unknown>>;
  /** The conversation before this request: copied, so that it outlives earlier responses. */
  readonly context: readonly StoredItem[];
  readonly input: readonly StoredItem[];
  readonly output: readonly StoredItem[];
}

/** The responses of one owner. */
export interface OwnResponses {
  /** Replaces a response of the same id. False for one that is larger than the store; then nothing changes. */
  put(stored: StoredResponse): boolean;
  get(id: string): StoredResponse | undefined;
  /** An input or output item of a stored response. */
  item(id: string): StoredItem | undefined;
  delete(id: string): boolean;
}

interface Entry {
  readonly owner: Owner;
  readonly stored: StoredResponse;
}

/**
 * Responses in memory; the oldest of the owner who has the most are dropped first. Items that several responses share count for each
 * of them. Ids of items are chosen by clients: they are found by their owner only.
 */
export class ResponseStore {
  readonly #responses: BoundedMap<Entry>;
  readonly #items = new Map<string, { readonly response: string; readonly item: StoredItem }>();

  constructor(private readonly limits = { responses: 500, bytes: heapShare(128 * 2 ** 20) }) {
    this.#responses = new BoundedMap({ entries: limits.responses, bytes: limits.bytes }, ({ owner, stored }) => {
      for (const { id } of [...stored.input, ...stored.output]) {
        const key = keyOf(owner, id);
        if (this.#items.get(key)?.response === stored.id) this.#items.delete(key);
      }
    });
  }

  get size(): number {
    return this.#responses.size;
  }

  get bytes(): number {
    return this.#responses.bytes;
  }

  of(owner: Owner): OwnResponses {
    return {
      put: (stored) => this.#put(owner, stored),
      get: (id) => this.#responses.get(keyOf(owner, id))?.stored,
      item: (id) => this.#items.get(keyOf(owner, id))?.item,
      delete: (id) => this.#responses.delete(keyOf(owner, id)),
    };
  }

  /** All of one owner. */
  list(owner: Owner): readonly StoredResponse[] {
    return this.#responses.entriesOf(owner).map(([, { stored }]) => stored);
  }

  #put(owner: Owner, stored: StoredResponse): boolean {
    // The length as JSON approximates the memory: the texts are what is large.
    const bytes = Buffer.byteLength(JSON.stringify(stored));
    if (bytes > this.limits.bytes || this.limits.responses < 1) return false;
    this.#responses.set(keyOf(owner, stored.id), { owner, stored }, bytes, owner);
    for (const item of [...stored.input, ...stored.output]) {
      this.#items.set(keyOf(owner, item.id), { response: stored.id, item });
    }
    return true;
  }
}

/** No name of a key has a line break. */
function keyOf(owner: Owner, id: string): string {
  return `${owner}\n${id}`;
}
