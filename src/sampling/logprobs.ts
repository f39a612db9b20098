import type { Candidates } from './candidates.ts';

/** The probability of tokens that the samplers have dropped: their logprob must be finite. */
const minProbability = 0.0001;

/** Logprobs over the remaining candidates; other tokens count as the least probable. `top` are the likeliest tokens. */
export function logprobsOf(candidates: Candidates, picked: number, count: number) {
  const { ids, probabilities, size } = candidates;
  const logprobAt = (index: number): number => Math.log(Math.max(minProbability, probabilities[index] as number));
  const pickedIndex = ids.subarray(0, size).indexOf(picked);
  const top = Array.from({ length: Math.min(count, size) }, (_, index) => ({
    token: ids[index] as number,
    logprob: logprobAt(index),
  }));
  return { logprob: pickedIndex < 0 ? Math.log(minProbability) : logprobAt(pickedIndex), top };
}

/** Logprob and rank (1 is the likeliest) of a token over the whole vocabulary, without samplers. Allocates nothing of its size. */
export function plainLogprobs(logits: Float32Array, token: number, count: number) {
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
  const top = best.entries.map(({ token: id, logit }) => ({ token: id, logprob: logit - logTotal }));
  return { logprob: own - logTotal, rank: likelier + 1, top };
}

/** The `count` largest of a long list, in order; most entries cost one comparison with the border. */
class BestFew {
  readonly entries: { readonly token: number; readonly logit: number }[] = [];
  border: number;

  constructor(private readonly count: number) {
    this.border = count > 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  /** Returns the logit that further entries must exceed. */
  add(token: number, logit: number): number {
    const { entries, count } = this;
    let index = entries.length;
    while (index > 0 && (entries[index - 1] as { logit: number }).logit < logit) index -= 1;
    entries.splice(index, 0, { token, logit });
    if (entries.length > count) entries.pop();
    if (entries.length === count) this.border = (entries.at(-1) as { logit: number }).logit;
    return this.border;
  }
}

/** Powers of two in steps of a 2048th, from 1 up to 2. */
const steps = 2048;
const between = Float64Array.from({ length: steps }, (_, step) => 2 ** (step / steps));
/** Integer powers of two; terms below 2^-64 do not change the sum. */
const maxDepth = 64;
const powers = Float64Array.from({ length: maxDepth + 1 }, (_, index) => 2 ** (index - maxDepth));
const stepsPerUnit = steps / Math.LN2;

/** The sum of exp(x - highest) over a row, exact to ten digits and about three times as fast as with `Math.exp`. */
export function sumOfExponentials(row: Float32Array, highest: number): number {
  let sum = 0;
  for (let index = 0; index < row.length; index += 1) {
    const exponent = ((row[index] as number) - highest) * stepsPerUnit;
    // Also skips NaN.
    if (!(exponent > -maxDepth * steps)) continue;
    const step = Math.floor(exponent);
    // The remainder is so small that two terms of the series suffice.
    const rest = (exponent - step) / stepsPerUnit;
    const power = powers[(step >> 11) + maxDepth] as number;
    sum += power * (between[step & (steps - 1)] as number) * (1 + rest * (1 + rest / 2));
  }
  return sum;
}
