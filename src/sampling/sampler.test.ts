import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultSampling, type Sampling, samplerStages } from '../core/sampling-fields.ts';
import type { Candidates } from './candidates.ts';
import { logprobsOf } from './logprobs.ts';
import { Random } from './random.ts';
import { mixGuidance, noToken, Sampler, type SamplerOptions } from './sampler.ts';
import { anyLogits, idsOf, probabilitiesOf } from './testing/candidates.ts';

/** Every sampler disabled: draws from the raw distribution. */
const plain: Sampling = { ...defaultSampling, temperature: 1, topK: 0, topP: 1 };

function samplerOf(
  settings: Partial<Sampling>,
  vocabularySize: number,
  options: Partial<SamplerOptions> = {},
): Sampler {
  return new Sampler(
    { ...plain, ...settings },
    { vocabularySize, contextSize: 4096, seed: 1, logitBias: [], bannedTokens: [], ...options },
  );
}

const none = new Int32Array();
const pickOne = (logits: number[], settings: Partial<Sampling>, options?: Partial<SamplerOptions>): number =>
  samplerOf(settings, logits.length, options).pick(Float32Array.from(logits), none, 0);

const seen = fc.array(fc.integer({ min: 0, max: 59 }), { maxLength: 80 });
const anyOrder = fc.array(fc.constantFrom(...samplerStages), { maxLength: 9 });
const anySettings: fc.Arbitrary<Partial<Sampling>> = fc.record(
  {
    temperature: fc.constantFrom(0, 0.3, 1, 2),
    dynamicRange: fc.constantFrom(0, 0.5),
    smoothingFactor: fc.constantFrom(0, 0.3),
    smoothingCurve: fc.constantFrom(0, 1, 2, 4),
    nSigma: fc.constantFrom(-1, 0, 0.7, 2),
    topK: fc.constantFrom(0, 1, 5, 100),
    topP: fc.constantFrom(0, 0.5, 0.9, 1),
    minP: fc.constantFrom(0, 0.1, 1, 3),
    topA: fc.constantFrom(0, 0.2, 2),
    typical: fc.constantFrom(0.2, 0.9, 1),
    tailFree: fc.constantFrom(0, 0.5, 0.95, 1),
    xtcThreshold: fc.constantFrom(0.1, 0.4),
    xtcProbability: fc.constantFrom(0, 0.5, 1),
    repetitionPenalty: fc.constantFrom(0, 0.8, 1, 1.2, 3),
    repetitionRange: fc.constantFrom(1, 7, 320, 4000),
    repetitionSlope: fc.constantFrom(0, 0.5, 1),
    presencePenalty: fc.constantFrom(-1, 0, 0.5),
    frequencyPenalty: fc.constantFrom(-0.5, 0, 0, 0.5),
    dryMultiplier: fc.constantFrom(0, 0.8),
    mirostat: fc.constantFrom(0, 0, 0, 1, 2),
    mirostatTau: fc.constantFrom(0.5, 5),
    adaptiveTarget: fc.constantFrom(-1, -1, 0.3),
    order: anyOrder,
  },
  { requiredKeys: [] },
);

/** Eight picks on the same logits, each going on with the text. */
function text(sampler: Sampler, logits: readonly number[], before: readonly number[]): number[] {
  const history = Int32Array.from([...before, ...new Array(8).fill(0)]);
  for (let length = before.length; length < history.length; length += 1) {
    history[length] = sampler.pick(Float32Array.from(logits), history, length);
  }
  return [...history.subarray(before.length)];
}

test('Sampler: picks a remaining candidate for any settings; probabilities sum to 1', () => {
  fc.assert(
    fc.property(anyLogits(), seen, anySettings, (logits, before, settings) => {
      const sampler = samplerOf(settings, logits.length);
      const history = Int32Array.from(before);
      for (let round = 0; round < 3; round += 1) {
        const token = sampler.pick(Float32Array.from(logits), history, history.length);
        const probabilities = probabilitiesOf(sampler.candidates);
        expect(idsOf(sampler.candidates)).toContain(token);
        expect(probabilities.reduce((sum, one) => sum + one)).toBeCloseTo(1, 5);
        expect(probabilities).toEqual(probabilities.toSorted((a, b) => b - a));
      }
    }),
    { numRuns: 500 },
  );
});

test('Sampler: same seed and settings give the same text', () => {
  fc.assert(
    fc.property(anyLogits(), seen, anySettings, fc.nat(), (logits, before, settings, seed) => {
      const [first, second] = [0, 1].map(() => text(samplerOf(settings, logits.length, { seed }), logits, before));
      expect(second).toEqual(first);
    }),
  );
});

