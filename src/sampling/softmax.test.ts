import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Candidates } from './candidates.ts';
import { Random } from './random.ts';
import { Repetition } from './repetition.ts';
import { AdaptiveP } from './selection.ts';
import { dynamicTemperature, smoothing, temperature } from './temperature.ts';
import { anyLogits, candidatesOf, logitsOf, probabilitiesOf } from './testing/candidates.ts';
import { minP, nSigma, tailFree, topA, topK, topP, typical, xtc } from './truncation.ts';

const repetition = new Repetition(
  { repetitionPenalty: 1.3, repetitionSlope: 1, repetitionRange: 4, presencePenalty: 0.1, frequencyPenalty: 0 },
  100,
  200,
);

const steps: Record<string, (candidates: Candidates) => void> = {
  sort: (candidates) => candidates.sort(),
  keepBest: (candidates) => candidates.keepBest(),
  retain: (candidates) => {
    const highest = candidates.highest();
    candidates.retain((id, logit) => id % 3 > 0 || logit === highest);
  },
  loadAgain: (candidates) => candidates.loadAll(Float32Array.from({ length: candidates.capacity }, (_, id) => id % 7)),
  topK: (candidates) => topK(candidates, 9),
  topA: (candidates) => topA(candidates, 0.3),
  topP: (candidates) => topP(candidates, 0.8),
  minP: (candidates) => minP(candidates, 0.05),
  nSigma: (candidates) => nSigma(candidates, 1.5),
  typical: (candidates) => typical(candidates, 0.6),
  tailFree: (candidates) => tailFree(candidates, 0.9),
  temperature: (candidates) => temperature(candidates, 0.7),
  dynamicTemperature: (candidates) => dynamicTemperature(candidates, 1, 0.5, 1),
  smoothing: (candidates) => smoothing(candidates, 0.3, 2),
  turningSmoothing: (candidates) => smoothing(candidates, 0.3, 4),
  xtc: (candidates) => xtc(candidates, 0.1, 1, new Random(1)),
  adaptiveP: (candidates) => void new AdaptiveP(0.3, 0.5, 200).pick(candidates, new Random(1)),
  repetition: (candidates) => repetition.penaliseCandidates(candidates, Int32Array.of(0, 1, 2, 3), 4),
};

/** By the definition, from nothing but the logits. */
function softmaxOf(logits: readonly number[]): number[] {
  const highest = Math.max(...logits);
  const weights = logits.map((logit) => (highest === -Infinity ? 1 : Math.exp(logit - highest)));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight) => Math.fround(Math.fround(weight) * (1 / sum)));
}

test('softmax: probabilities of the current logits after any step', () => {
  const anySteps = fc.array(fc.constantFrom(...Object.keys(steps)), { maxLength: 8 });
  fc.assert(
    fc.property(anyLogits(200), anySteps, (logits, names) => {
      const candidates = candidatesOf(logits);
      candidates.softmax();
      for (const name of names) {
        steps[name]?.(candidates);
        candidates.softmax();
        expect(probabilitiesOf(candidates)).toEqual(softmaxOf(logitsOf(candidates)));
      }
    }),
    { numRuns: 1000 },
  );
});
