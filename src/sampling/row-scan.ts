import { groupSize, rowScanCode } from './row-scan-code.ts';

interface Program {
  readonly memory: { readonly buffer: ArrayBuffer };
  highest(rowEnd: number): number;
  /** Returns the number of entries written. */
  gather(rowEnd: number, floor: number, ids: number, logits: number): number;
}

/** The types of Node do not declare these. */
const { Module, Instance } = WebAssembly as unknown as {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Program };
};

const pageBytes = 65_536;

/**
 * Scans a row of logits with SIMD instructions, which JavaScript has only through WebAssembly: with a vocabulary of 152,000 this takes
 * a quarter of the time of a loop, including the copy into its memory. NaN is ignored.
 */
export class RowScan {
  readonly #row: Float32Array;
  readonly #ids: Int32Array;
  readonly #logits: Float32Array;
  readonly #program: Program;

  constructor(size: number) {
    const paddedSize = Math.ceil(size / groupSize) * groupSize;
    const bytes = paddedSize * 4;
    this.#program = new Instance(new Module(rowScanCode(Math.ceil((3 * bytes) / pageBytes)))).exports;
    const { buffer } = this.#program.memory;
    // The padding after the last logit is never the highest, and is below every floor.
    this.#row = new Float32Array(buffer, 0, paddedSize).fill(-Infinity);
    this.#ids = new Int32Array(buffer, bytes, paddedSize);
    this.#logits = new Float32Array(buffer, 2 * bytes, paddedSize);
  }

  /** Loads the row for the other methods; its length is that of the constructor. */
  load(logits: Float32Array): void {
    this.#row.set(logits);
  }

  /** -Infinity if there is nothing higher. */
  highest(): number {
    return this.#program.highest(this.#row.byteLength);
  }

  /** The logits that are not below the floor, which is finite, in the order of their ids. The next call overwrites them. */
  reaching(floor: number): { readonly ids: Int32Array; readonly logits: Float32Array } {
    const count = this.#program.gather(this.#row.byteLength, floor, this.#ids.byteOffset, this.#logits.byteOffset);
    return { ids: this.#ids.subarray(0, count), logits: this.#logits.subarray(0, count) };
  }
}

/** Creates one object per size, on first use. All samplers of a thread share it, so it must hold no state between two calls. */
export function onePerSize<Made>(make: (size: number) => Made): (size: number) => Made {
  const made = new Map<number, Made>();
  return (size) => {
    let existing = made.get(size);
    if (existing === undefined) {
      existing = make(size);
      made.set(size, existing);
    }
    return existing;
  };
}

export const rowScanFor = onePerSize((size) => new RowScan(size));
