import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(4096);
let used = pool.length;

/** Random bytes in hexadecimal digits, for ids. Each call to the system fills a pool, because it costs more than the bytes. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}

/**
 * Ids that begin with the time of their creation: in alphabetical order they are in the order of creation, so that a page of a list can
 * begin after an entry that is gone. Within one process no two have the same time.
 */
export class OrderedIds {
  #last = 0;

  constructor(
    /** Milliseconds since 1970. */
    private readonly now: () => number,
    /** 96 bits by default: an id cannot be found by trying. */
    private readonly random: () => string = () => randomHex(12),
  ) {}

  next(prefix: string): string {
    this.#last = Math.max(this.now(), this.#last + 1);
    return `${prefix}${this.#last.toString(16).padStart(12, '0')}${this.random()}`;
  }
}

/** What follows the prefix of such an id. */
export const orderedIdPattern = '[0-9a-f]{36}';
