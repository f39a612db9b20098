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

/** Responses in memory, the oldest dropped first. Items that several responses share count for each of them. */
export class ResponseStore {
  readonly #responses: BoundedMap<StoredResponse>;
  readonly #items = new Map<string, { readonly owner: string; readonly item: StoredItem }>();

  constructor(private readonly most = { responses: 500, bytes: 128 * 2 ** 20 }) {
    this.#responses = new BoundedMap({ entries: most.responses, bytes: most.bytes }, ({ id, input, output }) => {
      for (const item of [...input, ...output]) if (this.#items.get(item.id)?.owner === id) this.#items.delete(item.id);
    });
  }

  get size(): number {
    return this.#responses.size;
  }

  get bytes(): number {
    return this.#responses.bytes;
  }

  /** Replaces a response of the same id. False for one that is larger than the store; then nothing changes. */
  put(stored: StoredResponse): boolean {
    // The length as JSON approximates the memory: the texts are what is large.
    const bytes = Buffer.byteLength(JSON.stringify(stored));
    if (bytes > this.most.bytes || this.most.responses < 1) return false;
    this.#responses.set(stored.id, stored, bytes);
    for (const item of [...stored.input, ...stored.output]) this.#items.set(item.id, { owner: stored.id, item });
    return true;
  }

  get(id: string): StoredResponse | undefined {
    return this.#responses.get(id);
  }

  /** An input or output item of a stored response. */
  item(id: string): StoredItem | undefined {
    return this.#items.get(id)?.item;
  }

  delete(id: string): boolean {
    return this.#responses.delete(id);
  }
}
