/** How long after the time that it was told somebody may still come: people and programs do not come on the second. */
const graceMs = 30_000;
/** More than any queue has places; of more, those who were sent away last are remembered. */
const remembered = 64;

/** The clients that were sent away with nothing here: until they have come again, or for a while, a place is kept for each. */
export class ExpectedClients {
  readonly #until = new Map<string, number>();

  sentAway(client: string, retryAfterSeconds: number, now: number): void {
    this.#until.delete(client);
    this.#until.set(client, now + retryAfterSeconds * 1000 + graceMs);
    const [oldest] = this.#until.keys();
    if (this.#until.size > remembered && oldest !== undefined) this.#until.delete(oldest);
  }

  arrived(client: string): void {
    this.#until.delete(client);
  }

  /** How many are expected besides this one. */
  others(client: string, now: number): number {
    for (const [name, until] of this.#until) if (until <= now) this.#until.delete(name);
    return this.#until.size - (this.#until.has(client) ? 1 : 0);
  }
}
