import fc from 'fast-check';

/** Changes of a file, most of them in its head. Places are shares of the head, or of the file. */
export interface Damage {
  readonly kind: 'byte' | 'number' | 'cut' | 'remove' | 'repeat' | 'fill';
  readonly inHead: boolean;
  readonly position: number;
  readonly size: number;
  readonly value: bigint;
}

/** Numbers at which counts and lengths go wrong. */
const numbers = [
  0n,
  1n,
  0x7fn,
  0xffn,
  0xffffn,
  0x7fff_ffffn,
  0xffff_ffffn,
  1n << 32n,
  (1n << 63n) - 1n,
  (1n << 64n) - 1n,
];

const share = fc.double({ min: 0, max: 0.9999, noNaN: true });

export const damages: fc.Arbitrary<readonly Damage[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('byte', 'byte', 'number', 'number', 'cut', 'remove', 'repeat', 'fill'),
    inHead: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
    position: share,
    size: fc.integer({ min: 1, max: 64 }),
    value: fc.oneof(fc.constantFrom(...numbers), fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })),
  }),
  { minLength: 1, maxLength: 4 },
);

/** A damaged copy; `head` is the length of the part that says what the rest is. */
export function damaged(file: Uint8Array, all: readonly Damage[], head: number): Buffer {
  return all.reduce((bytes: Buffer, one) => changed(bytes, one, head), Buffer.from(file));
}

function changed(bytes: Buffer, { kind, inHead, position, size, value }: Damage, head: number): Buffer {
  const at = Math.floor(position * (inHead ? Math.min(head, bytes.length) : bytes.length));
  switch (kind) {
    case 'byte':
      if (at < bytes.length) bytes[at] = Number(value & 0xffn);
      return bytes;
    case 'number': {
      const width = size % 2 === 0 ? 8 : 4;
      const number = Buffer.alloc(8);
      number.writeBigUInt64LE(value);
      // Formats differ in the order of bytes.
      if (size % 3 === 0) number.subarray(0, width).reverse();
      number.copy(bytes, at, 0, width);
      return bytes;
    }
    case 'cut':
      return bytes.subarray(0, at);
    case 'remove':
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + size)]);
    case 'repeat':
      return Buffer.concat([bytes.subarray(0, at + size), bytes.subarray(at)]);
    case 'fill':
      return bytes.fill(Number(value & 0xffn), at, Math.min(at + size, bytes.length));
  }
}
