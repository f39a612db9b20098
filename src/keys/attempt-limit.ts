import { AppError } from '../core/errors.ts';

const maxTries = 20;
const spanMs = 60_000;
const maxNetworks = 10_000;

/** Bounds the wrong keys, passwords and tokens of one network: further tries are refused until a minute after the first. */
export class AttemptLimit {
  readonly #wrong = new Map<string, { count: number; readonly since: number }>();

  /** Monotonic milliseconds. */
  constructor(private readonly tick: () => number) {}

  /**
   * Throws above the bound, without trying. A try counts if it throws `unauthorized` or `invitation-unknown`. `isRight` lets in, also above the bound,
   * what cannot be guessed: otherwise one person could lock out all others of the network.
   */
  async run<Result>(
    address: string,
    attempt: () => Promise<Result>,
    isRight: () => Promise<boolean> = async () => false,
  ): Promise<Result> {
    const network = networkOf(address);
    const now = this.tick();
    const wrong = this.#wrong.get(network);
    if (wrong && now - wrong.since >= spanMs) this.#wrong.delete(network);
    else if (wrong && wrong.count >= maxTries && !(await isRight())) {
      const retryAfterSeconds = Math.max(1, Math.ceil((wrong.since + spanMs - now) / 1000));
      throw new AppError('too-many-tries', { retryAfterSeconds });
    }
    try {
      return await attempt();
    } catch (error) {
      const isWrong = error instanceof AppError && ['unauthorized', 'invitation-unknown'].includes(error.code);
      if (isWrong) this.#count(network);
      throw error;
    }
  }

  #count(network: string): void {
    const wrong = this.#wrong.get(network);
    if (wrong) wrong.count += 1;
    else {
      if (this.#wrong.size >= maxNetworks) this.#wrong.clear();
      this.#wrong.set(network, { count: 1, since: this.tick() });
    }
  }
}

/** One network has all IPv6 addresses that begin with the same 64 bits. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [front = ''] = address.split('::');
  return front.split(':').slice(0, 4).join(':');
}
