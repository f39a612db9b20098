import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultSampling, type Sampling } from '../../core/sampling-fields.ts';
import { optional, orElse } from '../fields.ts';
import { scriptedText } from '../testing/doubles.ts';
import {
  ownSettingsBody,
  readLogitBias,
  readSamplers,
  resolveBias,
  samplerNames,
  settingsBody,
  withSamplers as withNamed,
} from './samplers.ts';
import { plainControls } from './testing/world.ts';

const withSamplers = (sampling: Sampling, value: unknown) =>
  withNamed(sampling, optional(readSamplers)(value, 'samplers'));

const lively = { ...defaultSampling, dryMultiplier: 1, nSigma: 2, minP: 0.1, xtcProbability: 0.5, adaptiveTarget: 0.4 };

test('samplers: left out, nothing changes', () => {
  expect(withSamplers(lively, undefined)).toBe(lively);
  expect(withSamplers(lively, null)).toBe(lively);
});

test.each([
  [
    ['top_k', 'temperature'],
    ['top-k', 'temperature'],
  ],
  [
    ['temperature', 'top_k'],
    ['temperature', 'top-k'],
  ],
  ['kt', ['top-k', 'temperature']],
  [
    ['penalties', 'top_p', 'min_p'],
    ['repetition', 'top-p'],
  ],
  [['typ_p'], ['typical']],
  [
    ['nucleus', 'temp'],
    ['top-p', 'temperature'],
  ],
  [['infill', 'nobody'], []],
  ['', []],
  [[], []],
])('samplers: %j runs %j', (samplers, order) => {
  expect(withSamplers(lively, samplers).order).toEqual(order);
});

test('samplers: those that are not named are off', () => {
  expect(withSamplers(lively, ['top_k'])).toMatchObject({
    dryMultiplier: 0,
    nSigma: 0,
    topP: 1,
    minP: 0,
    xtcProbability: 0,
    temperature: 1,
    adaptiveTarget: -1,
  });
});

test('samplers: of two in one stage only the named one is on', () => {
  expect(withSamplers(lively, ['min_p'])).toMatchObject({ minP: 0.1, topP: 1, order: ['top-p'] });
  expect(withSamplers(lively, ['top_p'])).toMatchObject({ minP: 0, topP: 0.9, order: ['top-p'] });
  expect(withSamplers(lively, ['top_n_sigma'])).toMatchObject({ nSigma: 2, temperature: 1, order: ['temperature'] });
});

test('samplers: all letters only change the order', () => {
  const { order, ...rest } = withSamplers(lively, 'edskypmxta');
  const { order: _, ...before } = lively;
  expect(rest).toEqual(before);
  expect(new Set(order)).toEqual(new Set(['repetition', 'temperature', 'top-k', 'typical', 'top-p']));
});

test.each([5, {}, [1], [['top_k']]])('samplers: refuses %j', (value) => {
  expect(() => withSamplers(lively, value)).toThrow('samplers must be an array of names, or a text of letters.');
});

test('samplers: no stage runs twice', () => {
  const name = fc.constantFrom('top_k', 'top-k', 'top_p', 'min_p', 'temp', 'temperature', 'typical', 'dry', 'xtc', 'x');
  fc.assert(
    fc.property(fc.array(name), (samplers) => {
      const { order } = withSamplers(lively, samplers);
      expect(new Set(order).size).toBe(order.length);
    }),
  );
});

test('samplerNames: can be sent again', () => {
  const chosen = withSamplers(lively, ['temperature', 'top_k', 'top_p', 'min_p', 'dry', 'xtc']);
  expect(samplerNames(chosen)).toEqual(['dry', 'temperature', 'top_n_sigma', 'top_k', 'top_p', 'min_p', 'xtc']);
  expect(withSamplers(chosen, samplerNames(chosen)).order).toEqual(chosen.order);
});

