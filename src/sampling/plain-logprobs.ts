import { sumOfExponentials } from './exponential.ts';
import type { Alternative, PickedLogprobs } from './logprobs.ts';

export interface PlainLogprobs extends PickedLogprobs {
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
