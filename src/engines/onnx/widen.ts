import { type Field, readMessage, textOf, writeMessage } from './protobuf.ts';

/** Element types of ONNX. */
const float32 = 1;
const float16 = 10;

/** Field numbers of the messages of an ONNX file. */
const model = { graph: 7 } as const;
const graph = { node: 1, initializer: 5, input: 11, output: 12, valueInfo: 13 } as const;
const node = { attribute: 5 } as const;
const attribute = { name: 1, whole: 3, tensor: 5, graph: 6, tensors: 10, graphs: 11 } as const;
const tensor = { type: 2, words: 5, raw: 9 } as const;
const valueInfo = { type: 2 } as const;
const type = { tensor: 1 } as const;
const tensorType = { element: 1 } as const;

/** Attributes that name an element type: of Cast, and of operations that create tensors. */
const typeAttributes: ReadonlySet<string> = new Set(['to', 'dtype']);

/**
 * Rewrites a model of half precision to single precision. Processors compute in single precision: ONNX Runtime would convert
 * around every operation, which takes longer than the operations, and large values between them become infinite.
 */
export function widenModel(file: Uint8Array): Uint8Array {
  return joined(message(readMessage(file), { [model.graph]: widenGraph }));
}

/** Bytes that are written when all lengths are known, so that the weights are copied once. */
interface Piece {
  readonly length: number;
  write(target: Uint8Array, at: number): void;
}

type Rewrite = (value: Uint8Array) => readonly Piece[];

function widenGraph(value: Uint8Array): readonly Piece[] {
  return message(readMessage(value), {
    [graph.node]: widenNode,
    [graph.initializer]: widenTensor,
    [graph.input]: widenValueInfo,
    [graph.output]: widenValueInfo,
    [graph.valueInfo]: widenValueInfo,
  });
}

function widenNode(value: Uint8Array): readonly Piece[] {
  return message(readMessage(value), { [node.attribute]: widenAttribute });
}

function widenAttribute(value: Uint8Array): readonly Piece[] {
  const fields = readMessage(value);
  const name = fields.find(({ number }) => number === attribute.name)?.value;
  const namesType = name instanceof Uint8Array && typeAttributes.has(textOf(name));
  const widened = namesType ? fields.map((field) => widenType(field, attribute.whole)) : fields;
  return message(widened, {
    [attribute.tensor]: widenTensor,
    [attribute.tensors]: widenTensor,
    [attribute.graph]: widenGraph,
    [attribute.graphs]: widenGraph,
  });
}

function widenValueInfo(value: Uint8Array): readonly Piece[] {
  return message(readMessage(value), {
    [valueInfo.type]: (typeOf) =>
      message(readMessage(typeOf), {
        [type.tensor]: (shaped) =>
          message(
            readMessage(shaped).map((field) => widenType(field, tensorType.element)),
            {},
          ),
      }),
  });
}

function widenTensor(value: Uint8Array): readonly Piece[] {
  const fields = readMessage(value);
  if (!fields.some(({ number, value: kind }) => number === tensor.type && kind === BigInt(float16)))
    return [bytes(value)];
  return message(
    fields.flatMap((field) => (field.number === tensor.words ? [] : [widenType(field, tensor.type)])),
    { [tensor.raw]: (halves) => [widened(halves)] },
  );
}

function widenType(field: Field, number: number): Field {
  const isHalf = field.number === number && field.type === 'whole' && field.value === BigInt(float16);
  return isHalf ? { ...field, value: BigInt(float32) } : field;
}

/** Writes a message, with some of its fields rewritten. */
function message(fields: readonly Field[], rewrites: Readonly<Record<number, Rewrite>>): readonly Piece[] {
  return fields.flatMap((field) => {
    const rewrite = rewrites[field.number];
    if (field.type !== 'bytes' || !rewrite) return [bytes(writeMessage([field]))];
    const inside = rewrite(field.value);
    return [bytes(headOf(field.number, lengthOf(inside))), ...inside];
  });
}

/** The number and length of a field, which precede its bytes. */
function headOf(number: number, length: number): Uint8Array {
  const head: number[] = [];
  for (let rest of [number * 8 + 2, length]) {
    for (; rest > 127; rest = Math.floor(rest / 128)) head.push((rest % 128) + 128);
    head.push(rest);
  }
  return Uint8Array.from(head);
}

function bytes(value: Uint8Array): Piece {
  return { length: value.length, write: (target, at) => target.set(value, at) };
}

function widened(halves: Uint8Array): Piece {
  return {
    length: 2 * halves.length,
    write: (target, at) => {
      const values = new Float32Array(halves.length / 2);
      for (let index = 0; index < values.length; index++) {
        const bits = (halves[2 * index] as number) | ((halves[2 * index + 1] as number) << 8);
        values[index] = singles[bits] as number;
      }
      target.set(new Uint8Array(values.buffer), at);
    },
  };
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

function joined(pieces: readonly Piece[]): Uint8Array {
  const target = new Uint8Array(lengthOf(pieces));
  let at = 0;
  for (const piece of pieces) {
    piece.write(target, at);
    at += piece.length;
  }
  return target;
}

/** The value of each half-precision number. */
const singles = Float32Array.from({ length: 2 ** 16 }, (_, bits) => singleOf(bits));

function singleOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}
