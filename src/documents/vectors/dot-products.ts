import { attempt } from '../../core/attempt.ts';
import {
  brIf,
  type Code,
  op as commonOp,
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
} from '../../core/web-assembly-code.ts';

/** Rows of vectors have a multiple of this many dimensions. */
export const rowStep = 16;

const op = {
  ...commonOp,
  i32x4Add: vector(0xae),
  i32x4DotI16x8S: vector(0xba),
  i16x8ExtendLowI8x16S: vector(0x87),
  i16x8ExtendHighI8x16S: vector(0x88),
  v128Zero: vector(0x0c, ...Array<number>(16).fill(0)),
} satisfies Record<string, Code>;
const i32x4ExtractLane = (index: number): Code => vector(0x1b, index);

/**
 * (query, row, rowsEnd, dimensions, products): writes the dot product of the query with each row. The query has numbers of 16 bits, so that
 * it is not widened for each row; rows have numbers of 8 bits, one after the other.
 */
function dotProducts(): Code {
  const [query, row, rowsEnd, dimensions, products, at, rowEnd, sum, part] = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;
  const product = (extend: Code, offset: number): Code[] => [
    ...[get(part), extend, get(at), v128Load(offset), op.i32x4DotI16x8S],
  ];
  return [
    ...list([
      [2, i32],
      [2, v128],
    ]),
    op.loop,
    ...[get(query), set(at), op.v128Zero, set(sum)],
    ...[get(row), get(dimensions), op.i32Add, set(rowEnd)],
    op.loop,
    ...[get(row), v128Load(0), set(part)],
    ...[...product(op.i16x8ExtendLowI8x16S, 0), ...product(op.i16x8ExtendHighI8x16S, 16), op.i32x4Add],
    ...[get(sum), op.i32x4Add, set(sum)],
    ...[get(at), i32Const(2 * rowStep), op.i32Add, set(at)],
    ...[get(row), i32Const(rowStep), op.i32Add, tee(row), get(rowEnd), op.i32LtU, brIf(0)],
    op.end,
    get(products),
    ...[get(sum), i32x4ExtractLane(0), get(sum), i32x4ExtractLane(1), op.i32Add],
    ...[get(sum), i32x4ExtractLane(2), op.i32Add, get(sum), i32x4ExtractLane(3), op.i32Add],
    op.i32Store,
    ...[get(products), i32Const(4), op.i32Add, set(products)],
    ...[get(row), get(rowsEnd), op.i32LtU, brIf(0)],
    op.end,
    op.end,
  ].flat();
}

interface Exports {
  readonly memory: VectorMemory;
  readonly dotProducts: DotProducts['run'];
}

interface VectorMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** Positions are in bytes. There is at least one row. */
export interface DotProducts {
  readonly memory: VectorMemory;
  run(query: number, rows: number, rowsEnd: number, dimensions: number, products: number): void;
}

/** The types of Node do not declare these. */
const wasm = WebAssembly as unknown as {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Exports };
  readonly Memory: new (size: { readonly initial: number }) => VectorMemory;
};

/** With SIMD instructions, which an old processor may not have. */
export function dotProductsFor(memoryPages: number): DotProducts {
  return attempt(() => simdDotProducts(memoryPages), undefined) ?? plainDotProducts(memoryPages);
}

function simdDotProducts(memoryPages: number): DotProducts {
  const parameters = [i32, i32, i32, i32, i32];
  const code = moduleCode([{ name: 'dotProducts', parameters, results: [], body: dotProducts() }], memoryPages);
  const { memory, dotProducts: run } = new wasm.Instance(new wasm.Module(code)).exports;
  return { memory, run };
}

/** The same as a loop. */
export function plainDotProducts(memoryPages: number): DotProducts {
  const memory = new wasm.Memory({ initial: memoryPages });
  return {
    memory,
    run: (query, rows, rowsEnd, dimensions, products) => {
      const numbers = new Int16Array(memory.buffer, query, dimensions);
      const bytes = new Int8Array(memory.buffer, rows, rowsEnd - rows);
      const results = new Int32Array(memory.buffer, products, bytes.length / dimensions);
      for (let row = 0, at = 0; at < bytes.length; row += 1) {
        let sum = 0;
        for (let index = 0; index < dimensions; index += 1, at += 1) sum += (numbers[index] ?? 0) * (bytes[at] ?? 0);
        results[row] = sum;
      }
    },
  };
}
