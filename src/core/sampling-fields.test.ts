import { expect, test } from 'vitest';
import {
  defaultSampling,
  isRequested,
  type SamplingField,
  samplersOfApi,
  samplingFields,
  samplingNames,
  withReplySeed,
} from './sampling-fields.ts';

const fields = Object.entries<SamplingField>(samplingFields);

test('sampling fields: each control in partOf is in the table and has an off value', () => {
  for (const [name, { partOf = [] }] of fields) {
    for (const owner of partOf) expect(samplingFields, name).toHaveProperty([owner, 'isOff']);
  }
});

test('sampling fields: every name in another API is also a native name, which all dialects read', () => {
  for (const [name, { apis = {}, wire }] of fields) {
    for (const field of Object.values(apis)) expect(wire, name).toContain(field);
  }
});

test('samplersOfApi: native servers have every sampler', () => {
  expect(Object.keys(samplersOfApi('native'))).toEqual(samplingNames);
  expect(samplersOfApi('native')).toMatchObject({ seed: 'seed', repetitionPenalty: 'rep_pen' });
});

test('samplersOfApi: vLLM and llama-server have the samplers of the OpenAI API and some more', () => {
  const openai = samplersOfApi('openai');
  expect(Object.keys(openai)).toEqual(['temperature', 'topP', 'presencePenalty', 'frequencyPenalty', 'seed']);
  expect(samplersOfApi('vllm')).toMatchObject({ ...openai, repetitionPenalty: 'repetition_penalty' });
  expect(samplersOfApi('llamaCpp')).toMatchObject({ ...openai, repetitionPenalty: 'repeat_penalty' });
  expect(samplersOfApi('vllm')).not.toHaveProperty('typical');
});

test.each([
  ['minP', {}, false],
  ['minP', { minP: 0.1 }, true],
  ['minP', { minP: -1 }, false],
  ['topK', { topK: 0 }, false],
  ['dryBase', { dryBase: 2 }, false],
  ['dryBase', { dryBase: 2, dryMultiplier: 1 }, true],
  ['repetitionRange', { repetitionRange: 64 }, false],
  ['repetitionRange', { repetitionRange: 64, frequencyPenalty: 1 }, true],
  ['mirostatTau', { mirostatTau: 3, mirostat: 2 }, true],
] as const)('isRequested: %s with %j is %s', (name, sampling, expected) => {
  expect(isRequested(name, { ...defaultSampling, ...sampling })).toBe(expected);
});

const seedOf = (seed: number, reply: number): number =>
  withReplySeed({ sampling: { ...defaultSampling, seed } }, reply).sampling.seed;

test('withReplySeed: the first reply has the seed, and later ones count up', () => {
  expect([0, 1, 2].map((reply) => seedOf(7, reply))).toEqual([7, 8, 9]);
});

test('withReplySeed: keeps a random seed random', () => {
  expect([seedOf(-1, 1), seedOf(0, 3)]).toEqual([-1, 0]);
});

test('withReplySeed: wraps around after the largest seed', () => expect(seedOf(2 ** 32 - 1, 1)).toBe(1));
