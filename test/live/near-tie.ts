import { expect } from 'vitest';
import type { NativeClient, NativeResult } from './client.ts';

/**
 * How far the logprob of a likely token moves where the same text is computed in other batches. Measured on a processor whose
 * kernels for one row and for several round differently: 0.30 at most for tokens of one percent and more, and as much
 * between each of the two and a computation with 32-bit floats.
 */
const movement = 0.35;
const likely = Math.log(0.01);

type Fields = Readonly<Record<string, unknown>> & { readonly prompt: string };

/** Asks for the tokens as well, since texts part at tokens. */
export const withTokens = <Request extends object>(request: Request) => ({ ...request, logprobs: true });

/**
 * What holds for two ways of computing a text on every processor: it is the same as long as nothing is nearly tied. Where the
 * two part, `client` is asked for the probabilities at that place: both tokens must be likely there, and at temperature 0
 * as good as tied. Resolves to how much of the text is common, from 0 to 1.
 */
export async function sharedUntilTie(
  client: NativeClient,
  request: Fields,
  seen: NativeResult,
  expected: NativeResult,
): Promise<number> {
  const [ours, theirs] = [seen, expected].map(({ logprobs }) => logprobs?.tokens ?? []) as [string[], string[]];
  const parting = theirs.findIndex((token, index) => token !== ours[index]);
  if (parting < 0) {
    expect(seen.text).toBe(expected.text);
    return 1;
  }
  const before = theirs.slice(0, parting).join('');
  const chances = await probabilities(client, request, before);
  const values = [ours, theirs].map((tokens) => chances.get(tokens[parting] ?? '') ?? Number.NEGATIVE_INFINITY);
  const place = `after ${JSON.stringify(before.slice(-60))}: ${JSON.stringify([ours[parting], theirs[parting]])}`;
  for (const value of values) expect(value, place).toBeGreaterThan(likely - movement);
  const [one = 0, other = 0] = values;
  if (request.temperature === 0) expect(Math.abs(one - other), place).toBeLessThan(2 * movement);
  return parting / theirs.length;
}

/** Of the ten best tokens behind prompt and text, with the penalties, bans and grammar of the request. */
async function probabilities(
  client: NativeClient,
  request: Fields,
  text: string,
): Promise<ReadonlyMap<string, number>> {
  const everything = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, top_a: 0, tfs: 1, typical: 1, mirostat: 0 };
  const asked = { ...request, ...everything, prompt: request.prompt + text, max_length: 1, logprobs: true };
  const { logprobs } = await client.generate(asked);
  const [first] = (logprobs?.content ?? []) as { top_logprobs: { token: string; logprob: number }[] }[];
  return new Map(first?.top_logprobs.map(({ token, logprob }) => [token, logprob]));
}

/** Texts must not part at the first word each: then nothing would have been compared. */
export function expectMostlyShared(shares: readonly number[]): void {
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  expect(mean).toBeGreaterThan(0.5);
}
