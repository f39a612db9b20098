/** Drops its oldest entries beyond a number of entries or bytes. The newest entry always stays. */
export class BoundedMap<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly bytes: number }>();
  #bytes = 0;

  constructor(
    private readonly most: { readonly entries: number; readonly bytes: number },
    private readonly onRemoved: (value: Value) => void = () => undefined,
  ) {}

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Oldest first. */
  entries(): (readonly [string, Value])[] {
    return [...this.#entries].map(([key, { value }]) => [key, value]);
  }

  set(key: string, value: Value, bytes: number): void {
    this.delete(key);
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (oldest === key || (this.size <= this.most.entries && this.#bytes <= this.most.bytes)) return;
      this.delete(oldest);
    }
  }

  delete(key: string): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return false;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    this.onRemoved(entry.value);
    return true;
  }
}
