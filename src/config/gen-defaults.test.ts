import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from './flag.ts';
import {
  applyDefaults,
  gendefaultsNotes,
  gendefaultsProblems,
  imageFields,
  lengthFields,
  requestDefaults,
  textDefaults,
  textFields,
  valueKinds,
} from './gen-defaults.ts';

const defaults = { rep_pen: 1.1, top_k: 5 };

test('applyDefaults: adds fields that the request omits', () => {
  expect(applyDefaults({ prompt: 'x', top_k: 1 }, defaults, false)).toEqual({ prompt: 'x', top_k: 1, rep_pen: 1.1 });
});

test('applyDefaults: replaces fields of the request with overwrite', () => {
  expect(applyDefaults({ prompt: 'x', top_k: 1 }, defaults, true)).toEqual({ prompt: 'x', top_k: 5, rep_pen: 1.1 });
});

test('applyDefaults: treats null as omitted', () => {
  expect(applyDefaults({ top_k: null, rep_pen: undefined }, defaults, false)).toEqual(defaults);
});

test.each([
  ['rep_pen', 'repeat_penalty'],
  ['rep_pen', 'repetition_penalty'],
  ['sampler_seed', 'seed'],
  ['typical', 'typical_p'],
  ['typical', 'typ_p'],
  ['rep_pen_range', 'repeat_last_n'],
  ['nsigma', 'top_n_sigma'],
  ['tfs', 'tfs_z'],
  ['mirostat', 'mirostat_mode'],
  ['stop_sequence', 'stop'],
  ['stop_sequence', 'stop_sequences'],
  ['max_context_length', 'num_ctx'],
  ['ban_eos_token', 'ignore_eos'],
  ['banned_tokens', 'banned_strings'],
  ['logprobs', 'n_probs'],
  ['grammar', 'json_schema'],
  ['grammar', 'response_format'],
  ['grammar', 'format'],
  ['grammar', 'text.format'],
  ['grammar', 'output_config.format'],
  ['reasoning_effort', 'thinking_budget_tokens'],
  ['reasoning_effort', 'reasoning.effort'],
  ['reasoning_effort', 'think'],
  ['thinking_budget_tokens', 'reasoning_effort'],
  ['thinking_budget_tokens', 'reasoning.effort'],
])('applyDefaults: a default of %s does not replace %s, and removes it with overwrite', (name, sent) => {
  const body = nested(sent, 'theirs');
  expect(applyDefaults(body, { [name]: 'ours' }, false)).toEqual(body);
  expect(applyDefaults(nested(sent, null), { [name]: 'ours' }, false)).toMatchObject({ [name]: 'ours' });
  const overwritten = applyDefaults({ ...body, prompt: 'x' }, { [name]: 'ours' }, true);
  expect(overwritten).toMatchObject({ prompt: 'x', [name]: 'ours' });
  expect(JSON.stringify(overwritten)).not.toContain('theirs');
});

test('applyDefaults: thinking true still takes the default effort', () => {
  const effort = { reasoning_effort: 'low' };
  expect(applyDefaults({ think: true }, effort, false)).toEqual({ think: true, ...effort });
  expect(applyDefaults({ reasoning: { enabled: true } }, effort, false)).toMatchObject(effort);
  expect(applyDefaults({ reasoning: { enabled: false } }, effort, false)).not.toMatchObject(effort);
});

test.each(['thinking', 'samplers'])(
  'applyDefaults: keeps %s and adds the defaults, and removes it with overwrite',
  (sent) => {
    const values = { reasoning_effort: 'low', sampler_order: [1] };
    expect(applyDefaults({ [sent]: 'theirs' }, values, false)).toEqual({ [sent]: 'theirs', ...values });
    expect(applyDefaults({ [sent]: 'theirs' }, values, true)).toEqual(values);
  },
);

