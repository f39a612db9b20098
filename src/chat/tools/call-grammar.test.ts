import { describe, expect, test } from 'vitest';
import { openNativeGrammar } from '../../grammar/testing/native-grammar.ts';
import { time, weather } from '../testing/scripted-text.ts';
import { callGrammar } from './call-grammar.ts';

const native = openNativeGrammar();
const options = { tools: [weather, time], parallel: true, before: '' };

test('a format that it cannot spell has no grammar', () => {
  expect(callGrammar('harmony', options)).toBeUndefined();
  expect(callGrammar('hermes', { ...options, tools: [] })).toBeUndefined();
});

test('a free reply comes under it where a call begins', () => {
  expect(callGrammar('hermes', options)?.triggers).toEqual([{ type: 'word', text: '<tool_call>' }]);
});

describe.skipIf('missing' in native)('in the engine', () => {
  const accepts = (format: string, text: string, more = {}) =>
    !('missing' in native) && native.accepts(callGrammar(format, { ...options, ...more })?.gbnf ?? '', text);
  const call = (name: string, json: string) => `<tool_call>\n{"name": "${name}", "arguments": ${json}}\n</tool_call>`;
  const paris = call('get_weather', '{"city": "Paris"}');

  test.each([
    ['hermes', paris],
    ['hermes', `${paris}\n${call('get_time', '{}')}`],
    ['llama', '{"name": "get_weather", "parameters": {"city": "Paris"}}'],
    ['granite', '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]'],
  ])('%s: %j is a call', (format, text) => expect(accepts(format, text)).toBe(true));

  test.each([call('get_weather', '{}'), call('other', '{}'), call('get_weather', '{"city": 7}'), 'Sure.'])(
    'hermes: %j is none',
    (text) => expect(accepts('hermes', text)).toBe(false),
  );

  test('where an answer has a form of its own, a reply is calls or that answer', () => {
    const answer = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] };
    expect(accepts('hermes', paris, { answer })).toBe(true);
    expect(accepts('hermes', '{"sky": "blue"}', { answer })).toBe(true);
    expect(accepts('hermes', '{"sky": 7}', { answer })).toBe(false);
    expect(accepts('hermes', 'Sure.', { answer })).toBe(false);
    expect(accepts('hermes', `${paris}{"sky": "blue"}`, { answer })).toBe(false);
  });

  test('thinking may come before either', () => {
    const more = { answer: { type: 'object' }, before: '( "<think>" [a-z]* "</think>" )?' };
    expect(accepts('hermes', `<think>hm</think>${paris}`, more)).toBe(true);
    expect(accepts('hermes', '<think>hm</think>{}', more)).toBe(true);
    expect(accepts('hermes', '<think>hm</think>', more)).toBe(false);
  });

  test('one call at a time where the client wants it so', () => {
    expect(accepts('hermes', paris, { parallel: false })).toBe(true);
    expect(accepts('hermes', `${paris}\n${paris}`, { parallel: false })).toBe(false);
  });

  describe('of many tools', () => {
    const many = Array.from({ length: 150 }, (_, index) => ({
      name: `tool_${index}`,
      parameters: {
        type: 'object',
        properties: {
          city: { enum: ['Paris', `city ${index}`] },
          days: { type: 'integer', minimum: 1, maximum: index + 1 },
        },
        required: ['city'],
      },
    }));

    test('each keeps to its own schema, though they share the names of their arguments', () => {
      const own = (index: number, json: string) => accepts('hermes', call(`tool_${index}`, json), { tools: many });
      expect(own(7, '{"city": "city 7", "days": 8}')).toBe(true);
      expect(own(7, '{"city": "city 8"}')).toBe(false);
      expect(own(7, '{"city": "Paris", "days": 9}')).toBe(false);
      expect(own(149, '{"city": "city 149", "days": 150}')).toBe(true);
      expect(own(150, '{"city": "Paris"}')).toBe(false);
    });

    test('the grammar stays within what the engine reads', () => {
      const { gbnf } = callGrammar('hermes', { ...options, tools: many }) ?? { gbnf: '' };
      expect(gbnf.length).toBeLessThan(200_000);
      expect(!('missing' in native) && native.parses(gbnf)).toBe(true);
    });
  });

  test.each(['we"ird', 'back\\slash', 'näme ☀', 'a b', '<tool_call>', 'x'.repeat(300)])(
    'a tool may be called %j',
    (name) => {
      const tools = [
        { ...weather, name },
        { ...time, name: `${name}_2` },
      ];
      const odd = (called: string, json: string) =>
        `<tool_call>\n{"name": ${JSON.stringify(called)}, "arguments": ${json}}\n</tool_call>`;
      expect(accepts('hermes', odd(name, '{"city": "Paris"}'), { tools })).toBe(true);
      expect(accepts('hermes', odd(`${name}_2`, '{}'), { tools })).toBe(true);
      expect(accepts('hermes', odd(name, '{}'), { tools })).toBe(false);
    },
  );

  test('a property may have the name of a rule', () => {
    const tools = [
      {
        name: 'go',
        parameters: { properties: { call: { enum: ['a'] }, root: { enum: ['b'] }, answer: { enum: ['c'] } } },
      },
    ];
    expect(accepts('hermes', call('go', '{"call": "a", "root": "b", "answer": "c"}'), { tools, answer: {} })).toBe(
      true,
    );
  });

  test.each([[{}], [{ type: 'object' }], [{ type: 'string' }]])(
    'with parameters %j the arguments are an object',
    (parameters) => {
      const tools = [{ name: 'go', parameters }];
      expect(accepts('hermes', call('go', '{}'), { tools })).toBe(true);
      expect(accepts('hermes', call('go', '"text"'), { tools })).toBe(false);
    },
  );
});
