import { expect, test } from 'vitest';
import { type Field, readMessage, textOf } from '../../src/engines/onnx/protobuf.ts';
import { OnnxSession } from '../../src/engines/onnx/session.ts';
import { type Network, writeModel } from './onnx-file.ts';

const fieldsAt = (fields: readonly Field[], number: number): Field[][] =>
  fields.flatMap((field) => (field.number === number && field.type === 'bytes' ? [readMessage(field.value)] : []));
const textAt = (fields: readonly Field[], number: number): string[] =>
  fields.flatMap((field) => (field.number === number && field.type === 'bytes' ? [textOf(field.value)] : []));

const network: Network = {
  nodes: [
    { operation: 'Transpose', inputs: ['in'], output: 'turned', attributes: { perm: [1, 0] } },
    { operation: 'Concat', inputs: ['turned', 'more'], output: 'out', attributes: { axis: 1 } },
  ],
  weights: { more: { data: Float32Array.of(7, 8, 9), shape: [3, 1] } },
  inputs: [{ name: 'in', shape: ['rows', 3] }],
  outputs: [{ name: 'out', shape: [3, 'columns'] }],
};

test('writeModel: writes nodes in order, weights and ports', () => {
  const file = readMessage(writeModel(network));
  const [graph = []] = fieldsAt(file, 7);
  expect(fieldsAt(graph, 1).map((node) => [textAt(node, 4), textAt(node, 1), textAt(node, 2)])).toEqual([
    [['Transpose'], ['in'], ['turned']],
    [['Concat'], ['turned', 'more'], ['out']],
  ]);
  expect(fieldsAt(graph, 5).map((weight) => textAt(weight, 8))).toEqual([['more']]);
  expect([fieldsAt(graph, 11), fieldsAt(graph, 12)].map((ports) => ports.map((port) => textAt(port, 1)))).toEqual([
    [['in']],
    [['out']],
  ]);
});

test('writeModel: ONNX Runtime reads attributes and weights as written', async () => {
  const session = await OnnxSession.open(writeModel(network), { threads: 1 });
  const { out } = await session.run({ in: { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] } });
  expect(out).toEqual({ shape: [3, 3], data: Float32Array.of(1, 4, 7, 2, 5, 8, 3, 6, 9) });
  session.release();
});

test('writeModel: writes only the viewed part of a larger array', async () => {
  const data = Float32Array.of(0, 0, 7, 8, 9, 0).subarray(2, 5);
  const session = await OnnxSession.open(writeModel({ ...network, weights: { more: { data, shape: [3, 1] } } }), {
    threads: 1,
  });
  const { out } = await session.run({ in: { data: Float32Array.of(1, 2, 3), shape: [1, 3] } });
  expect([...(out?.data ?? [])]).toEqual([1, 7, 2, 8, 3, 9]);
  session.release();
});

test('writeModel: text attributes and omitted inputs', async () => {
  const nearest: Network = {
    nodes: [
      {
        operation: 'Resize',
        inputs: ['in', '', 'scales'],
        output: 'out',
        attributes: { mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' },
      },
    ],
    weights: { scales: { data: Float32Array.of(1, 2), shape: [2] } },
    inputs: [{ name: 'in', shape: [1, 'n'] }],
    outputs: [{ name: 'out', shape: [1, 'm'] }],
  };
  const session = await OnnxSession.open(writeModel(nearest), { threads: 1 });
  const { out } = await session.run({ in: { data: Float32Array.of(1, 2, 3), shape: [1, 3] } });
  expect(out).toEqual({ shape: [1, 6], data: Float32Array.of(1, 1, 2, 2, 3, 3) });
  session.release();
});
