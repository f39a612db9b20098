const stateSize = 624;
const shiftSize = 397;

/** The 32-bit Mersenne Twister (MT19937): the same seed gives the same draws on every machine. */
export class Random {
  readonly #state = new Uint32Array(stateSize);
  #position = stateSize;

  constructor(seed: number) {
    const state = this.#state;
    state[0] = seed;
    for (let index = 1; index < stateSize; index += 1) {
      const previous = state[index - 1] as number;
      state[index] = Math.imul(previous ^ (previous >>> 30), 1812433253) + index;
    }
  }

  /** A whole number from 0 to 2^32 - 1. */
  nextInteger(): number {
    if (this.#position === stateSize) this.#refill();
    let value = this.#state[this.#position] as number;
    this.#position += 1;
    value ^= value >>> 11;
    value ^= (value << 7) & 0x9d2c5680;
    value ^= (value << 15) & 0xefc60000;
    return (value ^ (value >>> 18)) >>> 0;
  }

  /** A number from 0 up to but not including 1. */
  next(): number {
    return this.nextInteger() / 0x100000000;
  }

  #refill(): void {
    const state = this.#state;
    for (let index = 0; index < stateSize; index += 1) {
      const joined =
        ((state[index] as number) & 0x80000000) | ((state[(index + 1) % stateSize] as number) & 0x7fffffff);
      const shifted = state[(index + shiftSize) % stateSize] as number;
      state[index] = shifted ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
    }
    this.#position = 0;
  }
}
