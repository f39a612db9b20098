import { expect, test } from 'vitest';
import { type Network, writeModel } from '../../../scripts/conversion/onnx-file.ts';
import { keepOutputs } from './outputs.ts';
import { OnnxSession } from './session.ts';

const network: Network = {
  nodes: [
    { operation: 'Mul', inputs: ['left', 'right'], output: 'product' },
    { operation: 'Add', inputs: ['product', 'right'], output: 'sum' },
  ],
  weights: {},
  inputs: [
    { name: 'left', shape: ['n'] },
    { name: 'right', shape: ['n'] },
  ],
  outputs: [
    { name: 'product', shape: ['n'] },
    { name: 'sum', shape: ['n'] },
  ],
};

const row = (...data: number[]) => ({ data: Float32Array.from(data), shape: [data.length] });

test('keepOutputs: the network computes the named outputs only', async () => {
  const inputs = { left: row(2, 3), right: row(10, 20) };
  const whole = await OnnxSession.open(writeModel(network), { threads: 1 });
  expect(Object.keys(await whole.run(inputs)).sort()).toEqual(['product', 'sum']);
  const smaller = await OnnxSession.open(keepOutputs(writeModel(network), ['sum']), { threads: 1 });
  expect(await smaller.run(inputs)).toEqual({ sum: row(30, 80) });
  whole.release();
  smaller.release();
});