test('applyDefaults: keeps sibling fields of an overwritten part', () => {
  const body = { reasoning: { effort: 'high', summary: 'auto' }, text: 'no object', output_config: null };
  expect(applyDefaults(body, { reasoning_effort: 'low', grammar: 'root' }, true)).toEqual({
    reasoning: { summary: 'auto' },
    text: 'no object',
    output_config: null,
    reasoning_effort: 'low',
    grammar: 'root',
  });
});

test('applyDefaults: two defaults of one setting do not remove each other', () => {
  const both = { reasoning_effort: 'low', thinking_budget_tokens: 5 };
  expect(applyDefaults({ think: 'high' }, both, true)).toEqual(both);
  expect(applyDefaults({}, both, false)).toEqual(both);
});

test('textDefaults: has only text fields, by their native names', () => {
  const gendefaults = { seed: 5, stop: ['x'], steps: 8, cfg_scale: 7, repeat_penalty: 1.2, rep_pen: 1.1, trim_stop: 0 };
  expect(textDefaults(requestDefaults({ gendefaults, reasoningeffort: 'low' }))).toEqual({
    sampler_seed: 5,
    stop_sequence: ['x'],
    rep_pen: 1.1,
    trim_stop: false,
    reasoning_effort: 'low',
  });
});

test.each(lengthFields)('requestDefaults: never has %s, with a note', (name) => {
  const settings = { gendefaults: { [name]: 100, top_k: null }, reasoningeffort: 'default' } as const;
  expect(requestDefaults(settings)).toEqual({});
  expect(gendefaultsNotes(settings)).toEqual([
    `--gendefaults does not set the reply length: ${name} has no effect. Use --defaultgenamt.`,
  ]);
});

test('textFields: no name has two meanings', () => {
  const names = textFields.flatMap(({ names }) => names);
  expect(new Set(names).size).toBe(names.length);
});

function nested(path: string, value: unknown): Record<string, unknown> {
  const [name = '', ...rest] = path.split('.');
  return { [name]: rest.length === 0 ? value : nested(rest.join('.'), value) };
}

test('applyDefaults: the sampler "default" is not a choice', () => {
  const wanted = { sampler_name: 'euler', scheduler: 'karras' };
  expect(applyDefaults({ sampler_name: 'Default', scheduler: 'simple' }, wanted, false)).toEqual({
    sampler_name: 'euler',
    scheduler: 'simple',
  });
});

test('applyDefaults: does not set the prototype', () => {
  const merged = applyDefaults(JSON.parse('{"a":1}'), JSON.parse('{"__proto__":{"b":2}}'), false);
  expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
});

test('applyDefaults: changes neither the request nor the defaults', () => {
  // A name with a dot is a path into another field.
  const name = fc.string().filter((text) => !text.includes('.'));
  const dictionary = fc.dictionary(name, fc.jsonValue());
  fc.assert(
    fc.property(dictionary, dictionary, fc.boolean(), (body, values, overwrite) => {
      const before = JSON.stringify([body, values]);
      const merged = applyDefaults(body, values as never, overwrite);
      expect(JSON.stringify([body, values])).toBe(before);
      expect(new Set(Object.keys(merged))).toEqual(new Set([...Object.keys(body), ...Object.keys(values)]));
      expect(applyDefaults(merged, values as never, overwrite)).toEqual(merged);
    }),
  );
});

test('applyDefaults: reads other spellings, and the native name wins', () => {
  const gendefaults = { 'cfg-scale': 7, sampler: 'euler', sampler_name: 'heun', cache_option: 'x', guidance: 3.5 };
  expect(requestDefaults({ gendefaults, reasoningeffort: 'default' })).toEqual({
    cfg_scale: 7,
    sampler_name: 'heun',
    cache_options: 'x',
    distilled_guidance: 3.5,
  });
});

test('requestDefaults: includes the reasoning effort of the server', () => {
  expect(requestDefaults({ gendefaults: null, reasoningeffort: 'low' })).toEqual({ reasoning_effort: 'low' });
  expect(requestDefaults({ gendefaults: { reasoning_effort: 'high' }, reasoningeffort: 'low' })).toEqual({
    reasoning_effort: 'high',
  });
  expect(requestDefaults({ gendefaults: null, reasoningeffort: 'default' })).toEqual({});
});

