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
 * What holds for two ways of computing a text on every processor: it is the same as long as nothing is nearly tied. At temperature
 * 0 `client` is asked for the probabilities where the two part, and both tokens must be as good as tied there; with chance
 * in it, the probabilities that both tell must be alike up to the parting and at it. Resolves to how much of the text is
 * common, from 0 to 1.
 */
export async function sharedUntilTie(
  client: NativeClient,
  request: Fields & { readonly temperature: number },
  seen: NativeResult,
  expected: NativeResult,
): Promise<number> {
  const [ours, theirs] = [told(seen), told(expected)];
  const parting = theirs.findIndex(({ token }, index) => token !== ours[index]?.token);
  if (parting < 0) expect(seen.text).toBe(expected.text);
  const common = parting < 0 ? theirs.length : parting;
  const before = theirs.slice(0, common).map(({ token }) => token);
  if (request.temperature > 0) {
    for (const [index, one] of theirs.slice(0, common + 1).entries()) {
      expectAlike(ours[index], one, request.temperature, before.slice(0, index).join(''));
    }
  } else if (parting >= 0) {
    const chances = await probabilities(client, request, before.join(''));
    expectTie(chances, [ours[parting]?.token, theirs[parting]?.token], before.join(''));
  }
  return common / Math.max(1, theirs.length);
}

interface Told {
  readonly token: string;
  readonly top_logprobs: readonly { readonly token: string; readonly logprob: number }[];
}

const told = ({ logprobs }: NativeResult): readonly Told[] => (logprobs?.content ?? []) as unknown as readonly Told[];

/** What was cut off by a sampler may differ and with it all that is left; the distance between two likely tokens may not. */
function expectAlike(ours: Told | undefined, theirs: Told, temperature: number, before: string): void {
  const seen = new Map(ours?.top_logprobs.map(({ token, logprob }) => [token, logprob]));
  const both = theirs.top_logprobs.filter(({ token, logprob }) => logprob > likely && (seen.get(token) ?? -9) > likely);
  const [first] = both;
  for (const { token, logprob } of both) {
    const moved = logprob - (first?.logprob ?? 0) - ((seen.get(token) ?? 0) - (seen.get(first?.token ?? '') ?? 0));
    expect(Math.abs(moved), `${JSON.stringify(token)} ${whereabouts(before)}`).toBeLessThan(
      (2 * movement) / temperature,
    );
  }
}

function expectTie(
  chances: ReadonlyMap<string, number>,
  tokens: readonly (string | undefined)[],
  before: string,
): void {
  const [one, other] = tokens.map((token) => chances.get(token ?? '') ?? Number.NEGATIVE_INFINITY) as [number, number];
  expect(Math.abs(one - other), `${JSON.stringify(tokens)} ${whereabouts(before)}`).toBeLessThan(2 * movement);
}

const whereabouts = (before: string): string => `after ${JSON.stringify(before.slice(-60))}`;

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

/** Texts must not part at the first word each: then nothing would have been compared. Chance parts them sooner than ties do. */
export function expectMostlyShared(shares: readonly number[]): void {
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  expect(mean).toBeGreaterThan(0.25);
}
