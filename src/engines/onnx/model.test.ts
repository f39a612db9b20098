import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bytes,
  type Field,
  inner,
  type Network,
  readMessage,
  text,
  textOf,
  whole,
  writeMessage,
  writeModel,
} from './model.ts';
import { OnnxSession } from './session.ts';

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

const number = fc.integer({ min: 1, max: 2 ** 29 - 1 });
const anyField: fc.Arbitrary<Field> = fc.oneof(
  fc.record({ number, type: fc.constant('whole' as const), value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
  fc.record({ number, type: fc.constant('bytes' as const), value: fc.uint8Array({ maxLength: 300 }) }),
  fc.record({
    number,
    type: fc.constant('plain' as const),
    value: fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 8, maxLength: 8 })),
  }),
);

const plainly = (fields: readonly Field[]) =>
  fields.map(({ number: place, type, value }) => [place, type, typeof value === 'bigint' ? value : [...value]]);

describe('readMessage', () => {
  test('reads what writeMessage has written', () => {
    fc.assert(
      fc.property(fc.array(anyField), (fields) => {
        expect(plainly(readMessage(writeMessage(fields)))).toEqual(plainly(fields));
      }),
    );
  });

  test('has the bytes of the format', () => {
    expect([...writeMessage([whole(1, 150)])]).toEqual([0x08, 0x96, 0x01]);
    expect([...writeMessage([text(2, 'testing')])]).toEqual([0x12, 7, ...Buffer.from('testing')]);
    expect([...writeMessage([inner(3, [whole(1, 150)])])]).toEqual([0x1a, 3, 0x08, 0x96, 0x01]);
    expect([...writeMessage([whole(1, -1)])]).toEqual([0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
  });

  test('returns views, not copies', () => {
    const message = writeMessage([bytes(1, Uint8Array.of(1, 2, 3))]);
    const [field] = readMessage(message) as [Field];
    expect((field.value as Uint8Array).buffer).toBe(message.buffer);
  });

  test('supports UTF-8', () => {
    const [field] = readMessage(writeMessage([text(1, 'grün 🍏')]));
    expect(textOf(field?.value as Uint8Array)).toBe('grün 🍏');
  });

  test('an empty message has no fields', () => {
    expect(readMessage(new Uint8Array())).toEqual([]);
    expect(writeMessage([]).length).toBe(0);
  });
});

describe('readMessage: invalid messages', () => {
  const refusal = (...given: number[]) => {
    try {
      readMessage(Uint8Array.from(given));
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test('truncated', () => {
    expect(refusal(0x08)).toBe('the file ends in the middle of a number');
    expect(refusal(0x12, 5, 1)).toBe('the file ends in the middle of a field');
    expect(refusal(0x0d, 1, 2)).toBe('the file ends in the middle of a field');
  });

  test('field number 0 or unknown wire type', () => {
    expect(refusal(0x00, 1)).toBe('a field of the file has no number');
    expect(refusal(0x0b)).toBe('a field of the file has the unknown form 3');
  });

  test('endless varint', () => {
    expect(refusal(0x08, ...Array<number>(12).fill(255))).toBe('a number of the file has no end');
  });

  test('arbitrary bytes throw an Error or nothing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (given) => {
        try {
          expect(Array.isArray(readMessage(given))).toBe(true);
        } catch (error) {
          expect((error as Error).message).toMatch(/file/);
        }
      }),
    );
  });
});
