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