/** Every name that clients of this dialect look for. */
const names = [
  ['seed', 'temperature', 'dynatemp_range', 'dynatemp_exponent', 'top_k', 'top_p', 'min_p', 'top_n_sigma'],
  ['xtc_probability', 'xtc_threshold', 'typical_p', 'repeat_last_n', 'repeat_penalty', 'presence_penalty'],
  ['frequency_penalty', 'dry_multiplier', 'dry_base', 'dry_allowed_length', 'dry_penalty_last_n', 'mirostat'],
  ['mirostat_tau', 'mirostat_eta', 'adaptive_target', 'adaptive_decay', 'max_tokens', 'n_predict', 'n_keep'],
  ['n_discard', 'ignore_eos', 'stream', 'n_probs', 'min_keep', 'chat_format', 'reasoning_format'],
  ['reasoning_in_content', 'generation_prompt', 'samplers', 'speculative.types', 'timings_per_token'],
  ['post_sampling_probs', 'backend_sampling', 'lora'],
].flat();

test('settingsBody: has every name of the dialect and no others', () => {
  expect(Object.keys(settingsBody(plainControls)).toSorted()).toEqual(names.toSorted());
});

test('settingsBody: has no texts of the request, ownSettingsBody has them', () => {
  const controls = {
    ...plainControls,
    stop: ['secret'],
    grammar: { gbnf: 'secret', retainState: false, triggers: [{ type: 'word' as const, text: 'x' }] },
    logitBias: [[5, 1]] as const,
    sampling: { ...plainControls.sampling, dryBreakers: ['secret'] },
  };
  expect(JSON.stringify(settingsBody(controls))).not.toContain('secret');
  const view = { stream: true, timingsPerToken: true, postSampling: true };
  expect(ownSettingsBody(controls, view)).toMatchObject({
    stop: ['secret'],
    grammar: 'secret',
    grammar_lazy: true,
    dry_sequence_breakers: ['secret'],
    logit_bias: [{ token: 5, bias: 1 }],
    stream: true,
    timings_per_token: true,
    post_sampling_probs: true,
  });
});

test('settingsBody: both names of the length, and a ban of the end token', () => {
  const told = settingsBody({ ...plainControls, maxTokens: 9, endTokens: 'ban', logprobs: 4 });
  expect(told).toMatchObject({ max_tokens: 9, n_predict: 9, ignore_eos: true, n_probs: 4 });
  expect(settingsBody(plainControls)).toMatchObject({ ignore_eos: false, n_probs: 0 });
});

const resolve = (value: unknown) => resolveBias(orElse(readLogitBias, [])(value, 'logit_bias'), scriptedText([]).text);

test.each([
  [null, { logitBias: [], bannedTokens: [] }],
  [[], { logitBias: [], bannedTokens: [] }],
  [[[5, 1.5]], { logitBias: [[5, 1.5]], bannedTokens: [] }],
  [[[5, false]], { logitBias: [], bannedTokens: [5] }],
  [
    [['AB', -1]],
    {
      logitBias: [
        [65, -1],
        [66, -1],
      ],
      bannedTokens: [],
    },
  ],
  [[['AB', false]], { logitBias: [], bannedTokens: [65, 66] }],
  [
    { 5: 1.5, AB: false },
    { logitBias: [[5, 1.5]], bannedTokens: [65, 66] },
  ],
  [
    [
      [5, 1],
      [5, 2],
    ],
    { logitBias: [[5, 2]], bannedTokens: [] },
  ],
  [
    [
      [5, 1],
      [5, false],
    ],
    { logitBias: [[5, 1]], bannedTokens: [5] },
  ],
])('logit_bias: %j becomes %j', async (value, expected) => {
  expect(await resolve(value)).toEqual(expected);
});

test.each(['x', 5, [5], [[5]], [[5, 1, 2]], [[5, true]], [[5, '1']], [[1.5, 1]], [[null, 1]], { 5: 'x' }, { 5: true }])(
  'logit_bias: refuses %j',
  (value) => {
    expect(() => readLogitBias(value, 'logit_bias')).toThrow('logit_bias must be pairs of a token number or a text');
  },
);
