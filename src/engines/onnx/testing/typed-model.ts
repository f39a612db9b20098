import { bytes, type Field, inner, text, writeMessage } from '../protobuf.ts';

/** Element types of ONNX. */
export const elementTypes = { float32: 1, int64: 7, float16: 10 } as const;

export interface TypedNode {
  readonly operation: string;
  readonly inputs: readonly string[];
  readonly output: string;
  /** Of Cast. */
  readonly to?: number;
}

export interface TypedTensor {
  readonly name: string;
  readonly type: number;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** An ONNX file whose tensors have any types, for tests. Ports are vectors of any length. */
export function typedModel(parts: {
  readonly nodes: readonly TypedNode[];
  readonly weights: readonly TypedTensor[];
  readonly input: { readonly name: string; readonly type: number };
  readonly output: { readonly name: string; readonly type: number };
}): Uint8Array {
  const port = ({ name, type }: { readonly name: string; readonly type: number }): Field[] => {
    const shape = inner(2, [inner(1, [text(2, 'n')])]);
    return [text(1, name), inner(2, [inner(1, [whole(1, type), shape])])];
  };
  const graph = [
    ...parts.nodes.map(({ operation, inputs, output, to }) =>
      inner(1, [
        ...inputs.map((name) => text(1, name)),
        text(2, output),
        text(3, output),
        text(4, operation),
        ...(to === undefined ? [] : [inner(5, [text(1, 'to'), whole(3, to), whole(20, 2)])]),
      ]),
    ),
    text(2, 'graph'),
    ...parts.weights.map(({ name, type, shape, data }) =>
      inner(5, [...shape.map((length) => whole(1, length)), whole(2, type), text(8, name), bytes(9, data)]),
    ),
    inner(11, port(parts.input)),
    inner(12, port(parts.output)),
  ];
  return writeMessage([whole(1, 8), inner(7, graph), inner(8, [text(1, ''), whole(2, 13)])]);
}

function whole(number: number, value: number): Field {
  return { number, type: 'whole', value: BigInt(value) };
}
