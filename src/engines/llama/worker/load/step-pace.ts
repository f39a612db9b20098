/** What a step may take at least, however fast the model is: others use the machine too. */
const leastMs = 8000;
/** A step this many times slower than the slowest of late does not end any more. */
const tolerance = 10;
/** A single slow step is forgotten after some hundred others. */
const memory = 0.99;

/**
 * How long a step of the model may take before it hangs. A small model has its tokens in milliseconds and a huge one on an old
 * machine in minutes; what is sound for this one here is learned from its own steps, of which the first warms it up.
 */
export class StepPace {
  #slowestRowMs = 0;

  boundMs(rows: number): number {
    return Math.max(leastMs, tolerance * rows * this.#slowestRowMs);
  }

  took(rows: number, milliseconds: number): void {
    this.#slowestRowMs = Math.max(this.#slowestRowMs * memory, milliseconds / Math.max(1, rows));
  }
}
