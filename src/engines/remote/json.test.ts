import { anything, assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { listAt, numberAt, objectAt, textAt, valueAt } from './json.ts';

const none = [{}, [], undefined, undefined];
const all = (value: unknown) => [objectAt(value), listAt(value), textAt(value), numberAt(value)];

test('accessors: return a value of their type', () => {
  expect(objectAt({ a: 1 })).toEqual({ a: 1 });
  expect(listAt(['b', 3])).toEqual(['b', 3]);
  expect([textAt('a'), numberAt(2)]).toEqual(['a', 2]);
  expect(valueAt({ deep: { er: [1] } }, 'deep', 'er')).toEqual([1]);
});

test.each([
  [null, none],
  [undefined, none],
  [true, none],
  [Number.POSITIVE_INFINITY, none],
  ['2', [{}, [], '2', undefined]],
  [['x'], [{}, ['x'], undefined, undefined]],
  [{ length: 1 }, [{ length: 1 }, [], undefined, undefined]],
])('accessors: give empty values or undefined for another type: %j', (value, expected) => {
  expect(all(value)).toEqual(expected);
});

test('accessors: never throw', () => {
  assert(
    property(anything(), string(), (value, key) => {
      expect([...all(value), valueAt(value, key, key)]).toHaveLength(5);
    }),
  );
});
