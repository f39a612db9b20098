import { expect, test } from 'vitest';
import { decodeTools } from './decode.ts';

const parameters = { type: 'object', properties: { a: { type: 'string' } } };
const noParameters = { type: 'object', properties: {} };

test.each([
  [undefined, []],
  [null, []],
  [[], []],
  [
    [{ type: 'function', function: { name: 'f', description: 'd', parameters } }],
    [{ name: 'f', description: 'd', parameters }],
  ],
  [[{ function: { name: 'f' } }], [{ name: 'f', parameters: noParameters }]],
  [[{ type: '', function: { name: 'f', description: '', parameters: {} } }], [{ name: 'f', parameters: noParameters }]],
  [
    [{ type: null, function: { name: 'f', description: 5, parameters: null } }],
    [{ name: 'f', parameters: noParameters }],
  ],
])('decodeTools: %j gives %j', (value, expected) => {
  expect(decodeTools(value)).toEqual(expected);
});

test.each([
  [{}, 'tools must be an array.'],
  [['f'], 'tools[0] must be an object.'],
  [[{ type: 'web_search' }], 'tools[0].type must be "function".'],
  [[{ function: { name: 'f' } }, { type: 'function' }], 'tools[1].function must be an object.'],
  [[{ function: {} }], 'tools[0].function.name must be a name.'],
  [[{ function: { name: '' } }], 'tools[0].function.name must be a name.'],
  [[{ function: { name: 'f', parameters: [] } }], 'tools[0].function.parameters must be a JSON schema.'],
])('decodeTools: refuses %j with its path', (value, sentence) => {
  expect(() => decodeTools(value)).toThrow(sentence);
});