const sentences = (gendefaults: JsonObject | null) => gendefaultsProblems({ gendefaults }).map((one) => one.sentence);

test('gendefaultsProblems: none without --gendefaults', () => {
  expect(sentences(null)).toEqual([]);
  expect(sentences({})).toEqual([]);
});

/** For each kind what is right and what is not. */
const values: Readonly<Record<keyof typeof valueKinds, readonly [right: JsonValue[], wrong: JsonValue[]]>> = {
  number: [
    [0.5, -1, 7],
    ['0.5', true, [], {}],
  ],
  integer: [
    [0, -1, 40],
    [0.5, '40', true, []],
  ],
  flag: [
    [true, false, 0, 1],
    ['true', 2, []],
  ],
  text: [
    ['', 'x'],
    [1, true, ['x']],
  ],
  texts: [
    ['x', [], ['x', 'y']],
    [1, [1], { x: 1 }],
  ],
  stages: [
    [[6, 0, 1, 3, 4, 2, 5], []],
    [[7], [-1], [0.5], ['6'], '6,0', 6],
  ],
  biases: [
    [{ '15': -100, ' 7 ': 0.5 }, {}],
    [{ word: 1 }, { '15': 'x' }, [[15, 1]], 1],
  ],
  bans: [
    ['', '1,2, 3', '5,'],
    ['one', '1;2', 5, [5]],
  ],
  grammar: [
    ['root ::= "a"', { type: 'object' }],
    [1, true, ['x']],
  ],
  effort: [
    ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    ['some', '', 1, true],
  ],
  object: [
    [{}, { a: 1 }],
    ['{}', [], 1],
  ],
  list: [
    [[], [1]],
    ['[]', {}, 1],
  ],
};

test.each([...textFields, ...imageFields])('gendefaultsProblems: $names.0 accepts $kind only', ({ names, kind }) => {
  const [right, wrong] = values[kind];
  for (const name of names) {
    for (const value of [null, ...right]) expect(sentences({ [name]: value }), JSON.stringify(value)).toEqual([]);
    for (const value of wrong) {
      expect(sentences({ [name]: value }), JSON.stringify(value)).toEqual([
        `--gendefaults: ${name} must be ${valueKinds[kind][0]}, not ${JSON.stringify(value)}.`,
      ]);
    }
  }
});

test.each(lengthFields)('gendefaultsProblems: %s has no effect and is accepted', (name) => {
  expect(sentences({ [name]: 'long' })).toEqual([]);
});

test('gendefaultsProblems: aliases of image fields have the type of their field', () => {
  expect(sentences({ 'cfg-scale': 7, sampler: 'euler' })).toEqual([]);
  expect(sentences({ 'cfg-scale': 'much' })).toEqual(['--gendefaults: cfg-scale must be a number, not "much".']);
});

test('gendefaultsProblems: names an unknown field and suggests a known one', () => {
  expect(sentences({ rep_pan: 1.1 })).toEqual([
    '--gendefaults: rep_pan is not a field of a request. Did you mean rep_pen?',
  ]);
  expect(sentences({ zzzzzzzzzz: 1, toString: 1 })).toEqual([
    '--gendefaults: zzzzzzzzzz is not a field of a request.',
    '--gendefaults: toString is not a field of a request.',
  ]);
});

test('gendefaultsProblems: reports every mistake, and shortens long values', () => {
  const found = sentences({ top_k: 'x'.repeat(500), temperature: 'hot', top_p: 0.9 });
  expect(found).toHaveLength(2);
  expect(found[0]?.length).toBeLessThan(130);
});

test('gendefaultsProblems: exit code is that of wrong flags', () => {
  expect(gendefaultsProblems({ gendefaults: { top_k: 'x' } })).toMatchObject([{ exitCode: 1 }]);
});
