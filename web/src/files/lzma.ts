import { texts } from './texts.ts';
import { Unreadable } from './unreadable.ts';

/**
 * Decompresses LZMA with the 13-byte header (properties, dictionary size, size), as KoboldAI Lite stores it. Throws an error for
 * people on invalid data, and never returns more than `most` bytes.
 */
export function unpackLzma(packed: Uint8Array, maxBytes: number): Uint8Array {
  if (packed.length < 18) throw damaged();
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const properties = packed[0] ?? 255;
  if (properties >= 9 * 5 * 5) throw damaged();
  const size = view.getUint32(5, true) + view.getUint32(9, true) * 2 ** 32;
  const isOpen = size >= 2 ** 63;
  if (!isOpen && size > maxBytes) throw new Unreadable(texts.lzma.tooLarge);
  const decoder = new Decoder(packed, 13, properties);
  return decoder.run(isOpen ? undefined : size, maxBytes);
}

const damaged = (): Unreadable => new Unreadable(texts.lzma.damaged);

const even = 1024;
const probabilities = (count: number): Uint16Array => new Uint16Array(count).fill(even);

/** Range decoder with adaptive probabilities. */
class RangeDecoder {
  readonly #bytes: Uint8Array;
  #at: number;
  #range = 0xffffffff;
  #code = 0;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at + 1;
    for (let count = 0; count < 4; count += 1) this.#code = ((this.#code << 8) | this.#next()) >>> 0;
  }

  #next(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw damaged();
    this.#at += 1;
    return byte;
  }

  #refill(): void {
    if (this.#range >= 0x1000000) return;
    this.#range = (this.#range << 8) >>> 0;
    this.#code = ((this.#code << 8) | this.#next()) >>> 0;
  }

  bit(table: Uint16Array, index: number): 0 | 1 {
    const probability = table[index] as number;
    const bound = (this.#range >>> 11) * probability;
    if (this.#code < bound) {
      this.#range = bound;
      table[index] = probability + ((2048 - probability) >>> 5);
      this.#refill();
      return 0;
    }
    this.#range -= bound;
    this.#code -= bound;
    table[index] = probability - (probability >>> 5);
    this.#refill();
    return 1;
  }

  direct(count: number): number {
    let value = 0;
    for (let left = count; left > 0; left -= 1) {
      this.#range >>>= 1;
      const isOne = this.#code >= this.#range;
      if (isOne) this.#code -= this.#range;
      value = value * 2 + (isOne ? 1 : 0);
      this.#refill();
    }
    return value;
  }

  tree(table: Uint16Array, bits: number, offset = 0): number {
    let node = 1;
    for (let left = bits; left > 0; left -= 1) node = (node << 1) | this.bit(table, offset + node);
    return node - (1 << bits);
  }

  reverseTree(table: Uint16Array, bits: number, offset = 0): number {
    let node = 1;
    let value = 0;
    for (let at = 0; at < bits; at += 1) {
      const bit = this.bit(table, offset + node);
      node = (node << 1) | bit;
      value |= bit << at;
    }
    return value;
  }
}

/** Decodes match lengths. */
class LengthDecoder {
  readonly #choice = probabilities(2);
  readonly #low = probabilities(16 * 8);
  readonly #middle = probabilities(16 * 8);
  readonly #high = probabilities(256);

