import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { defaultSamplerOrder, samplingFields } from '../../core/sampling-fields.ts';
import { fidelityOf, readFields, readNumber, type Table } from '../fields.ts';
import { readControls } from './decode.ts';
import { asControls, type Controls, controlFields, joinBiases, readEffort, readGenkey, readStop } from './table.ts';

describe('controlFields', () => {
  test('has every name of every sampler once', () => {
    const wires = Object.values(samplingFields).flatMap(({ wire }) => [...wire]);
    expect(new Set(wires).size).toBe(wires.length);
    for (const wire of wires) expect(controlFields).toHaveProperty(wire);
  });

  test('notes: an alias names its original', () => {
    expect(controlFields.typical_p.note).toBe('another name of typical');
    expect(controlFields.typical.note).toBeUndefined();
    expect(controlFields.repeat_penalty.note).toContain('strongest');
  });

  test('reads samplers as numbers or undefined', () => {
    expectTypeOf<Controls['min_p']>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Controls['typ_p']>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Controls['trim_stop']>().toEqualTypeOf<boolean>();
  });

  test('has defaults for an empty body', () => {
    const empty = readControls({});
    const nothing = Object.fromEntries(Object.keys(controlFields).map((name) => [name, null]));
    expect(readControls(nothing)).toEqual(empty);
    expect(empty).toMatchObject({
      stop_sequence: [],
      trim_stop: true,
      cache_prompt: true,
      logprobs: false,
      banned_tokens: undefined,
      banned_strings: [],
      guidance_scale: 1,
      negative_prompt: '',
      thinking_budget_tokens: -1,
      grammar: undefined,
      sampler_order: undefined,
    });
  });

  test('distinguishes NaN from left out', () => {
    expect(readControls({ typical: 'much', typical_p: 0.5 })).toMatchObject({ typical: Number.NaN, typical_p: 0.5 });
  });

  test('reads seeds up to 32 bits, other integers up to 31', () => {
    expect(readControls({ sampler_seed: 1e12, seed: -7, top_k: 1e12 })).toMatchObject({
      sampler_seed: 2 ** 32 - 1,
      seed: -1,
      top_k: 2 ** 31 - 1,
    });
  });
});

test.each<[object, string]>([
  [{ stop_sequence: 5 }, 'stop_sequence must be an array of strings.'],
  [{ trim_stop: 'maybe' }, 'trim_stop must be true or false.'],
  [{ ban_eos_token: [] }, 'ban_eos_token must be true or false.'],
  [{ adapter: [] }, 'adapter must be an object.'],
  [{ sampler_order: {} }, 'sampler_order must be an array of sampler numbers.'],
  [{ dry_sequence_breakers: [5] }, 'dry_sequence_breakers must be an array of strings.'],
  [{ logit_bias: [] }, 'logit_bias must be an object from token numbers to numbers.'],
  [{ custom_token_bans: 'a,b' }, 'custom_token_bans must be token numbers with commas between.'],
  [{ custom_token_bans: '1,'.repeat(10_001) }, 'custom_token_bans must be at most 10000 token numbers.'],
  [{ banned_tokens: {} }, 'banned_tokens must be an array of strings.'],
  [{ banned_strings: 5 }, 'banned_strings must be an array of strings.'],
  [{ grammar: 5 }, 'grammar must be a string.'],
  [{ negative_prompt: [] }, 'negative_prompt must be a string.'],
])('refuses %j by name', (body, sentence) => {
  expect(() => readControls({ ...body })).toThrow(sentence);
});

describe('grammar', () => {
  test.each([
    ['root ::= "a"', { gbnf: 'root ::= "a"' }],
    ['', { gbnf: '' }],
    ['{"type":"object"}', { schema: { type: 'object' } }],
    [{ type: 'object' }, { schema: { type: 'object' } }],
    ['{"type":', { gbnf: '{"type":' }],
  ])('reads %j as %j', (grammar, expected) => {
    expect(readControls({ grammar }).grammar).toEqual(expected);
  });
});

describe('sampler_order', () => {
  test.each([
    [
      [6, 0],
      ['repetition', 'top-k'],
    ],
    [['6', 99, 'x', -1], ['repetition']],
    [[], defaultSamplerOrder],
    [Array.from({ length: 8 }, () => 0), defaultSamplerOrder],
  ])('%j is %j', (sampler_order, expected) => {
    expect(readControls({ sampler_order }).sampler_order).toEqual(expected);
  });
});

