import { entryToDrop, noKey, type Owner } from '../core/owner.ts';

interface Stored<Value> {
  readonly value: Value;
  readonly bytes: number;
  readonly owner: Owner;
}

/** Drops entries beyond a number of entries or bytes: the oldest of the owner who has the most. The newest entry always stays. */
export class BoundedMap<Value> {
  readonly #entries = new Map<string, Stored<Value>>();
  #bytes = 0;

  constructor(
    private readonly limits: { readonly entries: number; readonly bytes: number },
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

  /** Those of one owner. */
  entriesOf(owner: Owner): (readonly [string, Value])[] {
    return [...this.#entries].flatMap(([key, entry]) => (entry.owner === owner ? [[key, entry.value] as const] : []));
  }

  set(key: string, value: Value, bytes: number, owner: Owner = noKey): void {
    this.delete(key);
    this.#entries.set(key, { value, bytes, owner });
    this.#bytes += bytes;
    while (this.size > 1 && (this.size > this.limits.entries || this.#bytes > this.limits.bytes)) {
      this.delete(this.#keyToDrop(key, owner));
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

  deleteOf(owner: Owner): void {
    for (const [key] of this.entriesOf(owner)) this.delete(key);
  }

  /** Own entries first where others have less; an owner whose only entry is the newest takes from others. */
  #keyToDrop(newest: string, newcomer: Owner): string {
    const counted = this.size > this.limits.entries;
    const entries = [...this.#entries].map(([key, { bytes, owner }]) => {
      return { key, owner, size: counted ? 1 : bytes, droppable: key !== newest };
    });
    return (entryToDrop(entries, newcomer) ?? entryToDrop(entries, ''))?.key ?? newest;
  }
}