  decode(range: RangeDecoder, position: number): number {
    if (range.bit(this.#choice, 0) === 0) return 2 + range.tree(this.#low, 3, position * 8);
    if (range.bit(this.#choice, 1) === 0) return 10 + range.tree(this.#middle, 3, position * 8);
    return 18 + range.tree(this.#high, 8);
  }
}

class Decoder {
  readonly #range: RangeDecoder;
  readonly #literalContext: number;
  readonly #literalPosition: number;
  readonly #positionMask: number;
  readonly #literals: Uint16Array;
  readonly #isMatch = probabilities(12 * 16);
  readonly #isRepeat = probabilities(12);
  readonly #isRepeat0 = probabilities(12);
  readonly #isRepeat1 = probabilities(12);
  readonly #isRepeat2 = probabilities(12);
  readonly #isLongRepeat = probabilities(12 * 16);
  readonly #slots = probabilities(4 * 64);
  readonly #distances = probabilities(128);
  readonly #align = probabilities(16);
  readonly #lengths = new LengthDecoder();
  readonly #repeatLengths = new LengthDecoder();
  #out = new Uint8Array(65_536);
  #length = 0;

  constructor(bytes: Uint8Array, at: number, properties: number) {
    this.#range = new RangeDecoder(bytes, at);
    this.#literalContext = properties % 9;
    this.#literalPosition = Math.floor(properties / 9) % 5;
    this.#positionMask = (1 << Math.floor(properties / 45)) - 1;
    this.#literals = probabilities(0x300 << (this.#literalContext + this.#literalPosition));
  }

  run(size: number | undefined, maxBytes: number): Uint8Array {
    let state = 0;
    let recent: [number, number, number, number] = [0, 0, 0, 0];
    while (size === undefined || this.#length < size) {
      const position = this.#length & this.#positionMask;
      if (this.#range.bit(this.#isMatch, state * 16 + position) === 0) {
        this.#literal(state, recent[0]);
        state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
        continue;
      }
      let length: number;
      if (this.#range.bit(this.#isRepeat, state) === 0) {
        length = this.#lengths.decode(this.#range, position);
        state = state < 7 ? 7 : 10;
        const distance = this.#distance(length);
        // End marker.
        if (distance === 0xffffffff) break;
        recent = [distance, recent[0], recent[1], recent[2]];
      } else if (this.#range.bit(this.#isRepeat0, state) === 0) {
        const isLong = this.#range.bit(this.#isLongRepeat, state * 16 + position) === 1;
        length = isLong ? this.#repeatLengths.decode(this.#range, position) : 1;
        state = isLong ? (state < 7 ? 8 : 11) : state < 7 ? 9 : 11;
      } else {
        recent = this.#older(recent, state);
        length = this.#repeatLengths.decode(this.#range, position);
        state = state < 7 ? 8 : 11;
      }
      this.#copy(recent[0] + 1, size === undefined ? length : Math.min(length, size - this.#length), maxBytes);
    }
    return this.#out.subarray(0, this.#length);
  }

  #older(
    [first, second, third, fourth]: readonly [number, number, number, number],
    state: number,
  ): [number, number, number, number] {
    if (this.#range.bit(this.#isRepeat1, state) === 0) return [second, first, third, fourth];
    if (this.#range.bit(this.#isRepeat2, state) === 0) return [third, first, second, fourth];
    return [fourth, first, second, third];
  }

  #literal(state: number, distance: number): void {
    const last = this.#length > 0 ? (this.#out[this.#length - 1] as number) : 0;
    const low = this.#length & ((1 << this.#literalPosition) - 1);
    const offset = 0x300 * ((low << this.#literalContext) + (last >> (8 - this.#literalContext)));
    let symbol = 1;
    if (state >= 7) {
      let match = this.#out[this.#length - distance - 1] ?? 0;
      while (symbol < 0x100) {
        const expected = (match >> 7) & 1;
        match <<= 1;
        const bit = this.#range.bit(this.#literals, offset + ((1 + expected) << 8) + symbol);
        symbol = (symbol << 1) | bit;
        if (expected !== bit) break;
      }
    }
    while (symbol < 0x100) symbol = (symbol << 1) | this.#range.bit(this.#literals, offset + symbol);
    this.#put(symbol & 0xff);
  }

  #distance(length: number): number {
    const slot = this.#range.tree(this.#slots, 6, Math.min(length - 2, 3) * 64);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return base + this.#range.reverseTree(this.#distances, bits, base - slot);
    return base + this.#range.direct(bits - 4) * 16 + this.#range.reverseTree(this.#align, 4);
  }

  #copy(distance: number, length: number, maxBytes: number): void {
    if (distance > this.#length) throw damaged();
    if (this.#length + length > maxBytes) throw new Unreadable(texts.lzma.tooLarge);
    for (let left = length; left > 0; left -= 1) this.#put(this.#out[this.#length - distance] as number);
  }

  #put(byte: number): void {
    if (this.#length === this.#out.length) {
      const larger = new Uint8Array(this.#out.length * 2);
      larger.set(this.#out);
      this.#out = larger;
    }
    this.#out[this.#length] = byte;
    this.#length += 1;
  }
}
