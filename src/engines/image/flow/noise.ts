/** Normally distributed numbers that depend on the seed alone, one after the other. */
export class SeededNoise {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** Any whole number; also those beyond 32 bits differ from each other. */
  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32) >>> 0;
    this.#c = 0x9e3779b9;
    // Seeds that are near each other part only after some rounds.
    for (let round = 0; round < 16; round += 1) this.#bits();
  }

  take(count: number): Float32Array {
    const numbers = new Float32Array(count);
    for (let index = 0; index < count; index += 2) {
      const radius = Math.sqrt(-2 * Math.log(this.#uniform()));
      const angle = 2 * Math.PI * this.#uniform();
      numbers[index] = radius * Math.cos(angle);
      if (index + 1 < count) numbers[index + 1] = radius * Math.sin(angle);
    }
    return numbers;
  }

  /** Above 0 and at most 1. */
  #uniform(): number {
    return (this.#bits() + 1) / 2 ** 32;
  }

  /** The generator sfc32: small, fast, and good far beyond what a picture takes. */
  #bits(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }
}
