import { whole } from '../scripts/conversion/onnx-file.ts';
import { bytes, type Field, inner, readMessage, text, textOf, writeMessage } from '../src/engines/onnx/protobuf.ts';

const graphField = 7;
const [nodeField, weightField] = [1, 5];
const [float32, int8] = [1, 3];

interface Weight {
  readonly shape: readonly number[];
  readonly type: number;
  readonly raw: Uint8Array;
}

/**
 * The same network with its weights as 32-bit floats in the file: what makes them of 8-bit numbers and scales (a `Cast` and
 * a `Mul` for each) is computed here and left out of it.
 */
export function withFloatWeights(file: Uint8Array): Uint8Array {
  const model = readMessage(file);
  return writeMessage(
    model.map((field) => {
      if (field.number !== graphField || field.type !== 'bytes') return field;
      return inner(graphField, floatGraph(readMessage(field.value)));
    }),
  );
}

function floatGraph(graph: readonly Field[]): Field[] {
  const weights = new Map(graph.flatMap((field) => weightOf(field) ?? []));
  const castFrom = new Map<string, Weight>();
  const replaced = new Set<Field>();
  const used = new Set<Weight>();
  const initializers: Field[] = [];
  for (const field of graph) {
    const node = nodeOf(field);
    const [first = '', second = ''] = node?.inputs ?? [];
    const weight = weights.get(first);
    if (node?.operation === 'Cast' && weight?.type === int8) {
      castFrom.set(node.output, weight);
      used.add(weight);
      replaced.add(field);
    }
    const cast = castFrom.get(first);
    const scale = weights.get(second);
    if (node?.operation === 'Mul' && cast && scale) {
      const { shape } = cast;
      const data = new Uint8Array(scaled(cast, scale).buffer);
      initializers.push(
        inner(weightField, [...shape.map((n) => whole(1, n)), whole(2, float32), text(8, node.output), bytes(9, data)]),
      );
      replaced.add(field);
    }
  }
  const isUsed = (field: Field): boolean => {
    const [entry] = weightOf(field) ?? [];
    const weight = entry && weights.get(entry[0]);
    return weight !== undefined && used.has(weight);
  };
  return [...graph.filter((field) => !replaced.has(field) && !isUsed(field)), ...initializers];
}

/** One scale for each row, or for each column. */
function scaled({ raw, shape }: Weight, scale: Weight): Float32Array {
  const values = new Int8Array(raw.buffer, raw.byteOffset, raw.length);
  const scales = new Float32Array(new Uint8Array(scale.raw).buffer);
  const columns = shape.at(-1) ?? 1;
  const byRow = scale.shape.at(-1) === 1;
  return Float32Array.from(
    values,
    (value, index) => value * (scales[byRow ? Math.floor(index / columns) : index % columns] as number),
  );
}

function weightOf(field: Field): [string, Weight][] | undefined {
  if (field.number !== weightField || field.type !== 'bytes') return undefined;
  const fields = readMessage(field.value);
  const wholes = (number: number) =>
    fields.flatMap((one) => (one.number === number && one.type === 'whole' ? [Number(one.value)] : []));
  const pieces = (number: number) =>
    fields.flatMap((one) => (one.number === number && one.type === 'bytes' ? [one.value] : []));
  const [name = new Uint8Array()] = pieces(8);
  const [raw = new Uint8Array()] = pieces(9);
  return [[textOf(name), { shape: wholes(1), type: wholes(2)[0] ?? 0, raw }]];
}

function nodeOf(field: Field) {
  if (field.number !== nodeField || field.type !== 'bytes') return undefined;
  const fields = readMessage(field.value);
  const texts = (number: number) =>
    fields.flatMap((one) => (one.number === number && one.type === 'bytes' ? [textOf(one.value)] : []));
  return { inputs: texts(1), output: texts(2)[0] ?? '', operation: texts(4)[0] ?? '' };
}
