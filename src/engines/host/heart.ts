import { type Pulse, Stillness, stillMs } from './stall.ts';

/** What the server knows of the life of one process. */
export class Heart {
  #pulses = 0;
  #hung = false;
  #patienceMs = 0;
  readonly #silence = new Stillness();

  /** How long the step that it does may take. */
  get patienceMs(): number {
    return this.#patienceMs;
  }

  pulse({ hung, patienceMs }: Pulse): void {
    this.#pulses += 1;
    this.#hung = hung;
    this.#patienceMs = patienceMs;
  }

  /** Half a second has passed: whether it hangs. One that never gave a sign is not known to be able to. */
  tick(): boolean {
    const silentMs = this.#silence.tick(this.#pulses);
    return this.#hung || (this.#pulses > 0 && silentMs > stillMs);
  }
}
