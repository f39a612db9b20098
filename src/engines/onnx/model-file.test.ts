import { expect, test } from 'vitest';
import { type Network, writeModel } from '../../../scripts/conversion/onnx-file.ts';
import { keepOutputs, widenModel } from './model-file.ts';
import { OnnxSession } from './session.ts';
import { elementTypes, typedModel } from './testing/typed-model.ts';

const { float16, float32 } = elementTypes;

/** Half-precision numbers as bytes. */
const halves = (...bits: number[]): Uint8Array => new Uint8Array(Uint16Array.from(bits).buffer);

/** `product = input · factor`, computed in half precision. */
const scaled = (...factor: number[]) =>
  typedModel({
    nodes: [
      { operation: 'Cast', inputs: ['input'], output: 'narrow', to: float16 },
      { operation: 'Mul', inputs: ['narrow', 'factor'], output: 'wide' },
      { operation: 'Cast', inputs: ['wide'], output: 'product', to: float32 },
    ],
    weights: [{ name: 'factor', type: float16, shape: [factor.length], data: halves(...factor) }],
    input: { name: 'input', type: float32 },
    output: { name: 'product', type: float32 },
  });

async function productOf(model: Uint8Array, ...input: number[]): Promise<readonly number[]> {
  const session = await OnnxSession.open(model, { threads: 1 });
  const { product } = await session.run({ input: { data: Float32Array.from(input), shape: [input.length] } });
  session.release();
  return [...(product?.data ?? [])];
}

test('widenModel: values above the range of half precision stay finite', async () => {
  const threeHundred = 0x5cb0;
  expect(await productOf(widenModel(scaled(threeHundred)), 300)).toEqual([90_000]);
});

test('widenModel: weights keep their values, also negative, tiny and infinite ones', async () => {
  const factors = [0x3c00, 0xc000, 0x0001, 0x8400, 0x0000, 0x7c00];
  const products = await productOf(widenModel(scaled(...factors)), 1, 1, 1, 1, 1, 1);
  expect(products).toEqual([1, -2, 2 ** -24, -(2 ** -14), 0, Number.POSITIVE_INFINITY]);
});

test('widenModel: a model of single precision stays as it is', () => {
  const model = typedModel({
    nodes: [{ operation: 'Mul', inputs: ['input', 'factor'], output: 'product' }],
    weights: [{ name: 'factor', type: float32, shape: [1], data: new Uint8Array(Float32Array.of(3).buffer) }],
    input: { name: 'input', type: float32 },
    output: { name: 'product', type: float32 },
  });
  expect(Buffer.from(widenModel(model)).equals(model)).toBe(true);
});

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
