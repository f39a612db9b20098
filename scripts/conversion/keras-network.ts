import { pictureInput, pictureOutput } from '../../src/engines/image/facts.ts';
import type { Tensor } from '../../src/engines/onnx/session.ts';
import type { Network, Node } from './onnx-file.ts';

/** A network as Keras writes it down for browsers, as far as the upscalers use it. */
export interface KerasModel {
  readonly modelTopology: {
    readonly model_config: {
      readonly config: { readonly layers: readonly Layer[]; readonly output_layers: readonly [readonly [string]] };
    };
  };
  readonly weightsManifest: readonly {
    readonly weights: readonly { readonly name: string; readonly shape: readonly number[]; readonly dtype: string }[];
  }[];
}

interface Layer {
  readonly class_name: string;
  readonly name: string;
  readonly config: { readonly activation?: string; readonly size?: readonly [number, number] };
  readonly inbound_nodes: readonly (readonly (readonly [string, ...unknown[]])[])[];
}

/**
 * The same network for ONNX Runtime: colours in planes instead of pixel by pixel, of any height and width. Throws for layers
 * that it does not know.
 */
export function onnxOfKeras(model: KerasModel, weightBytes: Uint8Array): Network {
  const { layers, output_layers: outputs } = model.modelTopology.model_config.config;
  const stored = readWeights(model, weightBytes);
  const weights: Record<string, Tensor> = {};
  const nodes: Node[] = [];
  const weightOf = (name: string): Tensor => {
    const tensor = stored.get(name);
    if (!tensor) throw new Error(`the upscaler has no weights ${name}`);
    return tensor;
  };
  for (const { class_name: kind, name, config, inbound_nodes: inbound } of layers) {
    const inputs = (inbound[0] ?? []).map(([from]) => from);
    switch (kind) {
      case 'InputLayer':
        nodes.push({ operation: 'Identity', inputs: [pictureInput], output: name });
        break;
      case 'Conv2D': {
        weights[`${name}/w`] = outputsFirst(weightOf(`${name}/kernel`));
        weights[`${name}/b`] = weightOf(`${name}/bias`);
        const convolved = `${name}/convolved`;
        const attributes = convolution(weights[`${name}/w`] as Tensor);
        nodes.push({ operation: 'Conv', inputs: [...inputs, `${name}/w`, `${name}/b`], output: convolved, attributes });
        nodes.push(activation(config.activation ?? 'linear', convolved, name));
        break;
      }
      case 'Activation':
        nodes.push(activation(config.activation ?? 'linear', inputs[0] ?? '', name));
        break;
      case 'Concatenate':
        nodes.push({ operation: 'Concat', inputs, output: name, attributes: { axis: 1 } });
        break;
      case 'Add':
        nodes.push({ operation: 'Sum', inputs, output: name });
        break;
      case 'UpSampling2D': {
        const [down = 1, across = 1] = config.size ?? [];
        weights[`${name}/scales`] = { data: Float32Array.of(1, 1, down, across), shape: [4] };
        nodes.push({
          operation: 'Resize',
          inputs: [inputs[0] ?? '', '', `${name}/scales`],
          output: name,
          attributes: { mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' },
        });
        break;
      }
      default:
        throw new Error(`the upscaler has a layer of the unknown kind ${kind}`);
    }
  }
  nodes.push({ operation: 'Identity', inputs: [outputs[0][0]], output: pictureOutput });
  return {
    nodes,
    weights,
    inputs: [{ name: pictureInput, shape: [1, 3, 'height', 'width'] }],
    outputs: [{ name: pictureOutput, shape: [1, 3, 'larger height', 'larger width'] }],
  };
}

function activation(name: string, input: string, output: string): Node {
  if (name === 'linear') return { operation: 'Identity', inputs: [input], output };
  if (name === 'relu') return { operation: 'Relu', inputs: [input], output };
  throw new Error(`the upscaler has the unknown activation ${name}`);
}

/** Everything around the picture counts as 0, so that it keeps its size. */
function convolution({ shape }: Tensor) {
  const [, , high = 1, wide = 1] = shape;
  const before = [high, wide].map((length) => (length - 1) >> 1);
  const after = [high, wide].map((length) => length >> 1);
  return { kernel_shape: [high, wide], pads: [...before, ...after] };
}

/** From rows, columns, inputs, outputs to outputs, inputs, rows, columns. */
function outputsFirst({ data, shape }: Tensor): Tensor {
  const [high = 1, wide = 1, inputs = 1, outputs = 1] = shape;
  const moved = new Float32Array(data.length);
  let next = 0;
  for (let output = 0; output < outputs; output += 1) {
    for (let input = 0; input < inputs; input += 1) {
      for (let pixel = 0; pixel < high * wide; pixel += 1) {
        moved[next++] = data[(pixel * inputs + input) * outputs + output] as number;
      }
    }
  }
  return { data: moved, shape: [outputs, inputs, high, wide] };
}

function readWeights({ weightsManifest }: KerasModel, bytes: Uint8Array): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  let next = 0;
  for (const { name, shape, dtype } of weightsManifest.flatMap(({ weights }) => weights)) {
    if (dtype !== 'float32') throw new Error(`the upscaler has weights of the unknown type ${dtype}`);
    const length = shape.reduce((product, one) => product * one, Float32Array.BYTES_PER_ELEMENT);
    const own = new Uint8Array(bytes.subarray(next, next + length));
    if (own.length < length) throw new Error('the weights of the upscaler end too soon');
    tensors.set(name, { data: new Float32Array(own.buffer), shape });
    next += length;
  }
  return tensors;
}
