import {
  brIf,
  type Code,
  op as commonOp,
  f32,
  get,
  i32,
  i32Const,
  list,
  moduleCode,
  set,
  tee,
  v128,
  v128Load,
  vector,
} from '../core/web-assembly-code.ts';

// The WebAssembly of `RowScan`, instruction by instruction.

/** Number of logits per iteration: four vectors of four. */
export const groupSize = 16;

const f32x4ExtractLane = (index: number): Code => vector(0x1f, index);
const op = {
  ...commonOp,
  f32Load: [0x2a, 2, 0],
  f32Store: [0x38, 2, 0],
  /** `f32.const -inf`. */
  f32NegativeInfinity: [0x43, 0, 0, 0x80, 0xff],
  f32Max: [0x97],
  f32x4Splat: vector(0x13),
  f32x4Ge: vector(0x46),
  v128Or: vector(0x50),
  v128AnyTrue: vector(0x53),
  i32x4Bitmask: vector(0xa4),
  /** Returns the first operand if the second is NaN. */
  f32x4Pmax: vector(0xeb),
} satisfies Record<string, Code>;

/** Advances to the next group, and repeats the loop if there is one. */
const nextGroup = (at: number, rowEnd: number): Code[] => [
  ...[get(at), i32Const(groupSize * 4), op.i32Add, tee(at)],
  ...[get(rowEnd), op.i32LtU, brIf(0)],
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
    ...[op.f32NegativeInfinity, op.f32x4Splat, tee(a), tee(b), tee(c), set(d)],
    op.loop,
    ...best.flatMap((local, index) => [get(local), get(at), v128Load(16 * index), op.f32x4Pmax, set(local)]),
    ...nextGroup(at, rowEnd),
    op.end,
    ...[get(a), get(b), op.f32x4Pmax, get(c), op.f32x4Pmax, get(d), op.f32x4Pmax, set(a)],
    ...[get(a), f32x4ExtractLane(0), get(a), f32x4ExtractLane(1), op.f32Max],
    ...[get(a), f32x4ExtractLane(2), op.f32Max, get(a), f32x4ExtractLane(3), op.f32Max],
    op.end,
  ].flat();
}

/** (rowEnd, floor, ids, logits) → the number of logits that reach the floor. Writes their ids and logits. */
function gather(): Code {
  const [rowEnd, floor, ids, logits, at, bits, id, written, floors] = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;
  const reached = (index: number): Code[] => [get(at), v128Load(16 * index), get(floors), op.f32x4Ge];
  return [
    ...list([
      [4, i32],
      [1, v128],
    ]),
    ...[get(floor), op.f32x4Splat, set(floors)],
    op.loop,
    op.block,
    // Skips a group without such a logit, as most are.
    ...[...reached(0), ...reached(1), op.v128Or, ...reached(2), op.v128Or, ...reached(3), op.v128Or],
    ...[op.v128AnyTrue, op.i32Eqz, brIf(0)],
    ...[...reached(0), op.i32x4Bitmask],
    ...[1, 2, 3].flatMap((index) => [...reached(index), op.i32x4Bitmask, i32Const(4 * index), op.i32Shl, op.i32Or]),
    set(bits),
    // For each set bit, the lowest first.
    op.loop,
    ...[get(ids), get(written), op.i32Add],
    ...[get(at), i32Const(2), op.i32ShrU, get(bits), op.i32Ctz, op.i32Add, tee(id), op.i32Store],
    ...[get(logits), get(written), op.i32Add],
    ...[get(id), i32Const(2), op.i32Shl, op.f32Load, op.f32Store],
    ...[get(written), i32Const(4), op.i32Add, set(written)],
    ...[get(bits), get(bits), i32Const(1), op.i32Sub, op.i32And, tee(bits), brIf(0)],
    op.end,
    op.end,
    ...nextGroup(at, rowEnd),
    op.end,
    ...[get(written), i32Const(2), op.i32ShrU],
    op.end,
  ].flat();
}

/** A module with its own memory, which begins with the row in whole groups. */
export function rowScanCode(memoryPages: number): Uint8Array {
  const functions = [
    { name: 'highest', parameters: [i32], results: [f32], body: highest() },
    { name: 'gather', parameters: [i32, f32, i32, i32], results: [i32], body: gather() },
  ];
  return moduleCode(functions, memoryPages);
}
