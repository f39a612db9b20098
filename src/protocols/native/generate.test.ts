import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { defaultControls, type GenerationRequest } from '../../core/request.ts';
import { defaultSamplerOrder, type Sampling } from '../../core/sampling-fields.ts';
import { schemaToGrammar } from '../../grammar/convert.ts';
import type { JsonObject } from '../../http/body.ts';
import { readGenkey } from '../controls/table.ts';
import { readFields } from '../fields.ts';
import { readyState, seeing } from '../testing/doubles.ts';
import { type DecodeContext, decode as decodeFields, generateFields } from './generate.ts';

const parts: DecodeContext = {
  defaultMaxTokens: 2048,
  maxTokensLimit: 0,
  contextSize: 8192,
  overflow: 'refuse',
  guidance: false,
  adapter: {},
  replacePlaceholders: (texts) => texts,
  schemaToGrammar: (schema) => `root ::= ${JSON.stringify(schema)}`,
  state: readyState(),
};

const decode = (body: JsonObject, server: DecodeContext) => decodeFields(readFields(generateFields, body), server);

test('decode: an empty body gives the documented defaults', () => {
  expect(decode({}, parts)).toEqual<GenerationRequest>({ ...defaultControls, prompt: '', memory: '' });
});

test('decode: ignores unknown fields and neutral values', () => {
  const resting = {
    n: 1,
    quiet: true,
    models: [],
    images: [],
    audio: [],
    guidance_scale: 1,
    negative_prompt: '',
    params: 5,
  };
  expect(decode(resting, parts)).toEqual(decode({}, parts));
});

test.each<[object, Partial<Sampling>]>([
  [{ temperature: null }, { temperature: 0.7 }],
  [{ temperature: '0.2' }, { temperature: 0.2 }],
  [{ temperature: -3 }, { temperature: 0 }],
  [{ temperature: {} }, { temperature: 0.7 }],
  [{ top_k: 'true' }, { topK: 1 }],
  [{ top_k: 40.9 }, { topK: 40 }],
  [{ dynatemp_exponent: -1 }, { dynamicExponent: 0 }],
  [{ adaptive_decay: 4 }, { adaptiveDecay: 0.99 }],
  [{ rep_pen_range: 0 }, { repetitionRange: 1 }],
  [{ rep_pen_slope: 0 }, { repetitionSlope: 1 }],
  [{ rep_pen_slope: 1.5 }, { repetitionSlope: 1 }],
  [{ rep_pen_slope: 0.7 }, { repetitionSlope: 0.7 }],
  [{ rep_pen: 1.1, repetition_penalty: 1.3, repeat_penalty: 1.2 }, { repetitionPenalty: 1.3 }],
  [{ rep_pen: 0.5 }, { repetitionPenalty: 1 }],
  [{ rep_pen: 'strong' }, { repetitionPenalty: 1 }],
  [{ sampler_seed: 4_000_000_000 }, { seed: 4_000_000_000 }],
  [{ sampler_seed: 1e30 }, { seed: 2 ** 32 - 1 }],
  [{ sampler_seed: null, seed: 3 }, { seed: 3 }],
  [{ typical_p: 0.5 }, { typical: 0.5 }],
  [{ typical: 0.4, typical_p: 0.5 }, { typical: 0.4 }],
  [{ sampler_order: [0, 6, 5] }, { order: ['top-k', 'repetition', 'temperature'] }],
  [{ sampler_order: [5, 99, -1, '0'] }, { order: ['temperature', 'top-k'] }],
  [{ sampler_order: [] }, { order: defaultSamplerOrder }],
  [{ sampler_order: [0, 1, 2, 3, 4, 5, 6, 0] }, { order: defaultSamplerOrder }],
  [{ dry_sequence_breakers: '["\\n", ":"]' }, { dryBreakers: ['\n', ':'] }],
  [{ dry_sequence_breakers: ['a'.repeat(50), 'é'.repeat(25)] }, { dryBreakers: ['a'.repeat(40), 'é'.repeat(20)] }],
  [{ dry_sequence_breakers: [`a${'é'.repeat(25)}`] }, { dryBreakers: [`a${'é'.repeat(19)}`] }],
])('decode: the sampling of %o has %o', (body, expected) => {
  expect(decode({ ...body }, parts).sampling).toMatchObject(expected);
});

test('decode: at most 128 sequence breakers', () => {
  const many = Array.from({ length: 200 }, (_, index) => String(index));
  expect(decode({ dry_sequence_breakers: many }, parts).sampling.dryBreakers).toHaveLength(128);
});

test('decode: four controls have defaults from the adapter of the request, then of the server', () => {
  const loaded = { ...parts, adapter: { temperature: 0.3, topK: 20 } };
  const { sampling } = decode({ adapter: { temperature: 1.5, min_p: '0.1', rep_pen: 2 }, top_p: 0.5 }, loaded);
  expect(sampling).toMatchObject({ temperature: 1.5, topK: 20, topP: 0.5, minP: 0.1, repetitionPenalty: 1 });
  expect(decode({ temperature: 1 }, loaded).sampling.temperature).toBe(1);
});

