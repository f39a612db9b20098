/** A QR code (ISO/IEC 18004, model 2): byte mode, error correction level M, in the smallest version that holds the text. */
export interface QrCode {
  /** Modules on each side, without the quiet zone. */
  readonly size: number;
  /** Whether a module is dark; those outside of the code are light. */
  isDark(x: number, y: number): boolean;
}

/** Error correction codewords in each block, and blocks, of versions 1 to 40 at level M. */
const correctionCodewords = [
  ...[10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26],
  ...[26, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28],
];
const blockCounts = [
  ...[1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16],
  ...[17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49],
];

/** Throws for a text that no version holds: more than 2331 bytes of UTF-8. */
export function qrCode(text: string): QrCode {
  const bytes = new TextEncoder().encode(text);
  const version = versionFor(bytes.length);
  const grid = new Grid(version);
  grid.drawFunctionPatterns();
  grid.drawCodewords(withCorrection(dataCodewords(bytes, version), version));
  grid.applyBestMask();
  return { size: grid.size, isDark: (x, y) => grid.isDark(x, y) };
}

/** An SVG path of the dark modules, where a module is one unit wide. */
export function qrPath({ size, isDark }: QrCode): string {
  const rows = Array.from({ length: size }, (_, y) => {
    const starts = Array.from({ length: size }, (_, x) => x).filter((x) => isDark(x, y) && !isDark(x - 1, y));
    return starts.map((x) => {
      let end = x;
      while (isDark(end, y)) end++;
      return `M${x} ${y}h${end - x}v1H${x}z`;
    });
  });
  return rows.flat().join('');
}

/** For a terminal, two modules above each other in a character, with a quiet zone. Blocks are the light modules: text is light on dark. */
export function qrLines({ size, isDark }: QrCode, quietZone = 2): readonly string[] {
  const columns = Array.from({ length: size + 2 * quietZone }, (_, index) => index - quietZone);
  const rows = columns.filter((_, index) => index % 2 === 0);
  return rows.map((y) => columns.map((x) => halfBlocks[Number(isDark(x, y)) * 2 + Number(isDark(x, y + 1))]).join(''));
}

const halfBlocks = ['█', '▀', '▄', ' '];

function versionFor(length: number): number {
  const version = blockCounts.findIndex(
    (_, index) => dataCapacity(index + 1) * 8 >= 4 + lengthBits(index + 1) + length * 8,
  );
  if (version < 0) throw new RangeError(`A QR code cannot hold ${length} bytes.`);
  return version + 1;
}

const lengthBits = (version: number): number => (version < 10 ? 8 : 16);

/** Modules that are no function pattern, in bits. */
function rawBits(version: number): number {
  const alignments = version < 2 ? 0 : Math.floor(version / 7) + 2;
  const alignmentBits = alignments === 0 ? 0 : (25 * alignments - 10) * alignments - 55;
  return (16 * version + 128) * version + 64 - alignmentBits - (version < 7 ? 0 : 36);
}

const rawCodewords = (version: number): number => Math.floor(rawBits(version) / 8);

/** Codewords for data. */
function dataCapacity(version: number): number {
  const [correction = 0, blocks = 0] = [correctionCodewords[version - 1], blockCounts[version - 1]];
  return rawCodewords(version) - correction * blocks;
}

/** Mode, length, text, terminator and padding. */
function dataCodewords(bytes: Uint8Array, version: number): Uint8Array {
  const bits: number[] = [];
  const append = (value: number, length: number): void => {
    for (let i = length - 1; i >= 0; i--) bits.push((value >>> i) & 1);
  };
  append(0b0100, 4);
  append(bytes.length, lengthBits(version));
  for (const byte of bytes) append(byte, 8);
  const capacity = dataCapacity(version);
  // Up to four zero bits end the text, and more fill its last codeword.
  append(0, Math.min(4, capacity * 8 - bits.length));
  append(0, -bits.length & 7);
  for (let padding = 0xec; bits.length < capacity * 8; padding ^= 0xec ^ 0x11) append(padding, 8);
  return Uint8Array.from({ length: capacity }, (_, index) =>
    bits.slice(index * 8, index * 8 + 8).reduce((byte, bit) => byte * 2 + bit, 0),
  );
}

