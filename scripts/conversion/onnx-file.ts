import { bytes, type Field, inner, text, writeMessage } from '../../src/engines/onnx/protobuf.ts';
import type { Tensor } from '../../src/engines/onnx/session.ts';

/** An ONNX graph; nodes in order of computation. */
export interface Network {
  readonly nodes: readonly Node[];
  readonly weights: Readonly<Record<string, Tensor>>;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
}

export interface Node {
  readonly operation: string;
  /** An empty name omits an input. */
  readonly inputs: readonly string[];
  readonly output: string;
  readonly attributes?: Readonly<Record<string, number | readonly number[] | string>>;
}

export interface Port {
  readonly name: string;
  /** A name is a dynamic dimension. */
  readonly shape: readonly (number | string)[];
}

const operatorVersion = 13;
const fileVersion = 8;
const float32 = 1;
const attributeType = { whole: 2, text: 3, wholes: 7 };

/** Attributes are integers, weights 32-bit floats. */
export function writeModel({ nodes, weights, inputs, outputs }: Network): Uint8Array {
  const graph = [
    ...nodes.map((node) => inner(1, nodeFields(node))),
    text(2, 'network'),
    ...Object.entries(weights).map(([name, tensor]) => inner(5, weightFields(name, tensor))),
    ...inputs.map((port) => inner(11, portFields(port))),
    ...outputs.map((port) => inner(12, portFields(port))),
  ];
  return writeMessage([whole(1, fileVersion), inner(7, graph), inner(8, [text(1, ''), whole(2, operatorVersion)])]);
}

function nodeFields({ operation, inputs, output, attributes = {} }: Node): Field[] {
  return [
    ...inputs.map((name) => text(1, name)),
    text(2, output),
    text(3, output),
    text(4, operation),
    ...Object.entries(attributes).map(([name, value]) => inner(5, [text(1, name), ...attributeFields(value)])),
  ];
}

function attributeFields(value: number | readonly number[] | string): Field[] {
  if (typeof value === 'string') return [text(4, value), whole(20, attributeType.text)];
  if (typeof value === 'number') return [whole(3, value), whole(20, attributeType.whole)];
  return [...value.map((one) => whole(8, one)), whole(20, attributeType.wholes)];
}

function weightFields(name: string, { data, shape }: Tensor): Field[] {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return [...shape.map((length) => whole(1, length)), whole(2, float32), text(8, name), bytes(9, raw)];
}

function portFields({ name, shape }: Port): Field[] {
  const lengths = shape.map((length) => inner(1, [typeof length === 'string' ? text(2, length) : whole(1, length)]));
  return [text(1, name), inner(2, [inner(1, [whole(1, float32), inner(2, lengths)])])];
}

export function whole(number: number, value: number | bigint): Field {
  return { number, type: 'whole', value: BigInt.asUintN(64, BigInt(value)) };
}
