import { expect, test } from 'vitest';
import { text } from '../../chat/messages.ts';
import { whole } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import type { DialectContext } from '../dialect.ts';
import { readFields } from '../fields.ts';
import { dialectParts } from '../testing/doubles.ts';
import { decodeChat, decodeCompletion, hasGap, readRequest } from './decode.ts';
import { chatFields, generateFields } from './fields.ts';

const messages = [{ role: 'user', content: 'Hi' }];

function chat(body: JsonObject, own: Partial<DialectContext> = {}) {
  const parts = dialectParts(own);
  return whole(decodeChat(readRequest(chatFields, { messages, ...body }, parts), parts));
}

function completion(body: JsonObject, earlier = '') {
  const parts = dialectParts();
  return decodeCompletion(readRequest(generateFields, { prompt: 'Hi', ...body }, parts), parts, { earlier });
}

test.each([
  ['temperature', 0.3, { temperature: 0.3 }],
  ['temperature', -1, { temperature: 0 }],
  ['top_k', 12, { topK: 12 }],
  ['top_p', 0.5, { topP: 0.5 }],
  ['min_p', 0.05, { minP: 0.05 }],
  ['typical_p', 0.7, { typical: 0.7 }],
  ['tfs_z', 0.8, { tailFree: 0.8 }],
  ['repeat_penalty', 1.2, { repetitionPenalty: 1.2 }],
  ['repeat_last_n', 64, { repetitionRange: 64 }],
  ['repeat_last_n', -1, { repetitionRange: 4096 }],
  ['repeat_last_n', 0, { repetitionPenalty: 1, presencePenalty: 0 }],
  ['presence_penalty', 0.4, { presencePenalty: 0.4 }],
  ['frequency_penalty', 0.6, { frequencyPenalty: 0.6 }],
  ['mirostat', 2, { mirostat: 2 }],
  ['mirostat_tau', 4, { mirostatTau: 4 }],
  ['mirostat_eta', 0.2, { mirostatEta: 0.2 }],
  ['seed', 42, { seed: 42 }],
  ['seed', -1, { seed: -1 }],
  ['seed', 0, { seed: 2 ** 31 - 1 }],
  ['xtc_probability', 0.5, { xtcProbability: 0.5 }],
])('options: %s %j counts inside of options and beside it', (name, value, expected) => {
  expect(chat({ options: { [name]: value } }).controls.sampling).toMatchObject(expected);
  expect(chat({ [name]: value }).controls.sampling).toMatchObject(expected);
});

test('options win over the same control beside them, under any name', () => {
  const { controls } = chat({
    temperature: 1,
    rep_pen: 1.5,
    rep_pen_range: 9,
    max_length: 7,
    stop_sequence: ['a'],
    options: { temperature: 0.2, repeat_penalty: 1.1, repeat_last_n: 50, num_predict: 30, stop: ['b', 'c'] },
  });
  expect(controls.sampling).toMatchObject({ temperature: 0.2, repetitionPenalty: 1.1, repetitionRange: 50 });
  expect(controls).toMatchObject({ maxTokens: 30, stop: ['b', 'c'] });
});

test('native controls count where no option is set', () => {
  const { controls } = chat({ max_length: 7, stop_sequence: ['a'], rep_pen: 1.5, sampler_seed: 5 });
  expect(controls).toMatchObject({ maxTokens: 7, stop: ['a'] });
  expect(controls.sampling).toMatchObject({ repetitionPenalty: 1.5, seed: 5 });
});

test.each([
  [30, 30],
  [-1, 2048],
  [0, 2048],
  [-2, 4096],
])('num_predict %d gives %d tokens', (asked, expected) =>
  expect(chat({ options: { num_predict: asked } }).controls.maxTokens).toBe(expected),
);

test.each([
  [1024, 1024],
  [4096, undefined],
  [131_072, undefined],
  [0, undefined],
])('num_ctx %d limits the context to %j', (asked, expected) =>
  expect(chat({ options: { num_ctx: asked } }).controls.maxContext).toBe(expected),
);

test('stop: a text or a list', () => {
  expect(chat({ options: { stop: '[1]' } }).controls.stop).toEqual(['[1]']);
});

test('gen defaults apply to options, and overwrite them in overwrite mode', () => {
  const forced = { applyDefaults: (body: JsonObject) => ({ ...body, temperature: 0.9 }) };
  expect(chat({ options: { temperature: 0.1 } }, forced).controls.sampling.temperature).toBe(0.9);
  const gentle = { applyDefaults: (body: JsonObject) => ({ temperature: 0.9, ...body }) };
  expect(chat({ options: { temperature: 0.1 } }, gentle).controls.sampling.temperature).toBe(0.1);
  expect(chat({}, gentle).controls.sampling.temperature).toBe(0.9);
});

test.each([
  [{ options: 'hot' }, 'options must be an object.'],
  [{ options: { temperature: 'hot' } }, 'options.temperature must be a number.'],
  [{ options: { stop: [1] } }, 'options.stop must be a string or an array of strings.'],
  [{ options: { use_mmap: 1 } }, 'options.use_mmap must be true or false.'],
  [{ top_logprobs: 21 }, 'top_logprobs must be a whole number from 0 to 20.'],
  [{ top_logprobs: '3' }, 'top_logprobs must be a whole number from 0 to 20.'],
  [{ think: 'deeply' }, 'think must be true, false, "low", "medium", "high" or "max".'],
  [{ format: 'xml' }, 'format must be "json" or a JSON schema.'],
  [{ truncate: 'maybe' }, 'truncate must be true or false.'],
])('refuses %j by name', (body, sentence) => expect(() => chat(body)).toThrow(sentence));

