/** Grace period after the Retry-After time, because clients do not retry to the second. */
const graceMs = 30_000;
/** More than any queue's capacity; beyond it, only the last refused clients are remembered. */
const remembered = 64;

/** Clients that were refused while they had no request here. One place is reserved for each until it retries or the time is over. */
export class ExpectedClients {
  readonly #until = new Map<string, number>();

  refused(client: string, retryAfterSeconds: number, now: number): void {
    this.#until.delete(client);
    this.#until.set(client, now + retryAfterSeconds * 1000 + graceMs);
    const [oldest] = this.#until.keys();
    if (this.#until.size > remembered && oldest !== undefined) this.#until.delete(oldest);
  }

  arrived(client: string): void {
    this.#until.delete(client);
  }

  /** How many clients other than this one are expected. */
  others(client: string, now: number): number {
    for (const [name, until] of this.#until) if (until <= now) this.#until.delete(name);
    return this.#until.size - (this.#until.has(client) ? 1 : 0);
  }
}