test.each<[object, Partial<GenerationRequest>]>([
  [{ prompt: null }, { prompt: '' }],
  [{ stop_sequence: null }, { stop: [] }],
  [{ stop_sequence: '["x"]' }, { stop: ['["x"]'] }],
  [{ stop_sequence: ['a', '', 'b'] }, { stop: ['a', 'b'] }],
  [{ use_default_badwordsids: true }, { endTokens: 'ban' }],
  [{ use_default_badwordsids: true, ban_eos_token: false }, { endTokens: 'stop' }],
  [{ ban_eos_token: true, bypass_eos: true }, { endTokens: 'ignore' }],
  [{ banned_tokens: ['a'], banned_strings: ['b'] }, { bannedStrings: ['a'] }],
  [{ banned_strings: '["b", "c"]' }, { bannedStrings: ['b', 'c'] }],
  [{ banned_tokens: 'some phrase' }, { bannedStrings: ['some phrase'] }],
  [
    { logit_bias: { '5': 200, '6': '-1.5', '-1': 3 } },
    {
      logitBias: [
        [5, 100],
        [6, -1.5],
      ],
    },
  ],
  [
    { logit_bias: { '5': 1 }, custom_token_bans: '5, 9,,-2' },
    {
      logitBias: [
        [5, -100],
        [9, -100],
      ],
    },
  ],
  [{ logprobs: 1 }, { logprobs: 10 }],
  [{ reasoning_effort: 'none' }, { reasoning: { type: 'share', share: 0 } }],
  [{ reasoning_effort: 'high', thinking_budget_tokens: 5 }, { reasoning: { type: 'share', share: 0.75 } }],
  [{ reasoning_effort: 'endless', thinking_budget_tokens: 5 }, { reasoning: { type: 'tokens', tokens: 5 } }],
  [{ reasoning_effort: 'xhigh' }, { reasoning: undefined }],
  [{ max_length: 80 }, { maxTokens: 80 }],
  [{ max_length: 0 }, { maxTokens: 0 }],
  [{ max_length: -5 }, { maxTokens: 0 }],
  [{ max_length: '0' }, { maxTokens: 0 }],
  [{ max_length: null }, { maxTokens: 2048 }],
  [{ max_length: 'long' }, { maxTokens: 2048 }],
  [{ max_length: 1e20 }, { maxTokens: 2 ** 31 - 1 }],
  [{ max_context_length: 1024 }, { maxContext: 1024 }],
  [{ max_context_length: 999_999 }, { maxContext: undefined }],
  [{ max_context_length: 0 }, { maxContext: undefined }],
  [{ grammar: 'root ::= "a"' }, { grammar: { gbnf: 'root ::= "a"', retainState: false } }],
  [
    { grammar: '{"type":"null"}', grammar_retain_state: true },
    { grammar: { gbnf: 'root ::= {"type":"null"}', retainState: true } },
  ],
  [{ grammar: { type: 'null' } }, { grammar: { gbnf: 'root ::= {"type":"null"}', retainState: false } }],
  [{ grammar: ' ' }, { grammar: undefined }],
  [{ guidance_scale: 2 }, { guidance: undefined }],
  [{ negative_prompt: 'not this' }, { guidance: { negativePrompt: 'not this', scale: 1 } }],
  [{ grammar_retain_state: true }, { grammar: undefined, retainsGrammar: true }],
])('decode: %o becomes %o', (body, expected) => {
  expect(decode({ ...body }, parts)).toMatchObject(expected);
});

test.each(['stop_sequence', 'banned_tokens', 'banned_strings', 'dry_sequence_breakers'])(
  'decode: refuses more than 50,000 characters of %s',
  (field) => {
    expect(() => decode({ [field]: ['a'.repeat(25_000), 'b'.repeat(25_000)] }, parts)).not.toThrow();
    expect(() => decode({ [field]: ['a'.repeat(25_000), 'b'.repeat(25_001)] }, parts)).toThrow(
      `${field} must be at most 50000 characters, all texts together; these are 50001.`,
    );
    expect(() => decode({ [field]: 'a'.repeat(20_000_000) }, parts)).toThrow(
      `${field} must be at most 50000 characters`,
    );
  },
);

test('decode: refuses more than 10,000 banned tokens', () => {
  const bans = (count: number) => Array.from({ length: count }, (_, index) => index).join(',');
  expect(decode({ custom_token_bans: bans(10_000) }, parts).logitBias).toHaveLength(10_000);
  expect(() => decode({ custom_token_bans: bans(10_001) }, parts)).toThrow('custom_token_bans must be at most 10000');
});

test('decode: refuses a schema in a text that is nested without end', () => {
  const deep = `${'{"items":'.repeat(100_000)}{}${'}'.repeat(100_000)}`;
  expect(() => decode({ grammar: deep }, { ...parts, schemaToGrammar })).toThrow(/nested deeper/);
  expect(() => decode({ grammar: '['.repeat(100_000) }, { ...parts, schemaToGrammar })).not.toThrow();
  const values = `{"enum":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}`;
  expect(() => decode({ grammar: values }, { ...parts, schemaToGrammar })).toThrow(/grammar must be/);
});