test('options: ignores unknown ones and null', () => {
  expect(chat({ options: { nobody_knows: 'x', temperature: null } }).controls.sampling.temperature).toBe(0.7);
});

test.each([
  [undefined, { type: 'text' }],
  ['', { type: 'text' }],
  ['json', { type: 'json' }],
  [{ type: 'object' }, { type: 'schema', schema: { type: 'object' } }],
])('format %j gives %j', (format, output) => expect(chat({ format }).output).toEqual(output));

test('format wins over a native grammar', () => {
  expect(chat({ grammar: 'root ::= "a"' }).controls.grammar?.gbnf).toBe('root ::= "a"');
  expect(chat({ grammar: 'root ::= "a"', format: 'json' }).controls.grammar).toBeUndefined();
});

test.each([
  [{}, undefined, undefined, {}],
  [{ think: false }, 'none', { type: 'share', share: 0 }, { enable_thinking: false }],
  [{ think: true }, undefined, undefined, { enable_thinking: true }],
  [{ think: 'low' }, 'low', { type: 'share', share: 0.25 }, { enable_thinking: true }],
  [{ think: 'max' }, 'max', undefined, { enable_thinking: true }],
  [{ think: true, thinking_budget_tokens: 50 }, undefined, { type: 'tokens', tokens: 50 }, { enable_thinking: true }],
  [{ think: true, reasoning_effort: 'low' }, 'low', { type: 'share', share: 0.25 }, { enable_thinking: true }],
  [{ think: true, reasoning_effort: 'none' }, undefined, undefined, { enable_thinking: true }],
  [{ reasoning_effort: 'low' }, 'low', { type: 'share', share: 0.25 }, {}],
])('think: %j', (body, effort, budget, variables) => {
  const request = chat(body);
  expect(request.reasoning).toEqual({ effort, separate: true });
  expect(request.controls.reasoning).toEqual(budget);
  expect(request.templateVariables).toEqual(variables);
});

test.each([
  [{}, 'refuse'],
  [{ truncate: true }, 'trim'],
  [{ truncate: false }, 'refuse'],
])('truncate: with %j a prompt that does not fit is handled by: %s', (body, overflow) =>
  expect(chat(body).controls.overflow).toBe(overflow),
);

test.each([
  [{}, undefined],
  [{ logprobs: true }, 0],
  [{ logprobs: true, top_logprobs: 3 }, 3],
  [{ top_logprobs: 3 }, undefined],
])('logprobs: %j gives %j alternatives', (body, expected) => expect(chat(body).controls.logprobs).toBe(expected));

test('decodeCompletion: a prompt is a chat of one turn, after system and context', () => {
  const found = completion({ system: 'Be brief.' }, 'before ');
  expect(found).toMatchObject({
    type: 'chat',
    request: {
      memory: 'before ',
      conversation: {
        messages: [
          { role: 'system', content: text('Be brief.') },
          { role: 'user', content: text('Hi') },
        ],
      },
    },
  });
});

test('decodeCompletion: a raw prompt is not changed', () => {
  expect(completion({ raw: true, format: 'json' })).toMatchObject({
    type: 'plain',
    returnsContext: false,
    request: { prompt: 'Hi', grammar: { gbnf: 'root ::= type' } },
  });
});

test('decodeCompletion: a template makes the prompt, with .Suffix', () => {
  expect(completion({ template: '<u>{{ .Prompt }}<a>', system: 'x' }, 'before ')).toMatchObject({
    type: 'plain',
    returnsContext: true,
    request: { prompt: 'before <u>Hi<a>' },
  });
  expect(completion({ template: '<p>{{ .Prompt }}<s>{{ .Suffix }}<m>', suffix: 'end' })).toMatchObject({
    request: { prompt: '<p>Hi<s>end<m>' },
  });
});

test.each([
  [{ suffix: 'end', template: '{{ .Prompt }}' }, /suffix is not possible/],
  [{ suffix: 'end', raw: true }, /suffix is not possible/],
  [{ raw: true, system: 'x' }, /raw with template, system or context is not possible/],
  [{ raw: true, template: 'x' }, /raw with template, system or context is not possible/],
  [{ images: ['aGk='] }, /Image input \(images\[0\]\) is not possible/],
  [{ images: 'aGk=' }, /images must be an array of base64 strings/],
])('decodeCompletion: refuses %j', (body, sentence) => expect(() => completion(body)).toThrow(sentence));

test('decodeCompletion: uses the marks of the model for a gap', () => {
  const parts = dialectParts();
  const fields = readRequest(generateFields, { prompt: 'Hi', suffix: 'end', format: 'json' }, parts);
  const marks = { prefix: '<P>', suffix: '<S>', middle: '<M>' };
  expect(decodeCompletion(fields, parts, { earlier: 'before ', marks })).toMatchObject({
    type: 'plain',
    returnsContext: true,
    request: { prompt: 'before <P>Hi<S>end<M>', memory: '', grammar: { gbnf: 'root ::= type' } },
  });
});

test.each([
  [{}, false],
  [{ suffix: '' }, false],
  [{ suffix: 'end' }, true],
  [{ suffix: 'end', template: 'x' }, false],
  [{ suffix: 'end', raw: true }, false],
])('hasGap: %j: %j', (body, expected) => {
  expect(hasGap(readFields(generateFields, body))).toBe(expected);
});
