import { expect, test } from 'vitest';
import { controlParts } from '../testing/doubles.ts';
import { decodeControls, idleFields, limitTokens, readControls } from './decode.ts';
import { readGenkey, readStop } from './table.ts';

const decode = (body: object, own: object = {}) =>
  decodeControls(readControls({ ...body }), { ...controlParts, ...own });

test.each([
  [0, {}, 2048],
  [-5, {}, 2048],
  [9, {}, 9],
  [99_999, {}, 99_999],
  [0, { defaultMaxTokens: 4000 }, 2048],
  [0, { contextSize: 1 }, 1],
  [99_999, { maxTokensLimit: 100 }, 100],
  [0, { maxTokensLimit: 100 }, 100],
  [9, { maxTokensLimit: 100 }, 9],
])('a wish for %d tokens with %j is one for %d', (asked, own, expected) => {
  expect(limitTokens(asked, { ...controlParts, ...own })).toBe(expected);
});

test.each([
  [{}, undefined],
  [{ max_context_length: 512 }, 512],
  [{ max_context_length: 4096 }, undefined],
  [{ max_context_length: 99_999 }, undefined],
  [{ max_context_length: 0 }, undefined],
  [{ max_context_length: 'x' }, undefined],
])('%j limits the context to %s', (body, expected) => {
  expect(decode(body).maxContext).toBe(expected);
});

test.each([
  ['x', ['x']],
  ['["x"]', ['["x"]']],
  [
    ['a', '', 'b'],
    ['a', 'b'],
  ],
  [Array.from({ length: 300 }, () => 'x'), Array.from({ length: 256 }, () => 'x')],
])('the stop %j is %j', (stop, expected) => {
  expect(readStop(stop, 'stop')).toEqual(expected);
});

test('a stop that is no text is refused by its name', () => {
  expect(() => readStop([1], 'stop')).toThrow('stop must be an array of strings.');
  expect(() => decode({ stop_sequence: { a: 1 } })).toThrow('stop_sequence must be');
});

test.each([
  [{}, 'stop'],
  [{ ban_eos_token: true }, 'ban'],
  [{ use_default_badwordsids: true }, 'ban'],
  [{ ban_eos_token: false, use_default_badwordsids: true }, 'stop'],
  [{ bypass_eos: true, ban_eos_token: true }, 'ignore'],
])('%j makes the end tokens %s', (body, expected) => {
  expect(decode(body).endTokens).toBe(expected);
});

test.each([
  [{}, undefined],
  [{ reasoning_effort: 'none' }, { type: 'share', share: 0 }],
  [{ reasoning_effort: 'minimal' }, { type: 'share', share: 0.1 }],
  [{ reasoning_effort: 'max' }, undefined],
  [{ thinking_budget_tokens: 0 }, { type: 'tokens', tokens: 0 }],
  [{ thinking_budget_tokens: -1 }, undefined],
  [
    { reasoning_effort: 'low', thinking_budget_tokens: 9 },
    { type: 'share', share: 0.25 },
  ],
  [
    { reasoning_effort: 'max', thinking_budget_tokens: 9 },
    { type: 'tokens', tokens: 9 },
  ],
])('%j allows thinking of %j', (body, expected) => {
  expect(decode(body).reasoning).toEqual(expected);
});

test.each([
  [{ grammar: 'root ::= "a"' }, 'root ::= "a"'],
  [{ grammar: '' }, undefined],
  [{ grammar: '  ' }, undefined],
  [{ grammar: { type: 'object' } }, 'root ::= type'],
  [{ grammar: '{"type":"object"}' }, 'root ::= type'],
])('%j is the grammar %s', (body, expected) => {
  expect(decode(body).grammar?.gbnf).toBe(expected);
});

test('a schema that nothing can be made of is refused with the reason', () => {
  const schemaToGrammar = () => {
    throw new Error('too deep');
  };
  expect(() => decode({ grammar: {} }, { schemaToGrammar })).toThrow(
    'grammar must be a JSON schema that can be turned into a grammar (too deep).',
  );
});

test('guidance needs a text and a scale, and a server that was started for it', () => {
  const both = { negative_prompt: 'bad', guidance_scale: 2 };
  expect(() => decode(both)).toThrow('--enableguidance');
  expect(decode(both, { guidance: true }).guidance).toEqual({ negativePrompt: 'bad', scale: 2 });
  expect(decode({ negative_prompt: 'bad' }).guidance).toEqual({ negativePrompt: 'bad', scale: 1 });
  expect(decode({ guidance_scale: 2 }).guidance).toBeUndefined();
  expect(decode({ ...both, guidance_scale: -3 }, { guidance: true }).guidance?.scale).toBe(0);
});

test.each([
  [{}, []],
  [{ negative_prompt: '', guidance_scale: 1 }, []],
  [{ negative_prompt: 'bad' }, ['negative_prompt']],
  [{ guidance_scale: 2 }, ['guidance_scale']],
  [{ negative_prompt: 'bad', guidance_scale: 2 }, []],
])('of %j the fields %j are at rest', (body, expected) => {
  expect(idleFields(body)).toEqual(expected);
});

test('a key is a text, or a number that is as good as one', () => {
  expect(readGenkey('K1', 'genkey')).toBe('K1');
  expect(readGenkey(17, 'genkey')).toBe('17');
  expect(readGenkey(undefined, 'genkey')).toBe('');
  expect(() => readGenkey({}, 'genkey')).toThrow('genkey must be a string.');
});

test('the rest of the native fields', () => {
  expect(decode({})).toMatchObject({
    media: [],
    overflow: 'trim',
    bannedTokens: [],
    bannedStrings: [],
    trimStop: true,
    renderSpecial: false,
    logprobs: undefined,
  });
  expect(decode({})).not.toHaveProperty('freshPrompt');
  expect(decode({ cache_prompt: false, logprobs: 1, banned_strings: 'one', trim_stop: 'false' })).toMatchObject({
    freshPrompt: true,
    logprobs: 10,
    bannedStrings: ['one'],
    trimStop: false,
  });
  expect(decode({ banned_tokens: ['a'], banned_strings: ['b'] }).bannedStrings).toEqual(['a']);
  expect(() => decode({ adapter: 'ChatML' })).toThrow('adapter must be an object.');
  expect(() => decode({ trim_stop: 'maybe' })).toThrow('trim_stop must be true or false.');
});