test('Sampler: greedy shortcut picks the token of the full chain', () => {
  fc.assert(
    fc.property(anyLogits(), seen, anySettings, (logits, before, settings) => {
      const greedy = { ...settings, temperature: 0, mirostat: 0, dynamicRange: 0 };
      const short = samplerOf(greedy, logits.length);
      const whole = samplerOf(greedy, logits.length, { keepDistribution: true });
      expect(text(short, logits, before)).toEqual(text(whole, logits, before));
      expect(idsOf(short.candidates)).toEqual(idsOf(whole.candidates));
    }),
    { numRuns: 1000 },
  );
});

test('Sampler: greedy shortcut on a vocabulary larger than the candidate limit', () => {
  const random = new Random(11);
  const vocabularySize = 9000;
  for (const range of [320, 2999, 3000, 4096]) {
    const logits = Array.from({ length: vocabularySize }, () => Math.round(20 * random.next()));
    // The best 3500 tokens have all been seen, so that a long range penalises more than there are candidates.
    const before = [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number)).slice(0, 3500);
    const settings = { temperature: 0, repetitionPenalty: 4, repetitionRange: range, order: defaultSampling.order };
    const short = samplerOf(settings, vocabularySize);
    const whole = samplerOf(settings, vocabularySize, { keepDistribution: true });
    expect(text(short, logits, before)).toEqual(text(whole, logits, before));
  }
});

test('Sampler: top-k first gives the same as after the candidate limit', () => {
  const random = new Random(5);
  const logits = Array.from({ length: 9000 }, () => 12 * random.next());
  // An n-sigma so wide that it keeps all disables the shortcut, and changes nothing.
  const direct = samplerOf({ topK: 50, order: ['top-k'] }, logits.length);
  const indirect = samplerOf({ topK: 50, nSigma: 1e6, order: ['temperature', 'top-k'] }, logits.length);
  expect(text(direct, logits, [])).toEqual(text(indirect, logits, []));
  expect(idsOf(direct.candidates)).toEqual(idsOf(indirect.candidates));
});

test('Sampler: penalty and top-k give the same on the vocabulary as on the 3000 best', () => {
  const random = new Random(7);
  for (const [topK, repetitionRange] of [
    [40, 320],
    [100, 2000],
    [2000, 999],
  ] as const) {
    const logits = Array.from({ length: 9000 }, () => Math.round(40 * random.next()) / 2);
    const before = [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number)).slice(0, 2500);
    const settings = { topK, repetitionRange, repetitionPenalty: 3, presencePenalty: 0.5 };
    const direct = samplerOf({ ...settings, order: ['repetition', 'top-k'] }, logits.length);
    // An n-sigma between the two that keeps all disables the shortcut, and changes nothing.
    const order: Sampling['order'] = ['repetition', 'temperature', 'top-k'];
    const indirect = samplerOf({ ...settings, temperature: 1, nSigma: 1e6, order }, logits.length);
    expect(text(direct, logits, before)).toEqual(text(indirect, logits, before));
    expect(idsOf(direct.candidates)).toEqual(idsOf(indirect.candidates));
  }
});

test('Sampler: disabled stages change nothing in any order', () => {
  fc.assert(
    fc.property(anyLogits(), seen, anyOrder, (logits, before, order) => {
      const without = text(samplerOf({ order: [] }, logits.length), logits, before);
      expect(text(samplerOf({ order }, logits.length), logits, before)).toEqual(without);
    }),
  );
});

test('Sampler: a penalty after top-k brings no other tokens in', () => {
  const logits = [4, 3, 2];
  const settings = { topK: 1, repetitionPenalty: 4 };
  const pick = (order: Sampling['order']): number =>
    samplerOf({ ...settings, order }, 3).pick(Float32Array.from(logits), Int32Array.of(0), 1);
  expect(pick(['top-k', 'repetition'])).toBe(0);
  expect(pick(['repetition', 'top-k'])).toBe(1);
});

test('Sampler: banned, forbidden and end tokens are 8 below the lowest logit', () => {
  const logits = Float32Array.of(5, 4, 3, 2, -1);
  const options = { bannedTokens: [0], endTokens: [1] };
  expect(samplerOf({ temperature: 0 }, 5, options).pick(logits, none, 0, [2, 99])).toBe(3);
  expect([...logits]).toEqual([-9, -9, -9, 2, -1]);
});

test('Sampler: end tokens are not banned by a grammar that decides where the text ends', () => {
  const grammar = { keepAllowed: () => undefined, endsText: true };
  expect(samplerOf({ temperature: 0 }, 3, { endTokens: [0], grammar }).pick(Float32Array.of(5, 4, 3), none, 0)).toBe(0);
});

