import type { Sampling } from './sampling-fields.ts';

const largestSeed = 2 ** 32 - 1;

/**
 * One of several replies to the same request. Under a fixed seed each has its own, counted up from it, or they would all
 * be the same; where every generation draws its own there is nothing to change.
 */
export function withReplySeed<Request extends { readonly sampling: Sampling }>(
  request: Request,
  reply: number,
): Request {
  const { sampling } = request;
  if (reply === 0 || sampling.seed <= 0) return request;
  return { ...request, sampling: { ...sampling, seed: ((sampling.seed - 1 + reply) % largestSeed) + 1 } };
}
