import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonProblem } from '../api/loose.ts';
import type { Operation } from './description.ts';
import { curlCommand, filledPath, formParts, textOfEvent } from './request.ts';

const operation = {
  path: '/v1/responses/{id}/input_items',
  parameters: [
    { name: 'id', location: 'path', required: true, description: '' },
    { name: 'limit', location: 'query', required: false, description: '' },
    { name: 'order', location: 'query', required: false, description: '' },
  ],
} as unknown as Operation;

test('filledPath: encodes parameters', () => {
  expect(filledPath(operation, { id: 'resp_1' })).toBe('/v1/responses/resp_1/input_items');
  expect(filledPath(operation, { id: 'a/b?c', limit: '5 & more', order: '' })).toBe(
    '/v1/responses/a%2Fb%3Fc/input_items?limit=5%20%26%20more',
  );
});

test('jsonProblem: reports invalid JSON', () => {
  expect(jsonProblem('{"a": 1}')).toBeUndefined();
  expect(jsonProblem('  ')).toBeUndefined();
  expect(jsonProblem('{"a": }')).toMatch(/JSON|token/i);
});

test('curlCommand: contains method, headers and body', () => {
  const command = curlCommand('POST', 'http://localhost:5001/v1/messages', {
    body: '{\n  "a": 1\n}',
    key: 'k',
    streams: true,
  });
  expect(command).toBe(
    "curl -N -X POST 'http://localhost:5001/v1/messages' \\\n  -H 'Authorization: Bearer k' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"a\":1}'",
  );
  expect(curlCommand('GET', 'http://x/y', { streams: false })).toBe("curl 'http://x/y'");
});

test('curlCommand: a shell passes the body unchanged', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const word = curlCommand('GET', text, { streams: false }).slice('curl '.length);
      // A shell takes single-quoted text literally; a quote itself is written outside.
      expect(word.replace(/'((?:[^']|'\\'')*)'$/s, (_, inner: string) => inner.replaceAll(`'\\''`, "'"))).toBe(text);
    }),
  );
});

test.each([
  ['{"token":"a","finish_reason":null}', 'a'],
  ['{"choices":[{"delta":{"content":"b"}}]}', 'b'],
  ['{"choices":[{"text":"c"}]}', 'c'],
  ['{"type":"content_block_delta","delta":{"type":"text_delta","text":"d"}}', 'd'],
  ['{"type":"response.output_text.delta","delta":"e"}', 'e'],
  ['{"content":"f","stop":false}', 'f'],
  ['{"content":[1]}', ''],
  ['[DONE]', ''],
  ['null', ''],
])('textOfEvent: %s has text %o', (data, text) => {
  expect(textOfEvent(data)).toBe(text);
});

test('curlCommand: sends a file as a form with the body fields', () => {
  expect(formParts('{"language":"en","temperature":0,"include":["a"]}')).toEqual([
    ['language', 'en'],
    ['temperature', '0'],
    ['include', '["a"]'],
  ]);
  expect(formParts(' ')).toEqual([]);
  const file = { part: 'file', name: 'hello.mp3' };
  expect(curlCommand('POST', 'http://x/audio', { body: '{"language":"en"}', file, streams: false })).toBe(
    "curl 'http://x/audio' \\\n  -F 'file=@hello.mp3' \\\n  --form-string 'language=en'",
  );
});
