/** An item of a conversation as it stands on the wire; everything that is kept has an id by which it can be named again. */
export interface StoredItem {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** An answered request: what a client may fetch again, and what the next request of the same conversation goes on from. */
export interface StoredResponse {
  readonly id: string;
  /** The object that the client was given. */
  readonly response: Readonly<Record<string, unknown>>;
  /** What came before this request in its conversation: kept here too, so that it outlives the responses it came from. */
  readonly context: readonly StoredItem[];
  readonly input: readonly StoredItem[];
  readonly output: readonly StoredItem[];
}

export interface ResponseLimits {
  readonly responses: number;
  readonly bytes: number;
}

const defaultResponseLimits: ResponseLimits = { responses: 500, bytes: 128 * 1024 * 1024 };

interface Kept {
  readonly stored: StoredResponse;
  readonly bytes: number;
}

/**
 * Responses in memory, the oldest dropped first. What several responses share is counted for each of them, so that the
 * bound holds whatever is dropped.
 */
export class ResponseStore {
  readonly #limits: ResponseLimits;
  /** In the order they were put, which is what a map keeps. */
  readonly #kept = new Map<string, Kept>();
  readonly #items = new Map<string, { readonly owner: string; readonly item: StoredItem }>();
  #bytes = 0;

  constructor(limits: ResponseLimits = defaultResponseLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#kept.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes the place of one with the same id. False when it is larger than all that may be kept; then nothing changes. */
  put(stored: StoredResponse): boolean {
    const bytes = sizeOf(stored);
    if (bytes > this.#limits.bytes || this.#limits.responses < 1) return false;
    this.delete(stored.id);
    this.#kept.set(stored.id, { stored, bytes });
    this.#bytes += bytes;
    for (const item of itemsOf(stored)) this.#items.set(item.id, { owner: stored.id, item });
    while (this.#kept.size > this.#limits.responses || this.#bytes > this.#limits.bytes) this.#dropOldest();
    return true;
  }

  get(id: string): StoredResponse | undefined {
    return this.#kept.get(id)?.stored;
  }

  /** An item that went into a kept response or came out of it. */
  item(id: string): StoredItem | undefined {
    return this.#items.get(id)?.item;
  }

  delete(id: string): boolean {
    const kept = this.#kept.get(id);
    if (!kept) return false;
    this.#kept.delete(id);
    this.#bytes -= kept.bytes;
    for (const item of itemsOf(kept.stored)) if (this.#items.get(item.id)?.owner === id) this.#items.delete(item.id);
    return true;
  }

  #dropOldest(): void {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined) this.delete(oldest);
  }
}

function itemsOf({ input, output }: StoredResponse): readonly StoredItem[] {
  return [...input, ...output];
}

/** The length as JSON stands for the memory: the texts are what is large. */
function sizeOf(stored: StoredResponse): number {
  return Buffer.byteLength(JSON.stringify(stored));
}
