import type { Candidates } from './candidates.ts';

const leastProbability = 0.0001;

export interface Alternative {
  readonly token: number;
  readonly logprob: number;
}

export interface PickedLogprobs {
  readonly logprob: number;
  /** The most likely tokens, best first; the picked one among them if it is one of the best. */
  readonly top: readonly Alternative[];
}

/** Natural logarithms over what the samplers left; a token that is not left counts as the least probable. */
export function logprobsOf(candidates: Candidates, picked: number, count: number): PickedLogprobs {
  const { ids, probabilities, size } = candidates;
  const logprobAt = (index: number): number => Math.log(Math.max(leastProbability, probabilities[index] as number));
  const place = ids.subarray(0, size).indexOf(picked);
  const top = Array.from({ length: Math.min(count, size) }, (_, index) => ({
    token: ids[index] as number,
    logprob: logprobAt(index),
  }));
  return { logprob: place < 0 ? Math.log(leastProbability) : logprobAt(place), top };
}

interface PlainLogprobs extends PickedLogprobs {
  /** 1 is the likeliest. */
  readonly rank: number;
}

/**
 * How likely a token was by the model alone: natural logarithms over the whole vocabulary, which no sampler has touched.
 * The row is only read, and nothing of its size is kept.
 */
export function plainLogprobs(logits: Float32Array, token: number, count: number): PlainLogprobs {
  const own = logits[token] as number;
  const best = new BestFew(count);
  let highest = Number.NEGATIVE_INFINITY;
  let likelier = 0;
  let { border } = best;
  for (let index = 0; index < logits.length; index += 1) {
    const logit = logits[index] as number;
    if (logit > highest) highest = logit;
    if (logit > own) likelier += 1;
    if (logit > border) border = best.add(index, logit);
  }
  const logTotal = highest + Math.log(sumOfExponentials(logits, highest));
  const top: Alternative[] = best.found.map(({ token: id, logit }) => ({ token: id, logprob: logit - logTotal }));
  return { logprob: own - logTotal, rank: likelier + 1, top };
}

/** The few largest of a long list, in order; nearly all of the list stays below the border and costs one comparison. */
class BestFew {
  readonly found: { readonly token: number; readonly logit: number }[] = [];
  border: number;

  constructor(private readonly count: number) {
    this.border = count > 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  /** Returns what the next one must be above. */
  add(token: number, logit: number): number {
    const { found, count } = this;
    let place = found.length;
    while (place > 0 && (found[place - 1] as { logit: number }).logit < logit) place -= 1;
    found.splice(place, 0, { token, logit });
    if (found.length > count) found.pop();
    if (found.length === count) this.border = (found.at(-1) as { logit: number }).logit;
    return this.border;
  }
}

/** Powers of two in steps of a 2048th, from 1 up to 2. */
const steps = 2048;
const between = Float64Array.from({ length: steps }, (_, step) => 2 ** (step / steps));
/** Whole powers of two: below the last of them nothing counts any more beside the likeliest token. */
const deepest = 64;
const powers = Float64Array.from({ length: deepest + 1 }, (_, index) => 2 ** (index - deepest));
const stepsPerUnit = steps / Math.LN2;

/**
 * The sum of the exponentials of all numbers in a row, each less `highest`, which is the largest of them. Good to ten digits,
 * and some three times as fast as the function of the language: a row has as many numbers as a vocabulary has tokens.
 */
export function sumOfExponentials(row: Float32Array, highest: number): number {
  let sum = 0;
  for (let index = 0; index < row.length; index += 1) {
    const place = ((row[index] as number) - highest) * stepsPerUnit;
    // Also true of what is not a number.
    if (!(place > -deepest * steps)) continue;
    const step = Math.floor(place);
    // What the table leaves is so small that two terms of the series are enough for it.
    const rest = (place - step) / stepsPerUnit;
    const power = powers[(step >> 11) + deepest] as number;
    sum += power * (between[step & (steps - 1)] as number) * (1 + rest * (1 + rest / 2));
  }
  return sum;
}
