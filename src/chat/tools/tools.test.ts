import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { whole } from '../../core/slices.ts';
import { accepts, machineOf } from '../../grammar/testing/recognise.ts';
import type { Tool } from '../messages.ts';
import { cutIntoPieces, halvesOf, textOf } from '../testing/fixtures/pieces.ts';
import type { ToolEvent } from './bodies.ts';
import { callGrammar } from './call-grammar.ts';
import { type ToolFormat, toolFormatOf, toolFormats } from './formats.ts';

const tools: readonly Tool[] = [
  { name: 'look', parameters: { properties: { at: { type: 'string' }, times: { type: 'integer' } } } },
  { name: 'wait', parameters: {} },
];

function events(format: ToolFormat, pieces: readonly string[], cut = false): readonly ToolEvent[] {
  let number = 0;
  const reader = format.create({ tools, newId: () => `call_${++number}` });
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.finish(cut)];
}

function read(format: ToolFormat, pieces: readonly string[], cut = false) {
  const calls: { name: string; json: string; ended: boolean }[] = [];
  let text = '';
  for (const event of events(format, pieces, cut)) {
    if (event.type === 'text-delta') text += event.text;
    else if (event.type === 'tool-start') calls[event.index] = { name: event.name, json: '', ended: false };
    else {
      const call = calls[event.index];
      if (!call || call.ended) throw new Error('a piece outside its call');
      if (event.type === 'tool-delta') call.json += event.json;
      else call.ended = true;
    }
  }
  return { text, calls: calls.map(({ name, json, ended }) => [name, parse(json), ended]) };
}

/** Without the spaces that models put between the parts. */
function compact(json: unknown): string {
  return typeof json === 'string' ? json.replace(/\s/g, '') : JSON.stringify(json);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

const fence = '```';
const look = (text: string) => ({ text, calls: [['look', { at: 'sky' }, true]] });

/** For each format: the marks in a template, a reply with one call, a reply with two, and one that is no call. */
const samples: Readonly<Record<string, { template: string; one: string; two: string; broken: string }>> = {
  hermes: {
    template: '<tool_call>',
    one: '<tool_call>\n{"name": "look", "arguments": {"at": "sky"}}\n</tool_call>',
    two: '<tool_call>{"name":"look","arguments":{"at":"sky"}}</tool_call>\n<tool_call>{"arguments":{},"name":"wait"}</tool_call>',
    broken: '<tool_call>{"nam": 1}</tool_call>',
  },
  granite: {
    template: '<|tool_call|>',
    one: '<|tool_call|>[{"name": "look", "arguments": {"at": "sky"}}]',
    two: '<|tool_call|>[{"name": "look", "arguments": {"at": "sky"}}, {"name": "wait", "arguments": {}}]',
    broken: '<|tool_call|>[nothing',
  },
  'command-r': {
    template: '<|START_ACTION|>',
    one: '<|START_ACTION|>[\n {"tool_call_id": "0", "tool_name": "look", "parameters": {"at": "sky"}}\n]<|END_ACTION|>',
    two:
      '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "look", "parameters": {"at": "sky"}},' +
      '{"tool_call_id": "1", "tool_name": "wait", "parameters": {}}]<|END_ACTION|>',
    broken: '<|START_ACTION|>[]<|END_ACTION|>',
  },
  mistral: {
    template: '[TOOL_CALLS]',
    one: '[TOOL_CALLS]look[ARGS]{"at": "sky"}',
    two: '[TOOL_CALLS] [{"name": "look", "arguments": {"at": "sky"}, "id": "abc"}, {"name": "wait", "arguments": {}}]',
    broken: '[TOOL_CALLS]well, no',
  },
  deepseek: {
    template: '<｜tool▁calls▁begin｜>',
    one:
      `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n${fence}json\n{"at": "sky"}\n${fence}` +
      '<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    two:
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{"at": "sky"}<｜tool▁call▁end｜>' +
      '<｜tool▁call▁begin｜>wait<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    broken: '<｜tool▁call▁begin｜>look<｜tool▁call▁end｜>',
  },
  kimi: {
    template: '<|tool_call_begin|>',
    one:
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"at": "sky"}' +
      '<|tool_call_end|><|tool_calls_section_end|>',
    two:
      '<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"at": "sky"}<|tool_call_end|>' +
      '<|tool_call_begin|>functions.wait:1<|tool_call_argument_begin|>{}<|tool_call_end|>',
    broken: '<|tool_call_begin|>functions.look<|tool_call_end|>',
  },
  harmony: {
    template: '<|start|>user<|channel|>',
    one: '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"at": "sky"}<|call|>',
    two:
      '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"at": "sky"}<|call|>' +
      '<|start|>assistant<|channel|>commentary to=functions.wait <|constrain|>json<|message|>{}<|call|>',
    broken: '<|channel|>commentary to=functions.look<|call|>',
  },
  functionary: {
    template: '<function=',
    one: '<function=look>{"at": "sky"}</function>',
    two: '<function=look>{"at": "sky"}</function>\n<function=wait>{}</function>',
    broken: '<function=look>sky</function>',
  },
  'qwen-coder': {
    template: '<function= <parameter=',
    one: '<tool_call>\n<function=look>\n<parameter=at>\nsky\n</parameter>\n</function>\n</tool_call>',
    two: '<tool_call>\n<function=look>\n<parameter=at>\nsky\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=wait>\n</function>\n</tool_call>',
    broken: '<function=</function>',
  },
  minimax: {
    template: '<minimax:tool_call>',
    one: '<minimax:tool_call>\n<invoke name="look">\n<parameter name="at">sky</parameter>\n</invoke>\n</minimax:tool_call>',
    two: '<minimax:tool_call><invoke name="look"><parameter name="at">sky</parameter></invoke><invoke name="wait"></invoke></minimax:tool_call>',
    broken: '<invoke name=</invoke>',
  },
  glm: {
    template: '<tool_call> <arg_key>',
    one: '<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>sky</arg_value>\n</tool_call>',
    two: '<tool_call>look<arg_key>at</arg_key><arg_value>sky</arg_value></tool_call><tool_call>wait</tool_call>',
    broken: '<tool_call>{}</tool_call>',
  },
  gemma: {
    template: '<|tool_call>',
    one: '<|tool_call>call:look{at:<|"|>sky<|"|>}<tool_call|>',
    two: '<|tool_call>call:look{at:<|"|>sky<|"|>}<tool_call|><|tool_call>call:wait{}<tool_call|>',
    broken: '<|tool_call>call:look{at:}<tool_call|>',
  },
  llama: {
    template: '<|python_tag|>',
    one: '<|python_tag|>{"name": "look", "parameters": {"at": "sky"}}',
    two: '{"name": "look", "parameters": {"at": "sky"}}; {"name": "wait", "parameters": {}}',
    broken: '{"name": "unknown", "parameters": {}}',
  },
  generic: {
    template: '',
    one: `${fence}json\n{"name": "look", "arguments": {"at": "sky"}}\n${fence}`,
    two: '[{"name": "look", "arguments": {"at": "sky"}}, {"name": "wait", "arguments": {}}]',
    broken: '{"answer": 42}',
  },
};

