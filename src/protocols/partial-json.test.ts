import fc from 'fast-check';
import { expect, test } from 'vitest';
import { partialObject } from './partial-json.ts';

test.each<[string, object]>([
  ['', {}],
  ['{', {}],
  ['{"ci', {}],
  ['{"city"', {}],
  ['{"city":', {}],
  ['{"city": "Par', { city: 'Par' }],
  ['{"city": "Par\\', { city: 'Par' }],
  ['{"city": "a\\u00', { city: 'a' }],
  ['{"city": "a\\u00e9', { city: 'aé' }],
  ['{"city": "a\\"b', { city: 'a"b' }],
  ['{"city": "Paris"', { city: 'Paris' }],
  ['{"city": "Paris",', { city: 'Paris' }],
  ['{"city": "Paris", "da', { city: 'Paris' }],
  ['{"city": "Paris", "days": 1', { city: 'Paris' }],
  ['{"city": "Paris", "days": 12,', { city: 'Paris', days: 12 }],
  ['{"a": tr', {}],
  ['{"a": {"b": [1, 2', { a: { b: [1] } }],
  ['{"a": {"b": [1, {"c": "x', { a: { b: [1, { c: 'x' }] } }],
  ['{"a": [[], {}', { a: [[], {}] }],
  ['{"a": 1}', { a: 1 }],
  ['{"a": 1} and more', { a: 1 }],
  ['[1, 2', {}],
  ['"text', {}],
  ['nonsense', {}],
])('partialObject: %j gives %j', (json, expected) => {
  expect(partialObject(json)).toEqual(expected);
});

const objects = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
  .map((value) => JSON.stringify(value));

test('partialObject: returns whole objects', () => {
  fc.assert(
    fc.property(objects, (json) => {
      expect(partialObject(json)).toEqual(JSON.parse(json));
    }),
  );
});

test('partialObject: a text cut anywhere gives only keys and texts of the whole object', () => {
  fc.assert(
    fc.property(objects, fc.nat(), (json, at) => {
      const whole = JSON.parse(json) as Record<string, unknown>;
      const part = partialObject(json.slice(0, at % (json.length + 1)));
      for (const [key, value] of Object.entries(part)) {
        expect(Object.hasOwn(whole, key)).toBe(true);
        if (typeof value === 'string') expect(String(whole[key]).startsWith(value)).toBe(true);
      }
    }),
  );
});
