import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { whole } from '../../../scripts/conversion/onnx-file.ts';
import { bytes, type Field, inner, readMessage, text, textOf, writeMessage } from './protobuf.ts';

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