/** Splits the data into blocks, computes the error correction of each, and interleaves all of them. */
function withCorrection(data: Uint8Array, version: number): Uint8Array {
  const [correction = 0, count = 0] = [correctionCodewords[version - 1], blockCounts[version - 1]];
  const generator = generatorPolynomial(correction);
  const short = Math.floor(data.length / count);
  const longBlocks = data.length % count;
  let start = 0;
  const blocks = Array.from({ length: count }, (_, index) => {
    const end = start + short + Number(index >= count - longBlocks);
    const block = data.subarray(start, end);
    start = end;
    return { data: block, correction: remainder(block, generator) };
  });
  const interleaved = (columns: readonly Uint8Array[], length: number): readonly number[] =>
    Array.from({ length }, (_, index) => columns.flatMap((column) => [...column.subarray(index, index + 1)])).flat();
  return Uint8Array.from([
    ...interleaved(
      blocks.map(({ data }) => data),
      short + 1,
    ),
    ...interleaved(
      blocks.map(({ correction }) => correction),
      correction,
    ),
  ]);
}

/** Product in GF(256) with the polynomial x⁸ + x⁴ + x³ + x² + 1. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((b >>> bit) & 1) * a;
  }
  return product;
}

/** Coefficients of (x − 1)(x − 2)(x − 4)…, without the first one, which is 1. */
function generatorPolynomial(degree: number): readonly number[] {
  let coefficients = [...Array<number>(degree - 1).fill(0), 1];
  for (let step = 0, root = 1; step < degree; step++, root = multiply(root, 2)) {
    coefficients = coefficients.map((value, index) => multiply(value, root) ^ (coefficients[index + 1] ?? 0));
  }
  return coefficients;
}

/** Reed–Solomon error correction: the remainder of a division of polynomials. */
function remainder(data: Uint8Array, generator: readonly number[]): Uint8Array {
  let result = generator.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (result[0] ?? 0);
    result = generator.map((value, index) => (result[index + 1] ?? 0) ^ multiply(value, factor));
  }
  return Uint8Array.from(result);
}

const masks: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The modules, and which of them belong to function patterns. */
class Grid {
  readonly size: number;
  readonly #version: number;
  readonly #dark: Uint8Array;
  readonly #isFunction: Uint8Array;

  constructor(version: number) {
    this.#version = version;
    this.size = version * 4 + 17;
    this.#dark = new Uint8Array(this.size ** 2);
    this.#isFunction = new Uint8Array(this.size ** 2);
  }

  isDark(x: number, y: number): boolean {
    return x >= 0 && y >= 0 && x < this.size && y < this.size && this.#dark[y * this.size + x] === 1;
  }

