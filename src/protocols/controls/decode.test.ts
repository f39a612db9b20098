import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultSamplerOrder, type SamplingName, samplingFields } from '../../core/sampling-fields.ts';
import { controlLimits } from '../testing/doubles.ts';
import {
  type ControlLimits,
  decodeControls,
  decodeSampling as decodeRead,
  idleFields,
  limitTokens,
  readControls,
} from './decode.ts';
import { readGenkey, readStop } from './table.ts';

const decode = (body: object, own: object = {}) =>
  decodeControls(readControls({ ...body }), { ...controlLimits, ...own });

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
])('limitTokens: %d with %j is %d', (asked, own, expected) => {
  expect(limitTokens(asked, { ...controlLimits, ...own })).toBe(expected);
});

test.each([
  [{}, undefined],
  [{ max_context_length: 512 }, 512],
  [{ max_context_length: 4096 }, undefined],
  [{ max_context_length: 99_999 }, undefined],
  [{ max_context_length: 0 }, undefined],
  [{ max_context_length: 'x' }, undefined],
])('max_context_length: %j limits the context to %s', (body, expected) => {
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
])('stop_sequence: %j is %j', (stop, expected) => {
  expect(readStop(stop, 'stop')).toEqual(expected);
});

test('stop_sequence: refuses other types by name', () => {
  expect(() => readStop([1], 'stop')).toThrow('stop must be an array of strings.');
  expect(() => decode({ stop_sequence: { a: 1 } })).toThrow('stop_sequence must be');
});

test.each([
  [{}, 'stop'],
  [{ ban_eos_token: true }, 'ban'],
  [{ use_default_badwordsids: true }, 'ban'],
  [{ ignore_eos: true }, 'ban'],
  [{ ban_eos_token: false, use_default_badwordsids: true }, 'stop'],
  [{ bypass_eos: true, ban_eos_token: true }, 'ignore'],
])('end tokens: %j gives %s', (body, expected) => {
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
])('reasoning: %j gives %j', (body, expected) => {
  expect(decode(body).reasoning).toEqual(expected);
});

test.each([
  [{ grammar: 'root ::= "a"' }, 'root ::= "a"'],
  [{ grammar: '' }, undefined],
  [{ grammar: '  ' }, undefined],
  [{ grammar: { type: 'object' } }, 'root ::= type'],
  [{ grammar: '{"type":"object"}' }, 'root ::= type'],
])('grammar: %j is %s', (body, expected) => {
  expect(decode(body).grammar?.gbnf).toBe(expected);
});

test('grammar: refuses a schema that cannot be converted, with the reason', () => {
  const schemaToGrammar = () => {
    throw new Error('too deep');
  };
  expect(() => decode({ grammar: {} }, { schemaToGrammar })).toThrow(
    'grammar must be a JSON schema that can be turned into a grammar (too deep).',
  );
});

test('guidance: needs a text, a scale and --enableguidance', () => {
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
])('idleFields: of %j: %j', (body, expected) => {
  expect(idleFields(readControls(body))).toEqual(expected);
});

test('readGenkey: a text, or a number as text', () => {
  expect(readGenkey('K1', 'genkey')).toBe('K1');
  expect(readGenkey(17, 'genkey')).toBe('17');
  expect(readGenkey(undefined, 'genkey')).toBe('');
  expect(() => readGenkey({}, 'genkey')).toThrow('genkey must be a string.');
});

