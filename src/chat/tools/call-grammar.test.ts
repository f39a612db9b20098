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
});