test('Sampler: with many tokens, a ban chooses the token that a very low logit would', () => {
  const size = 5000;
  const row = (step: number) => Float32Array.from({ length: size }, (_, id) => Math.sin(id * (step + 1.3)) * 5);
  const text = new Int32Array(64);
  for (const changes of [{}, { topK: 0, minP: 0.05 }, { temperature: 0 }, { mirostat: 2 }, { nSigma: 1, topK: 0 }]) {
    const banned = samplerOf(changes, size, { bannedTokens: [17, 4000], endTokens: [2] });
    const lowered = samplerOf(changes, size);
    for (let step = 0; step < 40; step += 1) {
      const low = row(step);
      for (const id of [17, 4000, 2]) low[id] = -13;
      expect(banned.pick(row(step), text, step)).toBe(lowered.pick(low, text, step));
    }
  }
});

test('Sampler: banned tokens are 0 if no logit is negative', () => {
  const logits = Float32Array.of(5, 4);
  samplerOf({}, 2, { bannedTokens: [0] }).pick(logits, none, 0);
  expect([...logits]).toEqual([0, 4]);
});

test('Sampler: adds the logit bias after the bans', () => {
  const logits = Float32Array.of(5, 4);
  const options = {
    bannedTokens: [0],
    logitBias: [
      [0, 3],
      [1, -1],
      [7, 5],
      [-1, 5],
    ] as const,
  };
  samplerOf({}, 2, options).pick(logits, none, 0);
  expect([...logits]).toEqual([3, 3]);
});

test('Chain: Adaptive-P without truncation uses a small min-p', () => {
  const logits = [0, -5, -7];
  const kept = (settings: Partial<Sampling>): number => {
    const sampler = samplerOf({ adaptiveTarget: 0.5, order: ['top-p'], ...settings }, 3);
    sampler.pick(Float32Array.from(logits), none, 0);
    return sampler.candidates.size;
  };
  expect(kept({})).toBe(2);
  expect(kept({ minP: 0.0001 })).toBe(3);
  expect(kept({ topP: 0.999999 })).toBe(3);
});

test('Chain: mirostat uses only penalty and temperature', () => {
  expect(pickOne([1, 2, 3], { mirostat: 2, temperature: 0, order: [] })).toBe(2);
  const sampler = samplerOf({ mirostat: 2, topK: 1, mirostatTau: 50 }, 3);
  sampler.pick(Float32Array.of(1, 1, 1), none, 0);
  expect(sampler.candidates.size).toBe(3);
});

const onlyAbove = (id: number) => ({ keepAllowed: (candidates: Candidates) => candidates.retain((one) => one > id) });

test('Sampler: a grammar filters the candidates', () => {
  expect(pickOne([9, 8, 7, 6], { temperature: 0 }, { grammar: onlyAbove(1) })).toBe(2);
});

test('Sampler: a grammar that allows none of the best checks the whole vocabulary', () => {
  const logits = Array.from({ length: 5000 }, (_, id) => -id);
  expect(pickOne(logits, { temperature: 0 }, { grammar: onlyAbove(4000) })).toBe(4001);
});

test('Sampler: returns noToken if the grammar allows nothing', () => {
  expect(pickOne([1, 2], {}, { grammar: onlyAbove(5) })).toBe(noToken);
});

test('Sampler: refuses logits of another size than the vocabulary', () => {
  expect(() => samplerOf({}, 3).pick(new Float32Array(2), none, 0)).toThrow(RangeError);
});

test('logprobsOf: over the remaining candidates, at least log 0.0001', () => {
  const sampler = samplerOf({ topK: 3 }, 4);
  const picked = sampler.pick(Float32Array.of(Math.log(3), 0, -50, -60), none, 0);
  const { logprob, top } = logprobsOf(sampler.candidates, picked, 10);
  expect(top.map(({ token }) => token)).toEqual([0, 1, 2]);
  const expected = [Math.log(3 / 4), Math.log(1 / 4), Math.log(0.0001)];
  top.forEach((one, index) => {
    expect(one.logprob).toBeCloseTo(expected[index] as number, 5);
  });
  expect(logprob).toBe(top.find(({ token }) => token === picked)?.logprob);
  expect(logprobsOf(sampler.candidates, 3, 1)).toEqual({ logprob: Math.log(0.0001), top: top.slice(0, 1) });
});

test.each([
  [1, [3, -1]],
  [2, [5, -4]],
  [0, [1, 2]],
])('mixGuidance: scale %f moves the logits away from the negative ones', (scale, expected) => {
  const main = Float32Array.of(3, -1);
  mixGuidance(main, Float32Array.of(1, 2), scale);
  expect([...main]).toEqual(expected);
});

test('mixGuidance: no NaN from infinite logits', () => {
  const main = Float32Array.of(-Infinity, 1, -Infinity);
  mixGuidance(main, Float32Array.of(-Infinity, -Infinity, 1), 2);
  expect([...main]).toEqual([-Infinity, 1, -Infinity]);
});
