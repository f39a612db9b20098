import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSafetensors, widened } from './safetensors.ts';
import { halves, safetensors } from './testing/safetensors.ts';

test('every tensor comes back as it was stored', () => {
  const tensor = fc.record({
    name: fc.stringMatching(/^[a-z.]{1,12}$/).filter((name) => name !== '__metadata__'),
    values: fc.array(fc.integer({ min: -100, max: 100 }), { maxLength: 20 }),
  });
  fc.assert(
    fc.property(fc.uniqueArray(tensor, { selector: ({ name }) => name, maxLength: 6 }), (tensors) => {
      const file = safetensors(tensors.map(({ name, values }) => ({ name, shape: [values.length], values })));
      const read = readSafetensors(file);
      expect(read.map(({ name, shape }) => ({ name, shape }))).toEqual(
        tensors.map(({ name, values }) => ({ name, shape: [values.length] })),
      );
      expect(read.map(({ bytes }) => Array.from(widened(bytes)))).toEqual(
        tensors.map(({ values }) => values.map((value) => value + 0)),
      );
    }),
  );
});

test.each<[number, number]>([
  [0x0000, 0],
  [0x3c00, 1],
  [0xc000, -2],
  [0x7bff, 65_504],
  [0x0001, 2 ** -24],
  [0x8001, -(2 ** -24)],
  [0x7c00, Number.POSITIVE_INFINITY],
  [0xfc00, Number.NEGATIVE_INFINITY],
  [0x7e00, Number.NaN],
])('the half %i is %d', (bits, expected) => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(bits);
  expect(Array.from(widened(bytes))).toEqual([expected]);
});

test('halves that do not begin at an even place are read too', () => {
  const shifted = Buffer.concat([Buffer.from([7]), halves([1, -2])]).subarray(1);
  expect(Array.from(widened(shifted))).toEqual([1, -2]);
});

test.each([
  ['nothing', Buffer.alloc(0), 'too short'],
  ['a few bytes', Buffer.alloc(7), 'too short'],
  ['a header that is not there', Buffer.from([9, 0, 0, 0, 0, 0, 0, 0, 1]), 'cut off'],
  ['a header that is no JSON', Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{x')]), 'no JSON'],
])('%s is refused with a sentence', (_, file, reason) => expect(() => readSafetensors(file)).toThrow(reason));

test('a tensor that lies outside is refused by its name', () => {
  const whole = safetensors([{ name: 'long', shape: [8], values: Array.from({ length: 8 }, () => 1) }]);
  expect(() => readSafetensors(whole.subarray(0, whole.length - 1))).toThrow('long lies outside');
});