test('decode: cuts lists at their documented length', () => {
  const many = Array.from({ length: 1000 }, (_, index) => `s${index}`);
  const bias = Object.fromEntries(many.map((_, index) => [index, 1]));
  const request = decode({ stop_sequence: many, banned_tokens: many, logit_bias: bias }, parts);
  expect([request.stop.length, request.bannedStrings.length, request.logitBias.length]).toEqual([256, 768, 512]);
});

test.each<[object, string]>([
  [{ prompt: ['a'] }, 'prompt must be a string.'],
  [{ prompt: 5 }, 'prompt must be a string.'],
  [{ memory: {} }, 'memory must be a string.'],
  [{ stop_sequence: 5 }, 'stop_sequence must be an array of strings.'],
  [{ sampler_order: 'fast' }, 'sampler_order must be an array of sampler numbers.'],
  [{ logit_bias: { tree: 1 } }, 'logit_bias must be an object from token numbers to numbers.'],
  [{ logit_bias: { 5: 'much' } }, 'logit_bias must be an object from token numbers to numbers.'],
  [{ custom_token_bans: '5, tree' }, 'custom_token_bans must be token numbers with commas between.'],
  [{ adapter: 'ChatML' }, 'adapter must be an object.'],
  [{ images: ['aGk='] }, 'Image input (images) is not possible: the loaded model has no projector'],
  [{ audio: ['aGk='] }, 'Audio input (audio) is not possible: the loaded model has no projector'],
  [
    { negative_prompt: 'not this', guidance_scale: 2 },
    'negative_prompt is not possible: start the server with --enableguidance.',
  ],
])('decode: refuses %o: %s', (body, message) => {
  expect(() => decode({ ...body }, parts)).toThrow(message);
});

test('decode: guidance needs --enableguidance, and is never below zero', () => {
  const { guidance } = decode({ negative_prompt: 'no', guidance_scale: -2 }, { ...parts, guidance: true });
  expect(guidance).toEqual({ negativePrompt: 'no', scale: 0 });
});

test('decode: refuses a schema that cannot be converted, with the reason', () => {
  const schemaToGrammar = () => {
    throw new Error('unknown type "sky"');
  };
  const refused = () => decode({ grammar: '{"type":"sky"}' }, { ...parts, schemaToGrammar });
  expect(refused).toThrow(AppError);
  expect(refused).toThrow('unknown type "sky"');
});

test('decode: the default length is at most half of the context, and the limit cuts every length', () => {
  expect(decode({}, { ...parts, contextSize: 1000 }).maxTokens).toBe(500);
  expect(decode({ max_length: 400 }, { ...parts, maxTokensLimit: 100 }).maxTokens).toBe(100);
  expect(decode({}, { ...parts, maxTokensLimit: 100 }).maxTokens).toBe(100);
});

test('decode: replaces placeholders unless switched off, and drops empty stops', () => {
  const loud: DecodeContext = {
    ...parts,
    replacePlaceholders: ({ prompt, memory }) => ({ prompt: prompt.toUpperCase(), memory, stop: ['', 'X'] }),
  };
  expect(decode({ prompt: 'a' }, loud)).toMatchObject({ prompt: 'A', stop: ['X'] });
  const plain = decode({ prompt: 'a', replace_instruct_placeholders: false, stop_sequence: ['y'] }, loud);
  expect(plain).toMatchObject({ prompt: 'a', stop: ['y'] });
});

test('decode: genkey is a number or a text', () => {
  expect([7, null, undefined].map((key) => readGenkey(key, 'genkey'))).toEqual(['7', '', '']);
  expect(() => readGenkey({}, 'genkey')).toThrow('genkey must be a string.');
});

describe('decode: images and audio', () => {
  const mediaOf = (body: object) => decode(body as never, { ...parts, state: seeing() }).media;

  test('images come before audio, with or without data URL', () => {
    expect(mediaOf({ audio: ['CCCC'], images: ['AAAA', 'data:image/png;base64,BBBB', ''] })).toEqual([
      { kind: 'image', base64: 'AAAA' },
      { kind: 'image', base64: 'BBBB', format: 'image/png' },
      { kind: 'audio', base64: 'CCCC' },
    ]);
  });

  test('keeps the last 64 of each kind', () => {
    const images = Array.from({ length: 70 }, (_, index) => Buffer.from([index, 0, 0]).toString('base64'));
    const media = mediaOf({ images, audio: images });
    expect(media).toHaveLength(128);
    expect(media[0]).toEqual({ kind: 'image', base64: images[6] });
  });

  test.each([
    [{ images: ['?'] }, 'images must be a picture in base64.'],
    [{ images: ['https://pictures.example/a.png'] }, 'images must be a picture in base64.'],
    [{ audio: ['data:image/png;base64,AAAA'] }, 'audio must be a sound, and image/png is none.'],
    [{ images: [7] }, 'images must be an array of strings.'],
  ])('refuses %j', (body, sentence) => expect(() => mediaOf(body)).toThrow(sentence));
});
