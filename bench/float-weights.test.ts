import { expect, test } from 'vitest';
import { whole, writeModel } from '../scripts/conversion/onnx-file.ts';
import { bytes, type Field, inner, readMessage, text, textOf, writeMessage } from '../src/engines/onnx/protobuf.ts';
import { OnnxSession } from '../src/engines/onnx/session.ts';
import { withFloatWeights } from './float-weights.ts';

/** `out = in · (weights · scales)`, with weights of 8 bits that are put in by hand. */
function packed(scales: readonly number[], shape: readonly number[]): Uint8Array {
  const model = readMessage(
    writeModel({
      nodes: [
        { operation: 'Cast', inputs: ['w_q'], output: 'w_c', attributes: { to: 1 } },
        { operation: 'Mul', inputs: ['w_c', 'w_s'], output: 'w' },
        { operation: 'MatMul', inputs: ['in', 'w'], output: 'out' },
      ],
      weights: { w_s: { data: Float32Array.from(scales), shape } },
      inputs: [{ name: 'in', shape: [1, 2] }],
      outputs: [{ name: 'out', shape: [1, 3] }],
    }),
  );
  const small = new Uint8Array(Int8Array.of(1, -2, 3, 4, -5, 127).buffer);
  const weight = inner(5, [whole(1, 2), whole(1, 3), whole(2, 3), text(8, 'w_q'), bytes(9, small)]);
  return writeMessage(
    model.map((field) =>
      field.number === 7 && field.type === 'bytes' ? inner(7, [...readMessage(field.value), weight]) : field,
    ),
  );
}

async function computed(file: Uint8Array): Promise<number[]> {
  const session = await OnnxSession.open(file, { threads: 1 });
  const { out } = await session.run({ in: { data: Float32Array.of(1, 10), shape: [1, 2] } });
  session.release();
  return [...(out?.data ?? [])];
}

const operations = (file: Uint8Array): string[] => {
  const graph = readMessage(file).find(({ number }) => number === 7) as Field & { value: Uint8Array };
  return readMessage(graph.value)
    .filter(({ number }) => number === 1)
    .flatMap(({ value }) => readMessage(value as Uint8Array).filter(({ number }) => number === 4))
    .map(({ value }) => textOf(value as Uint8Array));
};

test.each([
  ['row', [0.5, 2], [2, 1], [80.5, -101, 2541.5]],
  ['column', [1, 2, 3], [1, 3], [41, -104, 3819]],
] as const)(
  'weights with a scale for each %s come out as floats, and the network computes the same',
  async (_, scales, shape, result) => {
    const file = packed(scales, shape);
    const floats = withFloatWeights(file);
    expect(operations(file)).toEqual(['Cast', 'Mul', 'MatMul']);
    expect(operations(floats)).toEqual(['MatMul']);
    expect(await computed(file)).toEqual([...result]);
    expect(await computed(floats)).toEqual([...result]);
  },
);