  #set(x: number, y: number, dark: boolean): void {
    if (x < 0 || y < 0 || x >= this.size || y >= this.size) return;
    this.#dark[y * this.size + x] = Number(dark);
    this.#isFunction[y * this.size + x] = 1;
  }

  drawFunctionPatterns(): void {
    const far = this.size - 4;
    const finders = [
      [3, 3],
      [far, 3],
      [3, far],
    ] as const;
    for (let i = 0; i < this.size; i++) {
      this.#set(6, i, i % 2 === 0);
      this.#set(i, 6, i % 2 === 0);
    }
    for (const [x, y] of finders) this.#drawSquares(x, y, 4, [0, 1, 3]);
    const positions = this.#alignmentPositions();
    const ends = [0, positions.length - 1];
    for (const [row, y] of positions.entries()) {
      for (const [column, x] of positions.entries()) {
        const finder = ends.includes(row) && ends.includes(column) && !(row > 0 && column > 0);
        if (!finder) this.#drawSquares(x, y, 2, [0, 2]);
      }
    }
    this.#drawFormat(0);
    this.#drawVersion();
  }

  /** Rings around a center: those of the given distances are dark. */
  #drawSquares(x: number, y: number, reach: number, dark: readonly number[]): void {
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) {
        this.#set(x + dx, y + dy, dark.includes(Math.max(Math.abs(dx), Math.abs(dy))));
      }
    }
  }

  #alignmentPositions(): readonly number[] {
    if (this.#version === 1) return [];
    const count = Math.floor(this.#version / 7) + 2;
    const step = Math.floor((this.#version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
    const others = Array.from({ length: count - 1 }, (_, index) => this.size - 7 - index * step);
    return [6, ...others.reverse()];
  }

  /** Error correction level and mask, twice. */
  #drawFormat(mask: number): void {
    let code = mask;
    for (let i = 0; i < 10; i++) code = (code << 1) ^ ((code >>> 9) * 0x537);
    const bits = ((mask << 10) | code) ^ 0x5412;
    const bit = (i: number): boolean => ((bits >>> i) & 1) === 1;
    for (let i = 0; i < 15; i++) {
      if (i < 8) this.#set(8, i < 6 ? i : i + 1, bit(i));
      else this.#set(i === 8 ? 7 : 14 - i, 8, bit(i));
      if (i < 8) this.#set(this.size - 1 - i, 8, bit(i));
      else this.#set(8, this.size - 15 + i, bit(i));
    }
    this.#set(8, this.size - 8, true);
  }

  #drawVersion(): void {
    if (this.#version < 7) return;
    let code = this.#version;
    for (let i = 0; i < 12; i++) code = (code << 1) ^ ((code >>> 11) * 0x1f25);
    const bits = (this.#version << 12) | code;
    for (let i = 0; i < 18; i++) {
      const [a, b] = [this.size - 11 + (i % 3), Math.floor(i / 3)];
      this.#set(a, b, ((bits >>> i) & 1) === 1);
      this.#set(b, a, ((bits >>> i) & 1) === 1);
    }
  }

  /** In columns of two modules from the right, upwards and downwards in turn. */
  drawCodewords(codewords: Uint8Array): void {
    let bit = 0;
    for (let right = this.size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      const upwards = ((right + 1) & 2) === 0;
      for (let step = 0; step < this.size; step++) {
        const y = upwards ? this.size - 1 - step : step;
        for (const x of [right, right - 1]) {
          const index = y * this.size + x;
          if (this.#isFunction[index] === 1) continue;
          this.#dark[index] = ((codewords[bit >>> 3] ?? 0) >>> (7 - (bit & 7))) & 1;
          bit++;
        }
      }
    }
  }

  applyBestMask(): void {
    const penalties = masks.map((_, mask) => {
      this.#applyMask(mask);
      const penalty = this.#penalty();
      this.#applyMask(mask);
      return penalty;
    });
    this.#applyMask(penalties.indexOf(Math.min(...penalties)));
  }

  /** Inverts modules; the same mask once more restores them. */
  #applyMask(mask: number): void {
    this.#drawFormat(mask);
    for (let y = 0; y < this.size; y++) {
      for (let x = 0; x < this.size; x++) {
        const index = y * this.size + x;
        if (this.#isFunction[index] === 0 && masks[mask]?.(x, y)) this.#dark[index] = 1 - (this.#dark[index] ?? 0);
      }
    }
  }

  /** How hard the code is to read: long runs, blocks, patterns like those of the corners, and an uneven share of dark modules. */
  #penalty(): number {
    const lines = Array.from({ length: this.size }, (_, a) =>
      [0, 1].map((turned) =>
        Array.from({ length: this.size }, (_, b) => Number(turned ? this.isDark(a, b) : this.isDark(b, a))).join(''),
      ),
    ).flat();
    let penalty = 0;
    for (const line of lines) {
      for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2;
      penalty += 40 * [...line.matchAll(/(?=10111010000|00001011101)/g)].length;
    }
    for (let y = 1; y < this.size; y++) {
      for (let x = 1; x < this.size; x++) {
        const dark = this.isDark(x, y);
        const block = [this.isDark(x - 1, y), this.isDark(x, y - 1), this.isDark(x - 1, y - 1)];
        if (block.every((other) => other === dark)) penalty += 3;
      }
    }
    const share = this.#dark.reduce((sum, dark) => sum + dark, 0) / this.size ** 2;
    return penalty + 10 * Math.floor(Math.abs(share * 100 - 50) / 5);
  }
}
