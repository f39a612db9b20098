import { describe, expect, test } from 'vitest';
import type { GenerationRequest } from '../core/request.ts';
import { defaultSampling, type Sampling } from '../core/sampling-fields.ts';
import { type BatchingSettings, sharingOf } from './batching.ts';

const settings: BatchingSettings = {
  parallelRequests: 4,
  batchAll: false,
  blocked: false,
};
const plain = {
  grammar: undefined,
  bannedStrings: [],
  media: [],
  guidance: undefined,
  reasoning: undefined,
  sampling: defaultSampling,
} as unknown as GenerationRequest;
const sampling = (changes: Partial<Sampling>) => ({ sampling: { ...defaultSampling, ...changes } });
const grammar = { gbnf: 'root ::= "x"', retainState: false };

test('sharingOf: a plain request shares the engine', () =>
  expect(sharingOf(plain, settings)).toEqual({ type: 'shared' }));
test('sharingOf: without parallel requests every request runs alone, without a reason', () =>
  expect(sharingOf(plain, { ...settings, parallelRequests: 1 })).toEqual({ type: 'alone', reason: undefined }));

test.each<[string, object]>([
  ['media', { guidance: { negativePrompt: 'x', scale: 2 } }],
  ['media', { guidance: { negativePrompt: 'x', scale: 1 } }],
  ['grammar or bans', { grammar }],
  ['grammar or bans', { retainsGrammar: true }],
  ['grammar or bans', { bannedStrings: ['x'] }],
  ['samplers set 1', sampling({ dryMultiplier: 0.8 })],
  ['samplers set 1', sampling({ mirostat: 2 })],
  ['samplers set 1', sampling({ xtcProbability: 0.5 })],
  ['samplers set 1', sampling({ nSigma: 1 })],
  ['samplers set 2', sampling({ smoothingFactor: 0.2 })],
  ['samplers set 2', sampling({ adaptiveTarget: 0.5 })],
  ['tool calls', { tools: true }],
  ['samplers set 3', sampling({ topA: 0.1 })],
  ['samplers set 3', sampling({ tailFree: 0.9 })],
  ['samplers set 3', sampling({ dynamicRange: 0.5 })],
  ['sampler order', sampling({ order: ['temperature'] })],
  ['reasoning', { reasoning: { type: 'tokens', tokens: 5 } }],
])('sharingOf: %s makes a request run alone: %j', (reason, changes) => {
  expect(sharingOf({ ...plain, ...changes }, settings)).toEqual({ type: 'alone', reason });
});

test('sharingOf: settings with which KoboldCpp does not batch keep every request alone', () =>
  expect(sharingOf(plain, { ...settings, blocked: true })).toEqual({ type: 'alone', reason: 'loaded settings' }));

describe('sharingOf: --batchall', () => {
  const all = { ...settings, batchAll: true };
  test.each<object>([
    { grammar },
    { guidance: { negativePrompt: 'x', scale: 1 } },
    { bannedStrings: ['x'] },
    sampling({ dryMultiplier: 1, mirostat: 2, topA: 0.1 }),
  ])('%j shares too', (changes) => expect(sharingOf({ ...plain, ...changes }, all)).toEqual({ type: 'shared' }));
  test('a request with a guidance prompt runs alone', () =>
    expect(sharingOf({ ...plain, guidance: { negativePrompt: 'x', scale: 2 } }, all)).toEqual({
      type: 'alone',
      reason: 'media',
    }));
});
