import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openNativeGrammar } from '../../grammar/testing/native-grammar.ts';
import type { Tool } from '../messages.ts';
import { callEvents, callListGrammar, readCallList } from './call-list.ts';

const list = (...calls: string[]) =>
  `[${calls.map((json) => `{"type": "function", "function": {"name": "look", "arguments": ${json}}}`).join(', ')}]`;
const look: Tool = {
  name: 'look',
  parameters: { $defs: { place: { type: 'string' } }, properties: { at: { $ref: '#/$defs/place' } }, required: ['at'] },
};

describe('a list of calls', () => {
  test.each<[string, readonly string[]]>([
    [list('{"at": "sky"}'), ['{"at":"sky"}']],
    [list('{"at": "sky"}', '{}'), ['{"at":"sky"}', '{}']],
    ['{"type": "function", "function": {"name": "look", "arguments": {"at": 1}}}', ['{"at":1}']],
    ['[{"type": "function"}]', ['{}']],
    ['[]', []],
  ])('%s is whole', (written, calls) => expect(readCallList(written)).toEqual({ calls, whole: true }));

  test.each<[string, readonly string[]]>([
    ['', []],
    ['[{"type": "function", "function": {"name": "lo', []],
    ['[{"type": "function", "function": {"name": "look", "arguments": ', ['']],
    ['[{"type": "function", "function": {"name": "look", "arguments": {"at": "s', ['{"at": "s']],
    ['[{"type": "function", "function": {"name": "look", "arguments": {"at": "sky"}', ['{"at":"sky"}']],
    [list('{"at": "sky"}').slice(0, -1), ['{"at":"sky"}']],
    [`${list('{"at": "sky"}').slice(0, -1)}, {"type": "func`, ['{"at":"sky"}']],
    [`${list('{"at": "sky"}').slice(0, -1)}, ${list('{"at": "ea').slice(1, -3)}`, ['{"at":"sky"}', '{"at": "ea']],
  ])('%s is cut off', (written, calls) => expect(readCallList(written)).toEqual({ calls, whole: false }));

  test('names and texts may hold anything', () => {
    const name = 'we"ird\\ {"arguments": ☀';
    const written = `[{"type": "function", "function": {"name": ${JSON.stringify(name)}, "arguments": {"a": "}]{\\"`;
    expect(readCallList(written)).toEqual({ calls: ['{"a": "}]{\\"'], whole: false });
  });

  test('wherever it is cut, the calls before are whole and the last is a beginning of its own', () => {
    const values = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(values, fc.nat(), (all, place) => {
        const texts = all.map((value) => JSON.stringify(value));
        const written = list(...texts);
        const { calls, whole } = readCallList(written.slice(0, place % (written.length + 1)));
        expect(calls.length).toBeLessThanOrEqual(texts.length);
        if (whole) expect(calls).toEqual(texts);
        for (const [index, json] of calls.entries()) {
          if (index < calls.length - 1) expect(json).toBe(texts[index]);
          else expect(texts[index]?.startsWith(json)).toBe(true);
        }
      }),
    );
  });
});

test('calls become events with ids of their own, and empty arguments no piece', () => {
  let ids = 0;
  expect(callEvents(['{}', ''], look, () => `id_${++ids}`)).toEqual([
    { type: 'tool-start', index: 0, id: 'id_1', name: 'look' },
    { type: 'tool-delta', index: 0, json: '{}' },
    { type: 'tool-end', index: 0 },
    { type: 'tool-start', index: 1, id: 'id_2', name: 'look' },
    { type: 'tool-end', index: 1 },
  ]);
});

const engine = openNativeGrammar();
describe.skipIf('missing' in engine)('its grammar, in the engine', () => {
  if ('missing' in engine) return;
  const accepts = (tool: Tool, text: string, parallel = true) => engine.accepts(callListGrammar(tool, parallel), text);

  test('follows the references of the schema', () => {
    expect(accepts(look, list('{"at": "sky"}'))).toBe(true);
    expect(accepts(look, list('{"at": 7}'))).toBe(false);
    expect(accepts(look, list('{}'))).toBe(false);
  });

  test('takes compact and printed lists', () => {
    const value = JSON.parse(list('{"at": "sky"}'));
    for (const indent of [0, 1, 2, 4]) expect(accepts(look, JSON.stringify(value, null, indent))).toBe(true);
  });

  test('holds one call or several, but never none, and none of another tool', () => {
    const two = list('{"at": "sky"}', '{"at": "sea"}');
    expect([accepts(look, two), accepts(look, two, false), accepts(look, '[]')]).toEqual([true, false, false]);
    expect(accepts({ ...look, name: 'listen' }, two)).toBe(false);
  });

  test.each([[{}], [{ type: 'object' }], [{ type: 'object', properties: {} }], [{ type: 'string' }]])(
    'with parameters %j the arguments are an object',
    (parameters) => {
      const tool = { name: 'look', parameters };
      for (const json of ['"text"', '[1]', '7', 'null']) expect(accepts(tool, list(json))).toBe(false);
      expect(accepts(tool, list('{}'))).toBe(true);
    },
  );

  test('spells names with odd characters', () => {
    const name = 'we"ird\\ näme ☀\n';
    const call = [{ type: 'function', function: { name, arguments: { at: 'sky' } } }];
    expect(accepts({ ...look, name }, JSON.stringify(call))).toBe(true);
  });
});
