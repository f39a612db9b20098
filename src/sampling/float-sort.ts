/** The bits of a float as an integer with the same order; both zeros are equal. */
function orderKey(bits: number): number {
  if (bits === -0x80000000) return 0;
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

const binCount = 2048;
/** Eleven, eleven and ten bits of the key, highest first. */
const levels = [
  { shift: 21, mask: 2047 },
  { shift: 10, mask: 2047 },
  { shift: 0, mask: 1023 },
] as const;

/** Finds the float at a given rank without sorting: counts keys by their leading bits, then examines only the bin of the rank. */
export class BorderSearch {
  readonly #left: Int32Array;
  readonly #bins = new Int32Array(binCount);
  readonly #float = new Float32Array(1);
  readonly #floatBits = new Int32Array(this.#float.buffer);
  /** How many of the entries equal to the border are among the `rank` highest. */
  ties = 0;
  /** How many entries equal the border. */
  equals = 0;

  constructor(capacity: number) {
    this.#left = new Int32Array(capacity);
  }

  /** `bits` are those of the floats; `rank` counts from 1 (the highest) and is at most `size`. */
  search(bits: Int32Array, size: number, rank: number): number {
    const bins = this.#bins;
    let from = bits;
    let left = size;
    let rest = rank;
    let found = 0;
    for (const { shift, mask } of levels) {
      // The sign bit is turned for the first level only: the lower ones order as they are.
      const turn = shift === 21 ? 1024 : 0;
      bins.fill(0);
      for (let index = 0; index < left; index += 1) {
        const bin = ((orderKey(from[index] as number) >>> shift) & mask) ^ turn;
        bins[bin] = (bins[bin] as number) + 1;
      }
      let border = mask;
      while ((bins[border] as number) < rest) {
        rest -= bins[border] as number;
        border -= 1;
      }
      const digits = border ^ turn;
      const to = this.#left;
      let kept = 0;
      for (let index = 0; index < left; index += 1) {
        const raw = from[index] as number;
        // Written unconditionally: a branch would often be mispredicted.
        to[kept] = raw;
        kept += Number(((orderKey(raw) >>> shift) & mask) === digits);
      }
      from = to;
      left = kept;
      found |= digits << shift;
    }
    this.ties = rest;
    this.equals = left;
    // The key of a key is the float again.
    this.#floatBits[0] = orderKey(found);
    return this.#float[0] as number;
  }
}

/** Up to this many entries insertion sort is faster. */
const maxInsertionSort = 128;
const digitCount = 2048;
const digitMask = digitCount - 1;

/** Stable radix sort of floats with their ids, highest first. Unrolled: a loop over the passes takes a third longer. */
export class RadixSort {
  readonly #keys: Int32Array;
  readonly #nextKeys: Int32Array;
  readonly #ids: Int32Array;
  readonly #nextIds: Int32Array;
  readonly #low = new Int32Array(digitCount);
  readonly #middle = new Int32Array(digitCount);
  readonly #high = new Int32Array(digitCount);

  constructor(capacity: number) {
    this.#keys = new Int32Array(capacity);
    this.#nextKeys = new Int32Array(capacity);
    this.#ids = new Int32Array(capacity);
    this.#nextIds = new Int32Array(capacity);
  }

  /** `bits` is the memory of `logits` as integers. Sorts in place. */
  sort(logits: Float32Array, bits: Int32Array, ids: Int32Array, size: number): void {
    if (size <= maxInsertionSort) {
      insertEach(logits, ids, size);
      return;
    }
    this.#countDigits(bits, size);
    const [keys, nextKeys] = [this.#keys, this.#nextKeys];
    const [firstIds, nextIds] = [this.#ids, this.#nextIds];
    const [low, middle, high] = [this.#low, this.#middle, this.#high];
    for (let index = 0; index < size; index += 1) {
      const key = keys[index] as number;
      const target = low[key & digitMask] as number;
      low[key & digitMask] = target + 1;
      nextKeys[target] = key;
      firstIds[target] = ids[index] as number;
    }
    for (let index = 0; index < size; index += 1) {
      const key = nextKeys[index] as number;
      const digit = (key >>> 11) & digitMask;
      const target = middle[digit] as number;
      middle[digit] = target + 1;
      keys[target] = key;
      nextIds[target] = firstIds[index] as number;
    }
    for (let index = 0; index < size; index += 1) {
      const key = keys[index] as number;
      const target = high[key >>> 22] as number;
      high[key >>> 22] = target + 1;
      bits[target] = fallingKey(key);
      ids[target] = nextIds[index] as number;
    }
  }

  /** Computes the keys and, for each digit of them, the index of the first entry with that digit. */
  #countDigits(bits: Int32Array, size: number): void {
    const keys = this.#keys;
    const [low, middle, high] = [this.#low.fill(0), this.#middle.fill(0), this.#high.fill(0)];
    for (let index = 0; index < size; index += 1) {
      const key = fallingKey(bits[index] as number);
      keys[index] = key;
      low[key & digitMask] = (low[key & digitMask] as number) + 1;
      middle[(key >>> 11) & digitMask] = (middle[(key >>> 11) & digitMask] as number) + 1;
      high[key >>> 22] = (high[key >>> 22] as number) + 1;
    }
    for (const counts of [low, middle, high]) {
      let start = 0;
      for (let digit = 0; digit < digitCount; digit += 1) {
        const count = counts[digit] as number;
        counts[digit] = start;
        start += count;
      }
    }
  }
}

/** Lower keys, read without a sign, mean higher floats. The key of a key is the float again. */
function fallingKey(bits: number): number {
  return orderKey(bits) ^ 0x7fffffff;
}

function insertEach(logits: Float32Array, ids: Int32Array, size: number): void {
  for (let index = 1; index < size; index += 1) {
    const logit = logits[index] as number;
    const id = ids[index] as number;
    let target = index;
    while (target > 0 && (logits[target - 1] as number) < logit) {
      logits[target] = logits[target - 1] as number;
      ids[target] = ids[target - 1] as number;
      target -= 1;
    }
    logits[target] = logit;
    ids[target] = id;
  }
}
