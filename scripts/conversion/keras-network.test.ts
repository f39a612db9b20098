import { describe, expect, test } from 'vitest';
import { pictureInput, pictureOutput } from '../../src/engines/image/facts.ts';
import { OnnxSession } from '../../src/engines/onnx/session.ts';
import { type KerasModel, onnxOfKeras } from './keras-network.ts';
import { writeModel } from './onnx-file.ts';

type Layer = KerasModel['modelTopology']['model_config']['config']['layers'][number];
type Weight = { readonly shape: readonly number[]; readonly data: readonly number[]; readonly dtype?: string };

function layer(kind: string, name: string, inputs: readonly string[], config: Layer['config'] = {}): Layer {
  return {
    class_name: kind,
    name,
    config,
    inbound_nodes: inputs.length > 0 ? [inputs.map((from) => [from, 0, 0, {}])] : [],
  };
}

function model(layers: readonly Layer[], weights: Readonly<Record<string, Weight>> = {}): [KerasModel, Uint8Array] {
  const output = layers.at(-1)?.name ?? '';
  const listed = Object.entries(weights).map(([name, { shape, dtype = 'float32' }]) => ({ name, shape, dtype }));
  const numbers = Object.values(weights).flatMap(({ data }) => data);
  return [
    {
      modelTopology: { model_config: { config: { layers, output_layers: [[output]] } } },
      weightsManifest: [{ weights: listed }],
    },
    new Uint8Array(Float32Array.from(numbers).buffer),
  ];
}

async function computed([keras, weights]: [KerasModel, Uint8Array], planes: readonly number[], width: number) {
  const session = await OnnxSession.open(writeModel(onnxOfKeras(keras, weights)), { threads: 1 });
  const data = Float32Array.from(planes);
  const output = (await session.run({ [pictureInput]: { data, shape: [1, 3, planes.length / 3 / width, width] } }))[
    pictureOutput
  ];
  session.release();
  return { shape: output?.shape, data: [...(output?.data ?? [])] };
}

const input = layer('InputLayer', 'LR', []);

describe('onnxOfKeras: convolution', () => {
  /** One row, three columns: selects the pixel to the left, with the colours in reverse order. */
  const kernel = Array.from({ length: 27 }, (_, index) => {
    const [column, from, to] = [Math.floor(index / 9), Math.floor(index / 3) % 3, index % 3];
    return column === 0 && from === 2 - to ? 1 : 0;
  });
  const weights = {
    'shift/kernel': { shape: [1, 3, 3, 3], data: kernel },
    'shift/bias': { shape: [3], data: [0, 0, 100] },
  };

  test('is equal with planar colours, and pads with zeros', async () => {
    const net = model([input, layer('Conv2D', 'shift', ['LR'], { activation: 'linear' })], weights);
    expect(await computed(net, [1, 2, 3, 4, 5, 6], 2)).toEqual({ shape: [1, 3, 1, 2], data: [0, 5, 0, 3, 100, 101] });
  });

  test('supports ReLU', async () => {
    const negative = { ...weights, 'shift/bias': { shape: [3], data: [-4, -4, -4] } };
    const net = model([input, layer('Conv2D', 'shift', ['LR'], { activation: 'relu' })], negative);
    expect((await computed(net, [1, 2, 3, 4, 5, 6], 2)).data).toEqual([0, 1, 0, 0, 0, 0]);
  });

  test('accepts pictures of any size', async () => {
    const net = model([input, layer('Conv2D', 'shift', ['LR'])], weights);
    expect((await computed(net, Array<number>(3 * 12).fill(1), 4)).shape).toEqual([1, 3, 3, 4]);
  });
});

describe('onnxOfKeras: other layers', () => {
  test('concatenate, add, ReLU and upsampling', async () => {
    const joined = model([input, layer('Concatenate', 'both', ['LR', 'LR'])]);
    expect(await computed(joined, [1, 2, 3], 1)).toEqual({ shape: [1, 6, 1, 1], data: [1, 2, 3, 1, 2, 3] });
    const added = model([input, layer('Add', 'sum', ['LR', 'LR', 'LR'])]);
    expect((await computed(added, [1, 2, 3], 1)).data).toEqual([3, 6, 9]);
    const cut = model([input, layer('Activation', 'cut', ['LR'], { activation: 'relu' })]);
    expect((await computed(cut, [-1, 0, 1], 1)).data).toEqual([0, 0, 1]);
    const wide = model([input, layer('UpSampling2D', 'wide', ['LR'], { size: [1, 2] })]);
    expect(await computed(wide, [1, 2, 3, 4, 5, 6], 2)).toEqual({
      shape: [1, 3, 1, 4],
      data: [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
    });
  });
});

describe('onnxOfKeras: rejects', () => {
  const refusal = (...args: Parameters<typeof model>) => {
    const [keras, weights] = model(...args);
    return () => onnxOfKeras(keras, weights);
  };

  test('unknown layers, activations and types, and missing weights, by name', () => {
    expect(refusal([input, layer('Dropout', 'd', ['LR'])])).toThrow('a layer of the unknown kind Dropout');
    expect(refusal([input, layer('Activation', 'a', ['LR'], { activation: 'tanh' })])).toThrow(
      'the unknown activation tanh',
    );
    expect(refusal([input, layer('Conv2D', 'c', ['LR'])])).toThrow('the upscaler has no weights c/kernel');
    expect(refusal([input], { w: { shape: [1], data: [1], dtype: 'uint8' } })).toThrow(
      'weights of the unknown type uint8',
    );
  });

  test('weights that end too early', () => {
    expect(refusal([input], { w: { shape: [9], data: [1] } })).toThrow('end too soon');
  });
});
