import { describe, expect, test } from 'vitest';
import { argumentsOf, resultText, wireTools } from './tools.ts';

test('wireTools: returns chosen tools, with an empty schema if they have none', () => {
  const tools = [
    { name: 'clock', description: 'Tells the time', inputSchema: { type: 'object' } },
    { name: 'dice' },
    { name: 'rm' },
  ];
  expect(wireTools(tools, ['dice', 'clock', 'gone'])).toEqual([
    { type: 'function', function: { name: 'clock', description: 'Tells the time', parameters: { type: 'object' } } },
    { type: 'function', function: { name: 'dice', parameters: { type: 'object', properties: {} } } },
  ]);
});

describe('resultText', () => {
  test.each([
    [
      'texts, joinedReply',
      {
        result: {
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      },
      'a\nb',
    ],
    ['a failure of the tool', { result: { isError: true, content: [{ type: 'text', text: 'no' }] } }, 'Error: no'],
    ['a failure of the server', { error: { message: 'Tool not found' } }, 'Error: Tool not found'],
    ['a failure without words', { error: {} }, 'Error: the tool failed'],
    ['data without parts', { result: { structuredContent: { n: 1 } } }, '{"n":1}'],
    [
      'a picture, as JSON that the server reads',
      { result: { content: [{ type: 'image', data: 'x' }] } },
      '[{"type":"image","data":"x"}]',
    ],
    ['nothing', null, 'null'],
  ])('returns %s', (_, answer, text) => {
    expect(resultText(answer)).toBe(text);
  });
});

test.each([
  ['{"a":1}', { a: 1 }],
  ['', {}],
  [' ', {}],
  ['[1]', undefined],
  ['"x"', undefined],
  ['null', undefined],
  ['{"a":', undefined],
])('argumentsOf: %j is %j', (text, given) => {
  expect(argumentsOf(text)).toEqual(given);
});
