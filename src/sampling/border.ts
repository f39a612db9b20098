/**
 * A float's bits as a whole number that orders the same way: higher floats give higher numbers. Both zeros are one
 * value, as they are for `===`.
 */
export function orderKey(bits: number): number {
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

/**
 * Finds the float that stands at a given rank, without sorting: counts keys by their leading bits, then looks only into
 * the bin where the rank falls.
 */
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
    let wanted = rank;
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
      while ((bins[border] as number) < wanted) {
        wanted -= bins[border] as number;
        border -= 1;
      }
      const digits = border ^ turn;
      const to = this.#left;
      let kept = 0;
      for (let index = 0; index < left; index += 1) {
        const raw = from[index] as number;
        // Written before it is known to belong: a branch here would often be guessed wrong.
        to[kept] = raw;
        kept += Number(((orderKey(raw) >>> shift) & mask) === digits);
      }
      from = to;
      left = kept;
      found |= digits << shift;
    }
    this.ties = wanted;
    this.equals = left;
    // The key of a key is the float again.
    this.#floatBits[0] = orderKey(found);
    return this.#float[0] as number;
  }
}