test('decodeControls: the other native fields', () => {
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

const decodeSampling = (body: object, adapter: object, loaded: ControlLimits['adapter']) =>
  decodeRead(readControls({ ...body, adapter }), loaded);

const names = Object.keys(samplingFields) as SamplingName[];

test('decodeSampling: defaults', () => {
  const sampling = decodeSampling({}, {}, {});
  for (const name of names) expect(sampling[name], name).toBe(samplingFields[name].default);
  expect(sampling).toMatchObject({ order: defaultSamplerOrder, dryBreakers: [] });
});

test('decodeSampling: null counts as left out under every name', () => {
  const body = Object.fromEntries(names.flatMap((name) => samplingFields[name].wire).map((wire) => [wire, null]));
  expect(decodeSampling({ ...body, sampler_order: null }, {}, {})).toEqual(decodeSampling({}, {}, {}));
});

test.each(names.filter((name) => samplingFields[name].wire.length > 1 && name !== 'repetitionPenalty'))(
  'decodeSampling: the first name of %s that is sent counts',
  (name) => {
    const [first, second] = samplingFields[name].wire as unknown as [string, string];
    expect(decodeSampling({ [first]: 2, [second]: 3 }, {}, {})[name]).toBe(2);
    expect(decodeSampling({ [second]: 3 }, {}, {})[name]).toBe(3);
    expect(decodeSampling({ [first]: null, [second]: 3 }, {}, {})[name]).toBe(3);
  },
);

test('decodeSampling: the highest of the names of the repetition penalty counts', () => {
  const penalty = (body: object) => decodeSampling({ ...body }, {}, {}).repetitionPenalty;
  expect(penalty({ rep_pen: 1.1, repetition_penalty: 1.3, repeat_penalty: 1.2 })).toBe(1.3);
  expect(penalty({ rep_pen: 0.5 })).toBe(1);
});

test.each([
  [{ temperature: -1 }, 'temperature', 0],
  [{ temperature: '0.3' }, 'temperature', 0.3],
  [{ temperature: 'hot' }, 'temperature', 0.7],
  [{ top_k: 40.9 }, 'topK', 40],
  [{ rep_pen_range: 0 }, 'repetitionRange', 1],
  [{ rep_pen_slope: 3 }, 'repetitionSlope', 1],
  [{ rep_pen_slope: 0 }, 'repetitionSlope', 1],
  [{ rep_pen_slope: 0.5 }, 'repetitionSlope', 0.5],
  [{ adaptive_decay: 5 }, 'adaptiveDecay', 0.99],
  [{ sampler_seed: 2 ** 32 - 1 }, 'seed', 2 ** 32 - 1],
  [{ sampler_seed: 1e20 }, 'seed', 2 ** 32 - 1],
  [{ sampler_seed: -99 }, 'seed', -1],
] as const)('decodeSampling: %j sets %s to %d', (body, name, value) => {
  expect(decodeSampling(body, {}, {})[name]).toBe(value);
});

test('decodeSampling: defaults of the adapter of the request, then of the server', () => {
  const loaded = { temperature: 0.1, topK: 11 };
  expect(decodeSampling({}, {}, loaded)).toMatchObject({ temperature: 0.1, topK: 11, topP: 0.9 });
  expect(decodeSampling({}, { temperature: 0.2 }, loaded)).toMatchObject({ temperature: 0.2, topK: 11 });
  expect(decodeSampling({ temperature: 0.3 }, { temperature: 0.2 }, loaded)).toMatchObject({ temperature: 0.3 });
  expect(decodeSampling({}, { seed: 5, typical: 0.2 }, {})).toMatchObject({ seed: -1, typical: 1 });
});

test.each([
  [
    [6, 0],
    ['repetition', 'top-k'],
  ],
  [
    ['5', 2.9],
    ['temperature', 'top-p'],
  ],
  [[9, 1, 'x'], ['top-a']],
  [[], defaultSamplerOrder],
  [[0, 1, 2, 3, 4, 5, 6, 0], defaultSamplerOrder],
])('sampler_order: %j is %j', (sampler_order, order) => {
  expect(decodeSampling({ sampler_order }, {}, {}).order).toEqual(order);
});

test('sampler_order: refuses other types', () => {
  expect(() => decodeSampling({ sampler_order: '6,0' }, {}, {})).toThrow('sampler_order must be an array');
});

test('dry_sequence_breakers: cut to forty bytes, never inside of a character', () => {
  const { dryBreakers } = decodeSampling(
    { dry_sequence_breakers: ['.', 'é'.repeat(30), `a${'é'.repeat(30)}`] },
    {},
    {},
  );
  expect(dryBreakers).toEqual(['.', 'é'.repeat(20), `a${'é'.repeat(19)}`]);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (text) => {
      const [cut = ''] = decodeSampling({ dry_sequence_breakers: [text] }, {}, {}).dryBreakers;
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(40);
      expect(text.startsWith(cut)).toBe(true);
    }),
  );
});

test('decodeSampling: every control is finite for any body', () => {
  const wires = names.flatMap((name) => [...samplingFields[name].wire]);
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...wires), fc.jsonValue()), (body) => {
      const sampling = decodeSampling(body as never, {}, {});
      for (const name of names) expect(Number.isFinite(sampling[name]), name).toBe(true);
    }),
  );
});
