/** Weight of the earlier measurements relative to a new one. */
const decay = 0.8;

/** How long something takes per unit, from measurements of which earlier ones count less and less. */
export class MeasuredRate {
  #amount: number;
  #milliseconds: number;

  /** `first` is assumed until it is measured. */
  constructor(first = { amount: 0, milliseconds: 0 }) {
    this.#amount = first.amount;
    this.#milliseconds = first.milliseconds;
  }

  add(amount: number, milliseconds: number): void {
    if (amount === 0) return;
    this.#amount = decay * this.#amount + amount;
    this.#milliseconds = decay * this.#milliseconds + Math.max(0, milliseconds);
  }

  /** Milliseconds per unit; undefined before the first measurement. */
  get msPerUnit(): number | undefined {
    return this.#amount === 0 ? undefined : this.#milliseconds / this.#amount;
  }
}
