import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { whole } from '../../core/slices.ts';
import { openNativeGrammar } from '../../grammar/testing/native-grammar.ts';
import { accepts, machineOf } from '../../grammar/testing/recognise.ts';
import type { Tool } from '../messages.ts';
import { time, weather } from '../testing/scripted-text.ts';
import { callEvents, callGrammar, callListGrammar, memoized, readCallList } from './call-grammar.ts';

const native = openNativeGrammar();
const options = { tools: [weather, time], parallel: true, before: '' };

test('callGrammar: undefined for formats without a shape', () => {
  expect(whole(callGrammar('generic', options))).toBeUndefined();
  expect(whole(callGrammar('hermes', { ...options, tools: [] }))).toBeUndefined();
});

test('callGrammar: a free reply has the trigger of the format', () => {
  expect(whole(callGrammar('hermes', options))?.triggers).toEqual([{ type: 'word', text: '<tool_call>' }]);
});

describe('callGrammar: arguments in tags', () => {
  const edit: Tool = {
    name: 'edit',
    parameters: {
      $defs: { line: { type: 'integer', minimum: 1 } },
      properties: {
        text: { type: 'string' },
        mode: { enum: ['all', 'one'] },
        lines: { type: 'array', items: { $ref: '#/$defs/line' } },
      },
      required: ['text'],
    },
  };
  const open = { name: 'go', parameters: {} };
  const formats: Readonly<Record<string, (name: string, ...values: readonly [string, string][]) => string>> = {
    'qwen-coder': (name, ...values) =>
      `<tool_call>\n<function=${name}>\n${values.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`).join('')}</function>\n</tool_call>`,
    glm: (name, ...values) =>
      `<tool_call>${name}\n${values.map(([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`).join('')}</tool_call>`,
    minimax: (name, ...values) =>
      `<minimax:tool_call>\n<invoke name="${name}">\n${values.map(([key, value]) => `<parameter name="${key}">${value}</parameter>\n`).join('')}</invoke>\n</minimax:tool_call>`,
  };

  test.each(Object.entries(formats))('%s: text is free, other types are JSON of their schema', (format, call) => {
    const { gbnf } = whole(callGrammar(format, { ...options, tools: [edit, open] })) ?? { gbnf: '' };
    const machine = machineOf(gbnf);
    const text: [string, string] = ['text', 'if (a << 2) { "<b>" }\n</p> <'];
    expect(accepts(machine, call('edit', text))).toBe(true);
    expect(accepts(machine, call('edit', text, ['mode', 'one'], ['lines', '[1, 20]']))).toBe(true);
    expect(accepts(machine, call('edit', ['mode', 'one']))).toBe(false);
    expect(accepts(machine, call('edit', text, ['mode', 'two']))).toBe(false);
    expect(accepts(machine, call('edit', text, ['lines', '[0]']))).toBe(false);
    expect(accepts(machine, call('edit', text, ['other', 'x']))).toBe(false);
    expect(accepts(machine, call('go', ['any', 'thing'], ['more', '1']))).toBe(true);
    expect(accepts(machine, `${call('edit', text)}Done.`)).toBe(false);
  });

  test('gemma: values have the types of the schema', () => {
    const { gbnf } = whole(callGrammar('gemma', { ...options, tools: [edit, open] })) ?? { gbnf: '' };
    const machine = machineOf(gbnf);
    const call = (text: string) => `<|tool_call>call:edit{${text}}<tool_call|>`;
    expect(accepts(machine, call('lines:[1,2],text:<|"|>a {"b"} <|<|"|>'))).toBe(true);
    expect(accepts(machine, call('text:7'))).toBe(false);
    expect(accepts(machine, call('mode:<|"|>two<|"|>'))).toBe(false);
  });

  test('harmony: a forced call may follow thoughts, an answer has its channel', () => {
    const answer = { type: 'object' };
    const more = { ...options, before: 'thinking', answer };
    const machine = machineOf(whole(callGrammar('harmony', more))?.gbnf ?? '');
    const call = '<|channel|>commentary to=functions.get_time <|constrain|>json<|message|>{}';
    expect(accepts(machine, call)).toBe(true);
    expect(accepts(machine, `<|channel|>analysis<|message|>hm<|end|><|start|>assistant${call}`)).toBe(true);
    expect(accepts(machine, ' to=functions.get_time<|channel|>commentary json<|message|>{}')).toBe(true);
    expect(accepts(machine, '<|channel|>final<|message|>{}')).toBe(true);
    expect(accepts(machine, '{}')).toBe(false);
  });
});

describe.skipIf('missing' in native)('callGrammar, in the engine', () => {
  const accepts = (format: string, text: string, more = {}) =>
    !('missing' in native) && native.accepts(whole(callGrammar(format, { ...options, ...more }))?.gbnf ?? '', text);
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

  test('with an output format: calls or that answer', () => {
    const answer = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] };
    expect(accepts('hermes', paris, { answer })).toBe(true);
    expect(accepts('hermes', '{"sky": "blue"}', { answer })).toBe(true);
    expect(accepts('hermes', '{"sky": 7}', { answer })).toBe(false);
    expect(accepts('hermes', 'Sure.', { answer })).toBe(false);
    expect(accepts('hermes', `${paris}{"sky": "blue"}`, { answer })).toBe(false);
  });

  test('allows thinking before either', () => {
    const more = { answer: { type: 'object' }, before: '( "<think>" [a-z]* "</think>" )?' };
    expect(accepts('hermes', `<think>hm</think>${paris}`, more)).toBe(true);
    expect(accepts('hermes', '<think>hm</think>{}', more)).toBe(true);
    expect(accepts('hermes', '<think>hm</think>', more)).toBe(false);
  });

  test('allows one call only without parallel', () => {
    expect(accepts('hermes', paris, { parallel: false })).toBe(true);
    expect(accepts('hermes', `${paris}\n${paris}`, { parallel: false })).toBe(false);
  });

  describe('callGrammar: many tools', () => {
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

    test('each call fits the schema of its tool', () => {
      const own = (index: number, json: string) => accepts('hermes', call(`tool_${index}`, json), { tools: many });
      expect(own(7, '{"city": "city 7", "days": 8}')).toBe(true);
      expect(own(7, '{"city": "city 8"}')).toBe(false);
      expect(own(7, '{"city": "Paris", "days": 9}')).toBe(false);
      expect(own(149, '{"city": "city 149", "days": 150}')).toBe(true);
      expect(own(150, '{"city": "Paris"}')).toBe(false);
    });

    test('the grammar is within the limits of the engine', () => {
      const { gbnf } = whole(callGrammar('hermes', { ...options, tools: many })) ?? { gbnf: '' };
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

const list = (...calls: string[]) =>
  `[${calls.map((json) => `{"type": "function", "function": {"name": "look", "arguments": ${json}}}`).join(', ')}]`;
const look: Tool = {
  name: 'look',
  parameters: { $defs: { place: { type: 'string' } }, properties: { at: { $ref: '#/$defs/place' } }, required: ['at'] },
};

describe('readCallList', () => {
  test.each<[string, readonly string[]]>([
    [list('{"at": "sky"}'), ['{"at":"sky"}']],
    [list('{"at": "sky"}', '{}'), ['{"at":"sky"}', '{}']],
    ['{"type": "function", "function": {"name": "look", "arguments": {"at": 1}}}', ['{"at":1}']],
    ['[{"type": "function"}]', ['{}']],
    ['[]', []],
  ])('%s is complete', (written, calls) => expect(readCallList(written)).toEqual({ calls, whole: true }));

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

  test('accepts any names and strings', () => {
    const name = 'we"ird\\ {"arguments": ☀';
    const written = `[{"type": "function", "function": {"name": ${JSON.stringify(name)}, "arguments": {"a": "}]{\\"`;
    expect(readCallList(written)).toEqual({ calls: ['{"a": "}]{\\"'], whole: false });
  });

  test('cut anywhere: earlier calls are complete, the last is a prefix', () => {
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

test('callEvents: ids are unique, empty arguments have no delta', () => {
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
describe.skipIf('missing' in engine)('callListGrammar, in the engine', () => {
  if ('missing' in engine) return;
  const accepts = (tool: Tool, text: string, parallel = true) => engine.accepts(callListGrammar(tool, parallel), text);

  test('follows references of the schema', () => {
    expect(accepts(look, list('{"at": "sky"}'))).toBe(true);
    expect(accepts(look, list('{"at": 7}'))).toBe(false);
    expect(accepts(look, list('{}'))).toBe(false);
  });

  test('accepts compact and formatted lists', () => {
    const value = JSON.parse(list('{"at": "sky"}'));
    for (const indent of [0, 1, 2, 4]) expect(accepts(look, JSON.stringify(value, null, indent))).toBe(true);
  });

  test('one call or several, only of this tool', () => {
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

  test('escapes special characters in names', () => {
    const name = 'we"ird\\ näme ☀\n';
    const call = [{ type: 'function', function: { name, arguments: { at: 'sky' } } }];
    expect(accepts({ ...look, name }, JSON.stringify(call))).toBe(true);
  });
});

function counting(most: number) {
  const made: unknown[] = [];
  // biome-ignore lint/correctness/useYield: the work is short
  const memo = memoized(most, function* (input: unknown) {
    made.push(input);
    return { input };
  });
  return { make: (input: unknown) => whole(memo(input)), made };
}

test('memoized: computes equal input once', () => {
  const { make, made } = counting(2);
  const first = make({ a: [1, { b: 2 }] });
  expect(make({ a: [1, { b: 2 }] })).toBe(first);
  expect(made).toHaveLength(1);
  expect(make({ a: [1, { b: 3 }] })).toEqual({ input: { a: [1, { b: 3 }] } });
  expect(made).toHaveLength(2);
});

test('memoized: removes the least recently used result', () => {
  const { make, made } = counting(2);
  for (const input of ['a', 'b', 'a', 'c', 'a', 'b']) make(input);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
});

test('memoized: stores undefined, but no errors', () => {
  let calls = 0;
  // biome-ignore lint/correctness/useYield: the work is short
  const memo = memoized(2, function* (fails: boolean) {
    calls += 1;
    if (fails) throw new Error('no');
  });
  const make = (fails: boolean) => whole(memo(fails));
  make(false);
  make(false);
  expect(calls).toBe(1);
  expect(() => make(true)).toThrow('no');
  expect(() => make(true)).toThrow('no');
  expect(calls).toBe(3);
});

test('memoized: does not store very large input', () => {
  const { make, made } = counting(2);
  const large = 'x'.repeat(1_000_001);
  make(large);
  make(large);
  expect(made).toHaveLength(2);
});
