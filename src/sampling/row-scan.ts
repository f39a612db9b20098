import { onePerSize } from './one-per-size.ts';
import { groupSize, rowScanCode } from './row-scan-code.ts';

interface Program {
  readonly memory: { readonly buffer: ArrayBuffer };
  highest(rowEnd: number): number;
  /** Returns how many it has written. */
  gather(rowEnd: number, floor: number, ids: number, logits: number): number;
}

/** The types of Node know less of it. */
const { Module, Instance } = WebAssembly as unknown as {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Program };
};

const pageBytes = 65_536;

/**
 * Looks through a row of logits with the vector instructions of the processor, which JavaScript has only through WebAssembly: with a
 * vocabulary of 152,000 this takes a quarter of the time of a loop, the copy into its memory included. What is not a number is passed
 * over.
 */
export class RowScan {
  readonly #row: Float32Array;
  readonly #ids: Int32Array;
  readonly #logits: Float32Array;
  readonly #program: Program;

  constructor(size: number) {
    const places = Math.ceil(size / groupSize) * groupSize;
    const bytes = places * 4;
    this.#program = new Instance(new Module(rowScanCode(Math.ceil((3 * bytes) / pageBytes)))).exports;
    const { buffer } = this.#program.memory;
    // What follows the last logit is never the highest, and is below every floor.
    this.#row = new Float32Array(buffer, 0, places).fill(-Infinity);
    this.#ids = new Int32Array(buffer, bytes, places);
    this.#logits = new Float32Array(buffer, 2 * bytes, places);
  }

  /** The other functions look through this row. It has the size that was given to the constructor. */
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

export const rowScanFor = onePerSize((size) => new RowScan(size));
