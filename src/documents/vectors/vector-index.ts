import { type DotProducts, dotProductsFor, rowStep } from './dot-products.ts';

/** A vector of length 1 in 8 bits: its numbers are `scale` times these. */
export interface ByteVector {
  readonly bytes: Int8Array;
  readonly scale: number;
}

/** Scaled by its largest number, so that all 8 bits are used. */
export function byteVector(vector: Float32Array): ByteVector {
  let [largest, square] = [0, 0];
  for (const number of vector) {
    largest = Math.max(largest, Math.abs(number));
    square += number * number;
  }
  const bytes = new Int8Array(vector.length);
  // A vector with a number that is none is like no other.
  if (!(largest > 0 && Number.isFinite(square))) return { bytes, scale: 0 };
  const factor = 127 / largest;
  for (let index = 0; index < vector.length; index += 1) bytes[index] = Math.round((vector[index] ?? 0) * factor);
  return { bytes, scale: largest / 127 / Math.sqrt(square) };
}

export interface Near {
  readonly id: number;
  /** Cosine. */
  readonly similarity: number;
}

const pageBytes = 65_536;
/** Rows whose products are computed before they are looked at. */
const blockRows = 4096;
/** A row that belongs to no group any more. */
const removed = -1;

/**
 * Vectors in memory, searched exactly: each is compared with the query, 100,000 of 384 dimensions in 9 ms. The memory has the query, the
 * products of a block, and the rows.
 */
export class VectorIndex {
  readonly #program: DotProducts;
  readonly #dimensions: number;
  readonly #productsAt: number;
  readonly #rowsAt: number;
  #ids = new Float64Array(1024);
  #groups = new Int32Array(1024);
  #scales = new Float32Array(1024);
  readonly #rowOf = new Map<number, number>();
  #rows = 0;

  constructor(
    readonly dimensions: number,
    programFor: (memoryPages: number) => DotProducts = dotProductsFor,
  ) {
    this.#dimensions = Math.ceil(dimensions / rowStep) * rowStep;
    this.#productsAt = 2 * this.#dimensions;
    this.#rowsAt = this.#productsAt + 4 * blockRows;
    this.#program = programFor(Math.ceil((this.#rowsAt + blockRows * this.#dimensions) / pageBytes));
  }

  get size(): number {
    return this.#rowOf.size;
  }

  get bytes(): number {
    return this.#program.memory.buffer.byteLength;
  }

