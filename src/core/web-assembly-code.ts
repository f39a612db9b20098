// What modules of WebAssembly are assembled from, where they are too short to justify a compiler as a dependency. Instructions are named as
// in the text format: `i32.add` is `i32Add`.

import { Buffer } from 'node:buffer';

export type Code = readonly number[];

export const [i32, f32, v128] = [0x7f, 0x7d, 0x7b] as const;

/** LEB128: groups of seven bits, the lowest first; all numbers here are positive. */
export function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}
function signed(value: number): number[] {
  return value < 64 ? [value] : [(value & 127) | 128, ...signed(value >>> 7)];
}

export const list = (items: readonly Code[]): number[] => [...unsigned(items.length), ...items.flat()];
export const sized = (bytes: Code): number[] => [...unsigned(bytes.length), ...bytes];
const section = (id: number, items: readonly Code[]): number[] => [id, ...sized(list(items))];
const named = (name: string): number[] => sized([...Buffer.from(name)]);
export const vector = (code: number, ...rest: number[]): number[] => [0xfd, ...unsigned(code), ...rest];

export const get = (local: number): Code => [0x20, local];
export const set = (local: number): Code => [0x21, local];
export const tee = (local: number): Code => [0x22, local];
export const brIf = (depth: number): Code => [0x0d, depth];
export const i32Const = (value: number): Code => [0x41, ...signed(value)];
/** The alignment is only a hint. */
export const v128Load = (offset: number): Code => vector(0x00, 4, offset);

export const op = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  end: [0x0b],
  i32Eqz: [0x45],
  i32LtU: [0x49],
  i32Ctz: [0x68],
  i32Add: [0x6a],
  i32Sub: [0x6b],
  i32And: [0x71],
  i32Or: [0x72],
  i32Shl: [0x74],
  i32ShrU: [0x76],
  i32Store: [0x36, 2, 0],
} satisfies Record<string, Code>;

interface CodeFunction {
  readonly name: string;
  readonly parameters: Code;
  readonly results: Code;
  /** Local variables, and instructions up to the last `end`. */
  readonly body: Code;
}

/** A module that exports these functions, and its own memory of so many pages as `memory`. */
export function moduleCode(functions: readonly CodeFunction[], memoryPages: number): Uint8Array {
  return new Uint8Array([
    ...[...Buffer.from('\0asm'), 1, 0, 0, 0],
    ...section(
      1,
      functions.map(({ parameters, results }) => [0x60, ...sized(parameters), ...sized(results)]),
    ),
    ...section(
      3,
      functions.map((_, index) => [index]),
    ),
    ...section(5, [[0, ...unsigned(memoryPages)]]),
    ...section(7, [...functions.map(({ name }, index) => [...named(name), 0, index]), [...named('memory'), 2, 0]]),
    ...section(
      10,
      functions.map(({ body }) => sized(body)),
    ),
  ]);
}
