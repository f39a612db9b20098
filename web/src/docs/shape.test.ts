import { expect, test } from 'vitest';
import { shapeText } from './description.ts';

const text = { type: 'string' };
const person = {
  type: 'object',
  properties: {
    name: text,
    'a-b': { type: 'integer' },
    friends: { type: 'array', items: { $ref: '#/components/schemas/Person' } },
  },
  required: ['name'],
  additionalProperties: false,
};

test.each<[string, Readonly<Record<string, unknown>>, string]>([
  ['a text', text, 'string'],
  ['a whole number', { type: 'integer', minimum: 0 }, 'number'],
  ['a constant', { const: 'list' }, '"list"'],
  ['words', { enum: ['a', null] }, '"a" | null'],
  ['one of several', { anyOf: [text, { type: 'null' }, text] }, 'string | null'],
  ['a list of one of several', { type: 'array', items: { anyOf: [text, { type: 'null' }] } }, '(string | null)[]'],
  ['a map', { type: 'object', additionalProperties: text }, '{ [name]: string }'],
  ['an object without members', { type: 'object' }, 'object'],
  ['an open object', { type: 'object', properties: { a: text }, required: ['a'] }, '{\n  a: string\n  …\n}'],
  ['anything', {}, 'any'],
  [
    'a reference to itself',
    { $ref: '#/components/schemas/Person' },
    '{\n  name: string\n  "a-b"?: number\n  friends?: Person[]\n}',
  ],
])('shapeText: %s', (_, schema, shown) => {
  expect(shapeText(schema, { Person: person })).toBe(shown);
});
