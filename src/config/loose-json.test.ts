import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseLooseObject } from './loose-json.ts';

test.each([
  ['{"rep_pen": 1.1}', { rep_pen: 1.1 }],
  ['"rep_pen": 1.1', { rep_pen: 1.1 }],
  ['{"rep_pen": 1.1', { rep_pen: 1.1 }],
  ['"rep_pen": 1.1}', { rep_pen: 1.1 }],
  ['rep_pen: 1.1, top_k: 5', { rep_pen: 1.1, top_k: 5 }],
  ["{'stop_sequence': ['a', 'b',],}", { stop_sequence: ['a', 'b'] }],
  ['{"a": True, "b": False, "c": None}', { a: true, b: false, c: null }],
  ['{\\"rep_pen\\": 1.1, \\"stop\\": \\"x\\"}', { rep_pen: 1.1, stop: 'x' }],
  ['"a": {"b": {}}', { a: { b: {} } }],
  ['{"a": "}"', { a: '}' }],
  [`{"text": "it's", 'quote': '"'}`, { text: "it's", quote: '"' }],
  ['{"a": "\\u00e9\\n\\\\"}', { a: 'é\n\\' }],
  ['', {}],
  ['{}', {}],
])('parseLooseObject: reads %s', (text, expected) => {
  expect(parseLooseObject(text)).toEqual(expected);
});

test.each([
  '[1]',
  '{"a"}',
  '{"a": }',
  '{"a": 1} {"b": 2}',
  'hello',
  '{"a": 1 "b": 2}',
  '{"a": constructor}',
  '{"a": "x',
])('parseLooseObject: rejects %s', (text) => {
  expect(parseLooseObject(text)).toBeUndefined();
});

test('parseLooseObject: reads all JSON as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const text = JSON.stringify(object);
      expect(parseLooseObject(text)).toEqual(JSON.parse(text));
    }),
  );
});

test('parseLooseObject: rejects deep nesting without a stack overflow', () => {
  expect(parseLooseObject(`{"a":${'['.repeat(100_000)}`)).toBeUndefined();
});

test('parseLooseObject: treats __proto__ as an ordinary key', () => {
  const object = parseLooseObject('{"__proto__": {"polluted": true}}');
  expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
