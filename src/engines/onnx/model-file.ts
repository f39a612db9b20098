import { type Field, headOf, readMessage, textOf, writeMessage } from './protobuf.ts';

/** Element types of ONNX. */
const float32 = 1;
const float16 = 10;

/** Field numbers of the messages of an ONNX file. */
const model = { graph: 7 } as const;
const graph = { node: 1, initializer: 5, input: 11, output: 12, valueInfo: 13 } as const;
const node = { attribute: 5 } as const;
const attribute = { whole: 3, tensor: 5, graph: 6, tensors: 10, graphs: 11 } as const;
const tensor = { type: 2, words: 5, raw: 9 } as const;
const valueInfo = { type: 2 } as const;
const type = { tensor: 1 } as const;
const tensorType = { element: 1 } as const;
/** The name of an attribute or of a value info. */
const nameNumber = 1;

/** Attributes that name an element type: of Cast, and of operations that create tensors. */
const typeAttributes: ReadonlySet<string> = new Set(['to', 'dtype']);

/** The model with these outputs only. The memory of unused outputs would be allocated for the whole run. */
export function keepOutputs(file: Uint8Array, names: readonly string[]): Uint8Array {
  const isKept = ({ number, value }: Field) => number !== graph.output || names.includes(nameIn(value as Uint8Array));
  return joined(nested({ [model.graph]: (value) => [bytes(writeMessage(readMessage(value).filter(isKept)))] })(file));
}

function nameIn(value: Uint8Array): string {
  const name = readMessage(value).find(({ number }) => number === nameNumber)?.value;
  return name instanceof Uint8Array ? textOf(name) : '';
}

/** Bytes that are written when all lengths are known, so that the weights are copied once. */
interface Piece {
  readonly length: number;
  write(target: Uint8Array, at: number): void;
}

type Rewrite = (value: Uint8Array) => readonly Piece[];
/** By the number of the field. */
type Rewrites = Readonly<Record<number, Rewrite>>;

/** Rewrites some fields of a message. */
const nested =
  (rewrites: Rewrites): Rewrite =>
  (value) =>
    message(readMessage(value), rewrites);

/** Widens the element type in a field of a message. */
const retyped =
  (number: number): Rewrite =>
  (value) =>
    message(readMessage(value).map((field) => widenType(field, number)));

const widenValueInfo = nested({ [valueInfo.type]: nested({ [type.tensor]: retyped(tensorType.element) }) });

const widenGraph = nested({
  [graph.node]: nested({ [node.attribute]: widenAttribute }),
  [graph.initializer]: widenTensor,
  [graph.input]: widenValueInfo,
  [graph.output]: widenValueInfo,
  [graph.valueInfo]: widenValueInfo,
});

/**
 * Rewrites a model of half precision to single precision. Processors compute in single precision: ONNX Runtime would convert
 * around every operation, which takes longer than the operations, and large values between them become infinite.
 */
export function widenModel(file: Uint8Array): Uint8Array {
  return joined(nested({ [model.graph]: widenGraph })(file));
}

function widenAttribute(value: Uint8Array): readonly Piece[] {
  const fields = readMessage(value);
  const namesType = typeAttributes.has(nameIn(value));
  return message(namesType ? fields.map((field) => widenType(field, attribute.whole)) : fields, {
    [attribute.tensor]: widenTensor,
    [attribute.tensors]: widenTensor,
    [attribute.graph]: widenGraph,
    [attribute.graphs]: widenGraph,
  });
}

function widenTensor(value: Uint8Array): readonly Piece[] {
  const fields = readMessage(value);
  const isHalf = fields.some((field) => field.number === tensor.type && field.value === BigInt(float16));
  if (!isHalf) return [bytes(value)];
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
function message(fields: readonly Field[], rewrites: Rewrites = {}): readonly Piece[] {
  return fields.flatMap((field) => {
    const rewrite = rewrites[field.number];
    if (field.type !== 'bytes' || !rewrite) return [bytes(writeMessage([field]))];
    const pieces = rewrite(field.value);
    return [...headOf(field.number, lengthOf(pieces)).map(bytes), ...pieces];
  });
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
