import type { FileHandle } from 'node:fs/promises';
import { GgufError } from './error.ts';

const chunkSize = 1 << 18;

/**
 * Reads a file from front to back in chunks, little endian. Each read first makes sure that the bytes are there, so
 * that a damaged length can neither read past the end nor ask for more memory than the file has bytes.
 */
export class Cursor {
  readonly #file: FileHandle;
  readonly size: number;
  #buffer: Buffer = Buffer.alloc(0);
  #start = 0;
  #at = 0;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  get position(): number {
    return this.#start + this.#at;
  }

  get left(): number {
    return this.size - this.position;
  }

  /** The next `length` bytes, valid until the next read. */
  async take(length: number, what: string): Promise<Buffer> {
    if (!this.#has(length)) await this.#fill(length, what);
    const bytes = this.#buffer.subarray(this.#at, this.#at + length);
    this.#at += length;
    return bytes;
  }

  /** Passes over so many texts at most, as far as they are in memory, and tells how many they were. */
  passTexts(most: number): number {
    let passed = 0;
    while (passed < most && this.#has(8)) {
      const length = this.#buffer.readUInt32LE(this.#at) + this.#buffer.readUInt32LE(this.#at + 4) * 2 ** 32;
      if (!this.#has(8 + length)) break;
      this.#at += 8 + length;
      passed += 1;
    }
    return passed;
  }

  skip(length: number, what: string): void {
    this.#need(length, what);
    this.#at += length;
  }

  async uint32(what: string): Promise<number> {
    return (await this.take(4, what)).readUInt32LE();
  }

  /** A 64-bit count or offset; none that a number cannot hold is sensible. */
  async count(what: string): Promise<number> {
    return safe((await this.take(8, what)).readBigUInt64LE(), what);
  }

  async text(what: string, longest: number): Promise<string> {
    const length = await this.count(what);
    if (length > longest) throw new GgufError(`The file is damaged: ${what} claims ${length} bytes.`);
    return (await this.take(length, what)).toString('utf8');
  }

  #has(length: number): boolean {
    return this.#at + length <= this.#buffer.length;
  }

  #need(length: number, what: string): void {
    if (length > this.left) throw new GgufError(`The file is cut off or damaged: it ends within ${what}.`);
  }

  async #fill(length: number, what: string): Promise<void> {
    this.#need(length, what);
    const position = this.position;
    const wanted = Math.min(Math.max(length, chunkSize), this.left);
    const buffer = Buffer.allocUnsafe(wanted);
    let filled = 0;
    while (filled < wanted) {
      const { bytesRead } = await this.#file.read(buffer, filled, wanted - filled, position + filled);
      if (bytesRead === 0) throw new GgufError(`The file is cut off or damaged: it ends within ${what}.`);
      filled += bytesRead;
    }
    this.#buffer = buffer;
    this.#start = position;
    this.#at = 0;
  }
}

function safe(value: bigint, what: string): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new GgufError(`The file is damaged: ${what} claims ${value}.`);
  return Number(value);
}
