import type { Candidates } from './candidates.ts';
import { draw, type Random } from './random.ts';

const measured = 100;

/** Steers the surprise of the text towards `tau`; version 1 guesses the slope of the distribution, version 2 cuts by surprise. */
export class Mirostat {
  readonly #version: 1 | 2;
  readonly #tau: number;
  readonly #eta: number;
  readonly #vocabularySize: number;
  /** The surprise that a token may have at present. */
  mu: number;

  constructor(version: 1 | 2, tau: number, eta: number, vocabularySize: number) {
    this.#version = version;
    this.#tau = tau;
    this.#eta = eta;
    this.#vocabularySize = vocabularySize;
    this.mu = 2 * tau;
  }

  /** Returns the index of the chosen candidate. */
  pick(candidates: Candidates, random: Random): number {
    candidates.sort();
    candidates.size =
      this.#version === 1 ? slopeCut(candidates, this.mu, this.#vocabularySize) : surpriseCut(candidates, this.mu);
    const picked = draw(candidates, random);
    const surprise = -Math.log2(candidates.probabilities[picked] as number);
    this.mu -= this.#eta * (surprise - this.#tau);
    return picked;
  }
}

/** How many sorted candidates to keep so that, if the rest followed Zipf's law, the surprise would come out as `mu`. */
function slopeCut({ logits, size }: Candidates, mu: number, vocabularySize: number): number {
  let products = 0;
  let squares = 0;
  for (let index = 0; index < Math.min(measured, size) - 1; index += 1) {
    // The logarithm of the ratio of two probabilities is the distance of their logits.
    const fall = (logits[index] as number) - (logits[index + 1] as number);
    if (!Number.isFinite(fall)) break;
    const step = Math.log((index + 2) / (index + 1));
    products += step * fall;
    squares += step * step;
  }
  if (squares === 0) return Math.min(size, 1);
  const slope = products / squares;
  const excess = slope - 1;
  // At a slope of exactly 1 the fraction is 0/0; its limit is meant.
  const range = Math.abs(excess) < 1e-9 ? 1 / Math.log(vocabularySize) : excess / (1 - vocabularySize ** -excess);
  const count = (range * 2 ** mu) ** (1 / slope);
  return Number.isNaN(count) ? size : Math.max(1, Math.min(size, Math.floor(count)));
}

function surpriseCut(candidates: Candidates, mu: number): number {
  candidates.softmax();
  const { probabilities, size } = candidates;
  let kept = 0;
  while (kept < size && -Math.log2(probabilities[kept] as number) <= mu) kept += 1;
  return Math.max(1, kept);
}