test('readStop: a text is never parsed as a list', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (text) => {
      expect(readStop(text, 'stop')).toEqual([text]);
      expect(readStop([text, ''], 'stop')).toEqual([text]);
    }),
  );
});

test('readGenkey: a text or a number', () => {
  expect([undefined, null, '', 'k', 7, 1.5].map((value) => readGenkey(value, 'genkey'))).toEqual([
    '',
    '',
    '',
    'k',
    '7',
    '1.5',
  ]);
  for (const value of [true, [], {}]) {
    expect(() => readGenkey(value, 'genkey')).toThrow('genkey must be a string.');
  }
});

test('readEffort: undefined for other types', () => {
  expect(['low', '', 5, null, {}].map((value) => readEffort(value, 'reasoning_effort'))).toEqual([
    'low',
    '',
    undefined,
    undefined,
    undefined,
  ]);
});

describe('asControls', () => {
  const table: Table = { ...asControls({ grammar: 'As everywhere.', top_k: '' }, { check: readNumber }) };

  test('documents controls in the table of a dialect', () => {
    expect(fidelityOf(table)).toEqual([
      { field: 'grammar', handling: 'honoured', note: 'As everywhere.' },
      { field: 'top_k', handling: 'honoured' },
    ]);
  });

  test('checks them with the types of the dialect', () => {
    expect(readFields(table, { top_k: 5 })).toEqual({});
    expect(readFields(table, { top_k: null })).toEqual({});
    expect(() => readFields(table, { top_k: '5' })).toThrow('top_k must be a number.');
  });
});

function decodeBias(body: object) {
  const controls = readControls({ ...body });
  return joinBiases(controls.logit_bias, controls.custom_token_bans);
}

test.each([
  [{}, []],
  [{ logit_bias: null, custom_token_bans: null }, []],
  [
    { logit_bias: { 5: -3, ' 7 ': '0.5' } },
    [
      [5, -3],
      [7, 0.5],
    ],
  ],
  [
    { logit_bias: { 5: 500, 6: -500 } },
    [
      [5, 100],
      [6, -100],
    ],
  ],
  [{ logit_bias: { '-1': 3 } }, []],
  [
    { custom_token_bans: '1, 2,,3' },
    [
      [1, -100],
      [2, -100],
      [3, -100],
    ],
  ],
  [{ custom_token_bans: '' }, []],
  [{ custom_token_bans: '-1' }, []],
])('biases: %j decodes to %j', (body, expected) => {
  expect(decodeBias(body)).toEqual(expected);
});

test('joinBiases: a ban wins over a bias of the same token', () => {
  expect(decodeBias({ logit_bias: { 5: 50 }, custom_token_bans: '5' })).toEqual([[5, -100]]);
});

test('logit_bias: the first 512 entries count', () => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, token) => [String(token), 1]));
  expect(decodeBias({ logit_bias: many })).toHaveLength(512);
});

test.each([
  [{ logit_bias: [[5, 1]] }, 'logit_bias must be an object from token numbers to numbers.'],
  [{ logit_bias: 'x' }, 'logit_bias must be'],
  [{ logit_bias: { word: 1 } }, 'logit_bias must be'],
  [{ logit_bias: { 5: 'much' } }, 'logit_bias must be'],
  [{ logit_bias: { 1.5: 1 } }, 'logit_bias must be'],
  [{ custom_token_bans: 'one,two' }, 'custom_token_bans must be token numbers with commas between.'],
  [{ custom_token_bans: 5 }, 'custom_token_bans must be a string.'],
])('biases: refuses %j', (body, sentence) => {
  expect(() => decodeBias(body)).toThrow(sentence);
});

test('biases: always within the limits of a sampler', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.nat(1e6).map(String), fc.double({ noNaN: true })), (biases) => {
      for (const [token, bias] of decodeBias({ logit_bias: JSON.parse(JSON.stringify(biases, finite)) })) {
        expect(Number.isInteger(token)).toBe(true);
        expect(Math.abs(bias)).toBeLessThanOrEqual(100);
      }
    }),
  );
});

function finite(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? 0 : value;
}
