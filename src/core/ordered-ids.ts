import { randomBytes } from 'node:crypto';

/** 96 random bits: nobody finds an id by trying. */
const randomHex = (): string => randomBytes(12).toString('hex');

/**
 * Ids that begin with the time of their creation: in alphabetical order they are in the order of creation, so that a page of a list can
 * begin after an entry that is gone. Within one process no two have the same time.
 */
export class OrderedIds {
  #last = 0;

  constructor(
    /** Milliseconds since 1970. */
    private readonly now: () => number,
    private readonly random: () => string = randomHex,
  ) {}

  next(prefix: string): string {
    this.#last = Math.max(this.now(), this.#last + 1);
    return `${prefix}${this.#last.toString(16).padStart(12, '0')}${this.random()}`;
  }
}

/** What follows the prefix of such an id. */
export const orderedIdPattern = '[0-9a-f]{36}';
