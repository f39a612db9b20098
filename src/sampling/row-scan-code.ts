import { Buffer } from 'node:buffer';

// The WebAssembly of `RowScan`, written down instruction by instruction, with the names of the text format. It is too short to be worth
// a compiler among the dependencies.

/** The logits that are looked at together: four vectors of four. */
export const groupSize = 16;
const [i32, f32, v128] = [0x7f, 0x7d, 0x7b];

/** Numbers are written in groups of seven bits, the lowest first; all here are positive. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}
function signed(value: number): number[] {
  return value < 64 ? [value] : [(value & 127) | 128, ...signed(value >>> 7)];
}

type Code = readonly number[];
const list = (items: readonly Code[]): number[] => [...unsigned(items.length), ...items.flat()];
const sized = (bytes: Code): number[] => [...unsigned(bytes.length), ...bytes];
const section = (id: number, items: readonly Code[]): number[] => [id, ...sized(list(items))];
const named = (name: string): number[] => sized([...Buffer.from(name)]);
const vector = (code: number, ...rest: number[]): number[] => [0xfd, ...unsigned(code), ...rest];

const get = (local: number): Code => [0x20, local];
const set = (local: number): Code => [0x21, local];
const tee = (local: number): Code => [0x22, local];
const branchIf = (depth: number): Code => [0x0d, depth];
const constant = (value: number): Code => [0x41, ...signed(value)];
const load128 = (offset: number): Code => vector(0x00, 4, offset);
const lane = (index: number): Code => vector(0x1f, index);
const op = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  end: [0x0b],
  isZero: [0x45],
  lessThan: [0x49],
  trailingZeros: [0x68],
  add: [0x6a],
  subtract: [0x6b],
  and: [0x71],
  or: [0x72],
  shiftLeft: [0x74],
  shiftRight: [0x76],
  storeInteger: [0x36, 2, 0],
  loadFloat: [0x2a, 2, 0],
  storeFloat: [0x38, 2, 0],
  negativeInfinity: [0x43, 0, 0, 0x80, 0xff],
  floatMaximum: [0x97],
  splat: vector(0x13),
  notBelow: vector(0x46),
  either: vector(0x50),
  anyTrue: vector(0x53),
  laneBits: vector(0xa4),
  /** Keeps the first of the two if the second is not a number. */
  maximum: vector(0xeb),
} satisfies Record<string, Code>;

/** To the next group; back to the beginning of the loop if there is one. */
const nextGroup = (at: number, rowEnd: number): Code[] => [
  ...[get(at), constant(groupSize * 4), op.add, tee(at)],
  ...[get(rowEnd), op.lessThan, branchIf(0)],
];

/** (rowEnd) → the highest logit, or -Infinity. */
function highest(): Code {
  const [rowEnd, at, ...best] = [0, 1, 2, 3, 4, 5] as const;
  const [a, b, c, d] = best;
  return [
    ...list([
      [1, i32],
      [4, v128],
    ]),
    ...[op.negativeInfinity, op.splat, tee(a), tee(b), tee(c), set(d)],
    op.loop,
    ...best.flatMap((local, index) => [get(local), get(at), load128(16 * index), op.maximum, set(local)]),
    ...nextGroup(at, rowEnd),
    op.end,
    ...[get(a), get(b), op.maximum, get(c), op.maximum, get(d), op.maximum, set(a)],
    ...[get(a), lane(0), get(a), lane(1), op.floatMaximum],
    ...[get(a), lane(2), op.floatMaximum, get(a), lane(3), op.floatMaximum],
    op.end,
  ].flat();
}

/** (rowEnd, floor, ids, logits) → how many are not below the floor. Writes their ids and logits. */
function gather(): Code {
  const [rowEnd, floor, ids, logits, at, bits, id, written, floors] = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;
  const reached = (index: number): Code[] => [get(at), load128(16 * index), get(floors), op.notBelow];
  return [
    ...list([
      [4, i32],
      [1, v128],
    ]),
    ...[get(floor), op.splat, set(floors)],
    op.loop,
    op.block,
    // Most groups have none.
    ...[...reached(0), ...reached(1), op.either, ...reached(2), op.either, ...reached(3), op.either],
    ...[op.anyTrue, op.isZero, branchIf(0)],
    ...[...reached(0), op.laneBits],
    ...[1, 2, 3].flatMap((index) => [...reached(index), op.laneBits, constant(4 * index), op.shiftLeft, op.or]),
    set(bits),
    // Each of its bits, the lowest first.
    op.loop,
    ...[get(ids), get(written), op.add],
    ...[get(at), constant(2), op.shiftRight, get(bits), op.trailingZeros, op.add, tee(id), op.storeInteger],
    ...[get(logits), get(written), op.add],
    ...[get(id), constant(2), op.shiftLeft, op.loadFloat, op.storeFloat],
    ...[get(written), constant(4), op.add, set(written)],
    ...[get(bits), get(bits), constant(1), op.subtract, op.and, tee(bits), branchIf(0)],
    op.end,
    op.end,
    ...nextGroup(at, rowEnd),
    op.end,
    ...[get(written), constant(2), op.shiftRight],
    op.end,
  ].flat();
}

const functionType = (takes: Code, returns: number): Code => [0x60, ...sized(takes), 1, returns];

/** A module with its own memory, at whose beginning the row is, in whole groups. */
export function rowScanCode(memoryPages: number): Uint8Array {
  return new Uint8Array([
    ...[...Buffer.from('\0asm'), 1, 0, 0, 0],
    ...section(1, [functionType([i32], f32), functionType([i32, f32, i32, i32], i32)]),
    ...section(3, [[0], [1]]),
    ...section(5, [[0, ...unsigned(memoryPages)]]),
    ...section(7, [
      [...named('highest'), 0, 0],
      [...named('gather'), 0, 1],
      [...named('memory'), 2, 0],
    ]),
    ...section(10, [sized(highest()), sized(gather())]),
  ]);
}
