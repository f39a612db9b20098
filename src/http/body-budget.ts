/** Bytes of request bodies that are in memory together, from their first byte to the end of their response. */
export class BodyBudget {
  #used = 0;

  constructor(private readonly limit: number) {}

  /** The share of one request, which is empty at first. */
  open(): BodyShare {
    let own = 0;
    return {
      // A body that is alone may be larger: its own limit applies.
      take: (bytes) => {
        const isAlone = this.#used === own;
        if (!isAlone && this.#used + bytes > this.limit) return false;
        own += bytes;
        this.#used += bytes;
        return true;
      },
      release: () => {
        this.#used -= own;
        own = 0;
      },
    };
  }
}

interface BodyShare {
  /** False if the bodies of all requests together would exceed the limit. */
  take(bytes: number): boolean;
  release(): void;
}
