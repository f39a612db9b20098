import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultSampling, type Sampling, samplerStages } from '../core/sampling-fields.ts';
import { Candidates } from './candidates.ts';
import { Chain, candidateLimit } from './chain.ts';
import { Random } from './random.ts';
import { Repetition } from './repetition.ts';
import { noToken, Sampler } from './sampler.ts';
import { idsOf, logitsOf, probabilitiesOf } from './testing/candidates.ts';

const contextSize = 4096;

interface Case {
  readonly settings: Sampling;
  readonly logits: Float32Array;
  readonly before: readonly number[];
  readonly allows?: (id: number) => boolean;
}

interface Picked {
  readonly token: number;
  readonly ids: readonly number[];
  readonly logits: readonly number[];
  readonly probabilities: readonly number[];
}

const left = (candidates: Candidates, token: number): Picked => ({
  token,
  ids: idsOf(candidates),
  // Adding 0 makes both zeros one.
  logits: logitsOf(candidates).map((logit) => logit + 0),
  probabilities: probabilitiesOf(candidates),
});

/** Four picks on the same logits, each going on with the text, up to a dead end. */
function text({ before }: Case, pick: (history: Int32Array, length: number) => Picked): readonly Picked[] {
  const history = Int32Array.from([...before, 0, 0, 0, 0]);
  const picked: Picked[] = [];
  for (let length = before.length; length < history.length && picked.at(-1)?.token !== noToken; length += 1) {
    const one = pick(history, length);
    history[length] = one.token;
    picked.push(one);
  }
  return picked;
}

function byTheSampler(one: Case): readonly Picked[] {
  const { settings, logits, allows } = one;
  const sampler = new Sampler(settings, {
    vocabularySize: logits.length,
    contextSize,
    seed: 3,
    logitBias: [],
    bannedTokens: [],
    keepDistribution: true,
    ...(allows ? { grammar: { keepAllowed: (candidates) => candidates.retain(allows) } } : {}),
  });
  return text(one, (history, length) => {
    const token = sampler.pick(Float32Array.from(logits), history, length);
    return left(sampler.candidates, token);
  });
}

/** The documented order without shortcuts: 3000 by a plain sort, then the grammar, then each sampler on the remaining candidates. */
function byTheDefinition(one: Case): readonly Picked[] {
  const { settings, logits, allows = () => true } = one;
  const repetition = new Repetition(settings, contextSize, logits.length);
  const chain = new Chain(settings, repetition, new Random(3), logits.length);
  const best = (ids: readonly number[]): number[] =>
    ids.toSorted((a, b) => (logits[b] as number) - (logits[a] as number) || a - b).slice(0, candidateLimit);
  const all = [...logits.keys()];
  const allowed = best(all).filter(allows);
  const kept = allowed.length > 0 ? allowed : best(all.filter(allows));
  return text(one, (history, length) => {
    const candidates = new Candidates(logits.length);
    kept
      .sort((a, b) => a - b)
      .forEach((id, index) => {
        candidates.ids[index] = id;
        candidates.logits[index] = logits[id] as number;
      });
    candidates.size = kept.length;
    if (kept.length === 0) return left(candidates, noToken);
    return left(candidates, candidates.ids[chain.pick(candidates, history, length)] as number);
  });
}

/** A bell of logits in steps, so that many are equal. */
function bell(size: number, steps: number, seed: number): Float32Array {
  const random = new Random(seed);
  const one = (): number => random.next() + random.next() + random.next() - 1.5;
  return Float32Array.from({ length: size }, () => Math.round(8 * one() * steps) / steps);
}

const anySettings: fc.Arbitrary<Sampling> = fc
  .record(
    {
      temperature: fc.constantFrom(0, 0, 0.3, 1, 2),
      dynamicRange: fc.constantFrom(0, 0, 0.5),
      smoothingFactor: fc.constantFrom(0, 0.3),
      smoothingCurve: fc.constantFrom(0, 1, 2, 4),
      nSigma: fc.constantFrom(0, 0.7, 2),
      topK: fc.constantFrom(0, 1, 5, 20, 100),
      topP: fc.constantFrom(0, 0.5, 0.9, 1),
      minP: fc.constantFrom(0, 0.01, 0.1, 1),
      topA: fc.constantFrom(0, 0.2, 2),
      typical: fc.constantFrom(0.2, 0.9, 1),
      tailFree: fc.constantFrom(0.5, 0.95, 1),
      xtcThreshold: fc.constantFrom(0.1, 0.4),
      xtcProbability: fc.constantFrom(0, 0.5, 1),
      repetitionPenalty: fc.constantFrom(0.8, 1, 1, 1.2, 3),
      repetitionRange: fc.constantFrom(1, 7, 40, 4000),
      presencePenalty: fc.constantFrom(-1, 0, 0, 0.5),
      frequencyPenalty: fc.constantFrom(0, 0, 0.5),
      mirostat: fc.constantFrom(0, 0, 0, 1, 2),
      mirostatTau: fc.constantFrom(0.5, 5),
      adaptiveTarget: fc.constantFrom(-1, -1, 0.3),
      order: fc.oneof(
        fc.constant(defaultSampling.order),
        fc.array(fc.constantFrom(...samplerStages), { maxLength: 9 }),
      ),
    },
    { requiredKeys: [] },
  )
  .map((changes) => ({ ...defaultSampling, ...changes }));

const anyGrammar: fc.Arbitrary<Case['allows']> = fc.constantFrom(
  undefined,
  () => true,
  () => false,
  (id: number) => id % 7 !== 0,
  (id: number) => id % 3 === 0,
  (id: number) => id % 40 === 3,
  (id: number) => id === 11,
);

const anyRecipe = (...sizes: number[]) =>
  fc.record({
    settings: anySettings,
    size: fc.constantFrom(...sizes),
    steps: fc.constantFrom(1, 10, 1e6),
    seed: fc.nat(1e6),
    allows: anyGrammar,
    seen: fc.nat(60),
  });

type ModelSpec = ReturnType<typeof anyRecipe> extends fc.Arbitrary<infer One> ? One : never;

function expectTheDefinition({ settings, size, steps, seed, allows, seen }: ModelSpec): void {
  const logits = bell(size, steps, seed);
  // Every other one of the best has been said already: those that a penalty brings down.
  const best = [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number));
  const before = best.filter((_, rank) => rank % 2 === 0).slice(0, seen);
  const one = { settings, logits, before, ...(allows ? { allows } : {}) };
  expect(byTheSampler(one)).toEqual(byTheDefinition(one));
}

test('Sampler: shortcuts give exactly the result of the full chain', () => {
  fc.assert(fc.property(anyRecipe(5, 300), expectTheDefinition), { numRuns: 600 });
});

test('Sampler: shortcuts give the full result on a vocabulary larger than the candidate limit', () => {
  fc.assert(fc.property(anyRecipe(7000), expectTheDefinition), { numRuns: 50 });
});
