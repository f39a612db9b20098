import { heapShare } from '../core/heap-share.ts';
import type { Owner } from '../core/owner.ts';
import { BoundedMap } from './bounded-map.ts';

/** JSON values in memory, by owner and key; the oldest of the owner who has the most are dropped first. */
export class OwnedCache<Value> {
  readonly #entries: BoundedMap<Value>;

  constructor(most = { entries: 200, bytes: heapShare(16 * 2 ** 20) }) {
    this.#entries = new BoundedMap(most);
  }

  get(owner: Owner, key: string): Value | undefined {
    return this.#entries.get(`${owner}\n${key}`);
  }

  set(owner: Owner, key: string, value: Value): void {
    this.#entries.set(`${owner}\n${key}`, value, Buffer.byteLength(JSON.stringify(value)), owner);
  }
}