test('toolFormats: a sample for every format', () => {
  expect(Object.keys(samples).sort()).toEqual(toolFormats.map(({ name }) => name).sort());
});

describe.each(toolFormats.map((format) => ({ name: format.name, format })))('$name', ({ name, format }) => {
  const { template, one, two, broken } = samples[name] as (typeof samples)[string];
  const bare = name === 'llama' || name === 'generic';

  test('is detected by the template', () => {
    expect(toolFormatOf(template).name).toBe(name);
  });

  test('reads a call', () => {
    expect(read(format, [one])).toEqual(look(''));
  });

  test.skipIf(name === 'generic')('its grammar allows this call from its trigger on, of known tools only', () => {
    const grammar = whole(callGrammar(name, { tools, parallel: true, before: '' }));
    const machine = machineOf(grammar?.gbnf ?? '');
    const call = one.replace('<|python_tag|>', '');
    expect(accepts(machine, call)).toBe(true);
    expect(accepts(machine, call.replaceAll('look', 'other'))).toBe(false);
    expect(accepts(machine, call.replaceAll(/\bat\b/g, 'off'))).toBe(false);
    expect(accepts(machine, `${call}, I say.`)).toBe(false);
    expect(grammar?.triggers.some((trigger) => trigger.type === 'word' && call.startsWith(trigger.text))).toBe(true);
  });

  test('reads two calls', () => {
    expect(read(format, [two])).toEqual({
      text: '',
      calls: [
        ['look', { at: 'sky' }, true],
        ['wait', {}, true],
      ],
    });
  });

  test('keeps text that is not a call', () => {
    expect(read(format, [broken])).toEqual({ text: broken, calls: [] });
  });

  test('passes a plain answer at once', () => {
    const reader = format.create({ tools, newId: () => '' });
    expect(reader.push('Blue,')).toEqual([{ type: 'text-delta', text: 'Blue,' }]);
    expect(
      [...reader.push(' I say. \n'), ...reader.finish(false)].map((event) => 'text' in event && event.text),
    ).toEqual([' I say.', ' \n']);
  });

  test.skipIf(bare)('keeps the text before a call, without the space between', () => {
    expect(read(format, ['Let me see.\n\n', one])).toEqual(look('Let me see.'));
  });

  test('cut off inside a call: reports the call so far and none of it as text', () => {
    for (let length = one.indexOf('look') + 'look'.length + 12; length < one.length; length += 1) {
      const { text, calls } = read(format, [one.slice(0, length)], true);
      expect([text, calls.map(([called]) => called)], one.slice(0, length)).toEqual(['', ['look']]);
      expect('{"at":"sky"}'.startsWith(compact(calls[0]?.[1])), JSON.stringify(calls)).toBe(true);
    }
  });

  test('cut off before the name: keeps the text', () => {
    for (let length = 0; length <= one.indexOf('look') + 2; length += 1) {
      const beginning = one.slice(0, length);
      const { text, calls } = read(format, [`Hm.${beginning}`], true);
      expect(calls).toEqual([]);
      expect(text.startsWith('Hm.')).toBe(true);
    }
  });

  test('the result does not depend on the pieces', () => {
    const tags = name === 'generic' ? [`${fence}json\n`] : (template.match(/\S+/g) ?? []);
    const words = [one, two, broken, 'Hm. ', '\n', '{', '"', '<', ...halvesOf(one), ...halvesOf(...tags)];
    fc.assert(
      fc.property(cutIntoPieces(textOf(...words)), (pieces) => {
        const uncut = read(format, [pieces.join('')]);
        expect(read(format, pieces)).toEqual(uncut);
        expect(read(format, [...pieces.join('')])).toEqual(uncut);
      }),
      { numRuns: 150 },
    );
  });
});

