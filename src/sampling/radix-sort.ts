import { orderKey } from './border.ts';

const digitBits = [0, 8, 16, 24] as const;

/** Sorts floats with their ids, highest first, equals in the order they came: four counting passes of eight bits. */
export class RadixSort {
  readonly #keys: [Int32Array, Int32Array];
  readonly #ids: Int32Array;
  readonly #counts = new Int32Array(256);

  constructor(capacity: number) {
    this.#keys = [new Int32Array(capacity), new Int32Array(capacity)];
    this.#ids = new Int32Array(capacity);
  }

  /** `bits` are the floats read as whole numbers. Both arrays are put in order in place. */
  sort(bits: Int32Array, ids: Int32Array, size: number): void {
    let [keys, nextKeys] = this.#keys;
    let currentIds = ids;
    let nextIds = this.#ids;
    const counts = this.#counts;
    // Turned over, so that rising keys mean falling floats; read without a sign in the passes.
    for (let index = 0; index < size; index += 1) keys[index] = ~orderKey(bits[index] as number) ^ 0x80000000;
    for (const shift of digitBits) {
      counts.fill(0);
      for (let index = 0; index < size; index += 1) {
        const digit = ((keys[index] as number) >>> shift) & 255;
        counts[digit] = (counts[digit] as number) + 1;
      }
      if (size > 0 && counts[((keys[0] as number) >>> shift) & 255] === size) continue;
      let start = 0;
      for (let digit = 0; digit < 256; digit += 1) {
        const count = counts[digit] as number;
        counts[digit] = start;
        start += count;
      }
      for (let index = 0; index < size; index += 1) {
        const key = keys[index] as number;
        const digit = (key >>> shift) & 255;
        const place = counts[digit] as number;
        counts[digit] = place + 1;
        nextKeys[place] = key;
        nextIds[place] = currentIds[index] as number;
      }
      [keys, nextKeys] = [nextKeys, keys];
      [currentIds, nextIds] = [nextIds, currentIds];
    }
    // The key of a float is its own inverse but for the sign of zero, which nothing tells apart.
    for (let index = 0; index < size; index += 1) bits[index] = orderKey(~((keys[index] as number) ^ 0x80000000));
    if (currentIds !== ids) for (let index = 0; index < size; index += 1) ids[index] = currentIds[index] as number;
  }
}
