import { AppError } from '../core/errors.ts';

const maxFailures = 20;
const spanMs = 60_000;
const maxNetworks = 10_000;

/** Limits failed attempts (keys, passwords, tokens) per network: above the limit, attempts are refused until a minute after the first failure. */
export class AttemptLimit {
  readonly #failures = new Map<string, { count: number; readonly since: number }>();

  /** Monotonic milliseconds. */
  constructor(private readonly tick: () => number) {}

  /**
   * Throws above the limit, without an attempt. Only `unauthorized` and `invitation-unknown` count as failures. `isRight`: secrets that cannot
   * be guessed are accepted above the limit, too; otherwise one person could lock out all others of the network.
   */
  async run<Result>(
    address: string,
    attempt: () => Promise<Result>,
    isRight: () => Promise<boolean> = async () => false,
  ): Promise<Result> {
    const network = networkOf(address);
    const now = this.tick();
    const failures = this.#failures.get(network);
    if (failures && now - failures.since >= spanMs) this.#failures.delete(network);
    else if (failures && failures.count >= maxFailures && !(await isRight())) {
      const retryAfterSeconds = Math.max(1, Math.ceil((failures.since + spanMs - now) / 1000));
      throw new AppError('too-many-tries', { retryAfterSeconds });
    }
    try {
      return await attempt();
    } catch (error) {
      const isFailure = error instanceof AppError && ['unauthorized', 'invitation-unknown'].includes(error.code);
      if (isFailure) this.#count(network);
      throw error;
    }
  }

  #count(network: string): void {
    const failures = this.#failures.get(network);
    if (failures) failures.count += 1;
    else {
      if (this.#failures.size >= maxNetworks) this.#failures.clear();
      this.#failures.set(network, { count: 1, since: this.tick() });
    }
  }
}

/** One network has all IPv6 addresses that begin with the same 64 bits. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [front = ''] = address.split('::');
  return front.split(':').slice(0, 4).join(':');
}
