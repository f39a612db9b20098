import type { SamplerStage, Sampling } from '../core/sampling-fields.ts';
import type { Candidates } from './candidates.ts';
import type { Random } from './random.ts';
import type { Repetition } from './repetition.ts';
import { AdaptiveP, draw, Mirostat } from './selection.ts';
import { dynamicTemperature, smoothing, temperature } from './temperature.ts';
import { minP, nSigma, tailFree, topA, topK, topP, typical, xtc } from './truncation.ts';

/** The samplers process only this many of the highest logits: sorting a whole vocabulary for every token would be slow. */
export const candidateLimit = 3000;

interface Step {
  readonly stage: SamplerStage;
  readonly run: (candidates: Candidates, history: Int32Array, length: number) => void;
}

/** The min-p of Adaptive-P without another truncation: it drops only the noise of the tail. */
const adaptiveMinP = 0.002;

/** The samplers of each stage: whether one is enabled, and what it does. */
type Sampler = readonly [on: boolean, run: Step['run']];
const samplersOf: Record<SamplerStage, (settings: Sampling, repetition: Repetition) => readonly Sampler[]> = {
  'top-k': ({ topK: count }) => [[count > 0, (candidates) => topK(candidates, count)]],
  'top-a': ({ topA: share }) => [[share > 0, (candidates) => topA(candidates, share)]],
  'top-p': ({ topP: limit, minP: share }) => [
    [limit < 1, (candidates) => topP(candidates, limit)],
    [share > 0, (candidates) => minP(candidates, share)],
  ],
  'tail-free': ({ tailFree: limit }) => [[limit < 1, (candidates) => tailFree(candidates, limit)]],
  typical: ({ typical: limit }) => [[limit < 1, (candidates) => typical(candidates, limit)]],
  temperature: ({ temperature: value, dynamicRange: range, nSigma: width, ...settings }) => [
    [value !== 1 && range === 0, (candidates) => temperature(candidates, value)],
    [range !== 0, (candidates) => dynamicTemperature(candidates, value, range, settings.dynamicExponent)],
    [
      settings.smoothingFactor > 0,
      (candidates) => smoothing(candidates, settings.smoothingFactor, settings.smoothingCurve),
    ],
    [width > 0, (candidates) => nSigma(candidates, width)],
  ],
  repetition: (_, repetition) => [
    [repetition.active, (candidates, history, length) => repetition.penaliseCandidates(candidates, history, length)],
  ],
};

/** Adaptive-P needs some truncation of the tail: without any, a small min-p is used. */
function completed(settings: Sampling): Sampling {
  const uncut = settings.adaptiveTarget > 0 && settings.minP <= 0 && settings.topP >= 1;
  return uncut ? { ...settings, minP: adaptiveMinP } : settings;
}

/** From the loaded candidates to the chosen one; holds the samplers' state between the tokens of one request. */
export class Chain {
  readonly #settings: Sampling;
  readonly #steps: readonly Step[];
  readonly #mirostat: Mirostat | undefined;
  readonly #adaptive: AdaptiveP | undefined;
  /** How many of the best candidates suffice: more would not change the result. */
  readonly candidateCount: number;
  /** The first step, a penalty, is applied to the whole vocabulary before candidates are selected. */
  readonly penaltyFirst: boolean;
  /** The choice is the highest logit of the vocabulary after the repetition penalty. */
  readonly greedy: boolean;

  constructor(
    settings: Sampling,
    repetition: Repetition,
    private readonly random: Random,
    vocabularySize: number,
    mayPenaliseFirst = false,
  ) {
    const { mirostat, mirostatTau, mirostatEta, adaptiveTarget, adaptiveDecay } = settings;
    if (mirostat === 1 || mirostat === 2) {
      // Mirostat replaces the ordered stages.
      this.#settings = { ...settings, order: ['repetition', 'temperature'], dynamicRange: 0, nSigma: 0 };
      this.#mirostat = new Mirostat(mirostat, mirostatTau, mirostatEta, vocabularySize);
    } else {
      this.#settings = completed(settings);
      if (adaptiveTarget > 0) this.#adaptive = new AdaptiveP(adaptiveTarget, adaptiveDecay, candidateLimit);
    }
    const steps = this.#settings.order.flatMap((stage) =>
      samplersOf[stage](this.#settings, repetition).flatMap(([on, run]) => (on ? [{ stage, run }] : [])),
    );
    this.greedy = this.#mirostat === undefined && isGreedy(steps, this.#settings, repetition);
    this.penaltyFirst = mayPenaliseFirst && !this.greedy && canPenaliseFirst(steps, this.#settings, repetition);
    this.#steps = this.penaltyFirst ? steps.slice(1) : steps;
    const lowered = repetition.active ? repetition.range : 0;
    this.candidateCount = this.greedy ? 1 + lowered : enoughForTopK(this.#steps, this.#settings, repetition);
  }

  /** Returns the index of the chosen candidate; leaves the candidates sorted, with probabilities. */
  pick(candidates: Candidates, history: Int32Array, length: number): number {
    for (const { run } of this.#steps) run(candidates, history, length);
    if (this.#mirostat) return this.#mirostat.pick(candidates, this.random);
    xtc(candidates, this.#settings.xtcThreshold, this.#settings.xtcProbability, this.random);
    return this.#adaptive ? this.#adaptive.pick(candidates, this.random) : draw(candidates, this.random);
  }
}

/** A penalty lowers at most `range` tokens, so the k best after it were among the k + range best before it. */
function canPenaliseFirst(steps: readonly Step[], settings: Sampling, repetition: Repetition): boolean {
  const [first, second] = steps;
  if (first?.stage !== 'repetition' || second?.stage !== 'top-k' || !repetition.onlyLowers) return false;
  const again = steps.slice(1).some(({ stage }) => stage === 'repetition');
  return !again && Math.floor(settings.topK) + repetition.range < candidateLimit;
}

/** Top-k as the first step, or right after a penalty, needs no more candidates. */
function enoughForTopK(steps: readonly Step[], settings: Sampling, repetition: Repetition): number {
  const kept = Math.max(1, Math.floor(settings.topK));
  if (steps[0]?.stage === 'top-k') return Math.min(candidateLimit, kept);
  return canPenaliseFirst(steps, settings, repetition) ? kept + repetition.range : candidateLimit;
}

/**
 * A temperature of 0 leaves only the best candidate. Of the steps before it only `typical` can drop the best. A penalty must come
 * first, only lower, and leave some candidates untouched: then the best candidate is the best of the vocabulary.
 */
function isGreedy(steps: readonly Step[], settings: Sampling, repetition: Repetition): boolean {
  const end = steps.findIndex(({ stage }) => stage === 'temperature');
  if (end < 0 || settings.temperature > 0 || settings.dynamicRange !== 0) return false;
  const before = steps.slice(0, end).map(({ stage }) => stage);
  if (before.includes('typical')) return false;
  if (!repetition.active) return true;
  return before.lastIndexOf('repetition') === 0 && repetition.onlyLowers && repetition.range < candidateLimit;
}