describe('JSON calls', () => {
  const hermes = toolFormatOf('<tool_call>');

  test('stream the name first, then the arguments', () => {
    const seen = events(hermes, ['<tool_call>{"name": "look", "arguments": {"at', '": "s', 'ky"}}', '</tool_call>']);
    expect(seen).toEqual([
      { type: 'tool-start', index: 0, id: 'call_1', name: 'look' },
      { type: 'tool-delta', index: 0, json: '{"at' },
      { type: 'tool-delta', index: 0, json: '": "s' },
      { type: 'tool-delta', index: 0, json: 'ky"}' },
      { type: 'tool-end', index: 0 },
    ]);
  });

  test('may contain the end tag inside a string', () => {
    const reply = '<tool_call>{"name": "look", "arguments": {"at": "</tool_call>"}}</tool_call>';
    expect(read(hermes, [reply]).calls).toEqual([['look', { at: '</tool_call>' }, true]]);
  });

  test('that are cut off end there', () => {
    expect(read(hermes, ['<tool_call>{"name": "look", "arguments": {"at": "s'], true)).toEqual({
      text: '',
      calls: [['look', '{"at": "s', true]],
    });
  });

  test('may have their arguments as a JSON string', () => {
    const reply = '<tool_call>{"name": "look", "arguments": "{\\"at\\": \\"sky\\"}"}</tool_call>';
    expect(read(hermes, [reply])).toEqual(look(''));
  });

  test('keep text behind them', () => {
    expect(read(hermes, ['<tool_call>{"name":"look","arguments":{"at":"sky"}}</tool_call>\nDone.'])).toEqual(
      look('\nDone.'),
    );
  });
});

describe('tagged calls', () => {
  test('use the declared type of a parameter, otherwise JSON', () => {
    const reply =
      '<function=look><parameter=at>42</parameter><parameter=times>3</parameter><parameter=more>[1]</parameter></function>';
    expect(read(toolFormatOf('<function= <parameter='), [reply]).calls).toEqual([
      ['look', { at: '42', times: 3, more: [1] }, true],
    ]);
  });
});

test('generic: JSON without a tool name is an answer', () => {
  const answer = JSON.stringify({ name: 'a poem', lines: Array.from({ length: 100 }, (_, index) => `line ${index}`) });
  expect(read(toolFormatOf(''), [answer])).toEqual({ text: answer, calls: [] });
});

test.each(['', '<|python_tag|>'])(
  'bare calls (%j): marks in front of the call make it text, however the reply is cut',
  (template) => {
    for (const reply of ['```{"name": "look", "arguments": {"at": "sky"}}', ']{"name": "look", "arguments": {}}']) {
      const format = toolFormatOf(template);
      expect(read(format, [reply])).toEqual({ text: reply, calls: [] });
      expect(read(format, [...reply])).toEqual({ text: reply, calls: [] });
    }
  },
);