  /** `group`: a whole number from 0, that of its file. Replaces a vector with the same id. */
  set(id: number, group: number, { bytes, scale }: ByteVector): void {
    const row = this.#rowOf.get(id) ?? this.#rows;
    if (row === this.#rows) {
      this.#makeRoom();
      this.#rows += 1;
    }
    new Int8Array(this.#program.memory.buffer, this.#rowsAt + row * this.#dimensions, this.#dimensions).set(bytes);
    this.#ids[row] = id;
    this.#groups[row] = group;
    this.#scales[row] = scale;
    this.#rowOf.set(id, row);
  }

  /** The last row takes the place of a removed one. */
  delete(id: number): void {
    const row = this.#rowOf.get(id);
    if (row === undefined) return;
    this.#rowOf.delete(id);
    this.#rows -= 1;
    const last = this.#rows;
    if (row !== last) {
      const all = new Int8Array(this.#program.memory.buffer, this.#rowsAt);
      all.copyWithin(row * this.#dimensions, last * this.#dimensions, (last + 1) * this.#dimensions);
      const moved = this.#ids[last] ?? 0;
      this.#ids[row] = moved;
      this.#groups[row] = this.#groups[last] ?? removed;
      this.#scales[row] = this.#scales[last] ?? 0;
      this.#rowOf.set(moved, row);
    }
  }

  deleteGroup(group: number): void {
    for (let row = this.#rows - 1; row >= 0; row -= 1)
      if (this.#groups[row] === group) this.delete(this.#ids[row] ?? 0);
  }

  /** The nearest, the best first; of equals the first. */
  search(query: Float32Array, limit: number, accepts?: (group: number) => boolean): readonly Near[] {
    const scale = this.#load(query);
    const best = new Best(limit);
    const accepted = new Map<number, boolean>();
    const isAccepted = (group: number): boolean => {
      if (!accepts) return true;
      const known = accepted.get(group) ?? accepts(group);
      accepted.set(group, known);
      return known;
    };
    for (let from = 0; from < this.#rows; from += blockRows) {
      const to = Math.min(from + blockRows, this.#rows);
      const products = this.#products(from, to);
      for (let row = from; row < to; row += 1) {
        const similarity = (products[row - from] ?? 0) * (this.#scales[row] ?? 0) * scale;
        if (similarity > best.floor && isAccepted(this.#groups[row] ?? removed)) best.add(row, similarity);
      }
    }
    return best.sorted().map(({ row, similarity }) => ({ id: this.#ids[row] ?? 0, similarity }));
  }

  /** Of these alone. */
  similarities(query: Float32Array, ids: Iterable<number>): ReadonlyMap<number, number> {
    const scale = this.#load(query);
    const similarities = new Map<number, number>();
    for (const id of ids) {
      const row = this.#rowOf.get(id);
      if (row === undefined) continue;
      const [product = 0] = this.#products(row, row + 1);
      similarities.set(id, product * (this.#scales[row] ?? 0) * scale);
    }
    return similarities;
  }

  /** Its scale. */
  #load(query: Float32Array): number {
    const { bytes, scale } = byteVector(query);
    const numbers = new Int16Array(this.#program.memory.buffer, 0, this.#dimensions).fill(0);
    numbers.set(bytes.subarray(0, this.dimensions));
    return scale;
  }

  #products(from: number, to: number): Int32Array {
    const [rows, rowsEnd] = [from, to].map((row) => this.#rowsAt + row * this.#dimensions) as [number, number];
    this.#program.run(0, rows, rowsEnd, this.#dimensions, this.#productsAt);
    return new Int32Array(this.#program.memory.buffer, this.#productsAt, to - from);
  }

  #makeRoom(): void {
    const { memory } = this.#program;
    const needed = this.#rowsAt + (this.#rows + 1) * this.#dimensions - memory.buffer.byteLength;
    // A quarter more each time: growing may copy all of it.
    if (needed > 0) memory.grow(Math.ceil(Math.max(needed, memory.buffer.byteLength / 4) / pageBytes));
    if (this.#rows < this.#ids.length) return;
    const length = this.#ids.length * 2;
    this.#ids = grown(this.#ids, new Float64Array(length));
    this.#groups = grown(this.#groups, new Int32Array(length));
    this.#scales = grown(this.#scales, new Float32Array(length));
  }
}

function grown<Numbers extends { set(numbers: Numbers): void }>(before: Numbers, after: Numbers): Numbers {
  after.set(before);
  return after;
}

/** The best rows so far, as a heap with the worst at the top. */
class Best {
  readonly #rows: number[] = [];
  readonly #similarities: number[] = [];
  /** Only better ones are added. */
  floor = -Infinity;

  constructor(private readonly limit: number) {
    if (limit === 0) this.floor = Infinity;
  }

  add(row: number, similarity: number): void {
    if (this.#rows.length < this.limit) {
      this.#rows.push(row);
      this.#similarities.push(similarity);
      this.#rise(this.#rows.length - 1);
    } else {
      this.#rows[0] = row;
      this.#similarities[0] = similarity;
      this.#sink();
    }
    if (this.#rows.length === this.limit) this.floor = this.#similarities[0] ?? -Infinity;
  }

  sorted(): readonly { readonly row: number; readonly similarity: number }[] {
    return this.#rows
      .map((row, index) => ({ row, similarity: this.#similarities[index] ?? 0 }))
      .sort((one, other) => other.similarity - one.similarity || one.row - other.row);
  }

  #rise(index: number): void {
    let at = index;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isWorse(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      let worst = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < this.#rows.length && this.#isWorse(child, worst)) worst = child;
      if (worst === at) return;
      this.#swap(at, worst);
      at = worst;
    }
  }

  /** Of equals the later one is worse. */
  #isWorse(one: number, other: number): boolean {
    const difference = (this.#similarities[one] ?? 0) - (this.#similarities[other] ?? 0);
    return difference < 0 || (difference === 0 && (this.#rows[one] ?? 0) > (this.#rows[other] ?? 0));
  }

  #swap(one: number, other: number): void {
    for (const numbers of [this.#rows, this.#similarities])
      [numbers[one], numbers[other]] = [numbers[other] ?? 0, numbers[one] ?? 0];
  }
}
