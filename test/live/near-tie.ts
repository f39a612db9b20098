import { expect } from 'vitest';
import type { NativeClient, NativeResult } from './client.ts';

/**
 * How far the logprob of a likely token moves where the same text is computed in other batches. Measured on a processor whose
 * kernels for one row and for several round differently: 0.30 at most for tokens of one percent and more, and as much
 * between each of the two and a computation with 32-bit floats.
 */
const movement = 0.35;
/** Two tokens that are no further apart may change places where the same text is computed in another way. */
export const nearTie = 2 * movement;
const likely = Math.log(0.01);

type Fields = Readonly<Record<string, unknown>> & { readonly prompt: string };

/** Asks for the tokens as well, since texts part at tokens. */
export const withTokens = <Request extends object>(request: Request) => ({ ...request, logprobs: true });

/**
 * What holds for two ways of computing a text on every processor: it is the same as long as nothing is nearly tied. At temperature
 * 0 `client` is asked for the probabilities where the two part, behind the very tokens before it, and both must be as good as tied there; with chance
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
  const parting = theirs.findIndex(({ token_id }, index) => token_id !== ours[index]?.token_id);
  if (parting < 0) expect(seen.text).toBe(expected.text);
  const common = parting < 0 ? theirs : theirs.slice(0, parting);
  if (request.temperature > 0) {
    for (const [index, one] of theirs.slice(0, common.length + 1).entries()) {
      expectAlike(ours[index], one, request.temperature, textOf(common.slice(0, index)));
    }
  } else if (parting >= 0) {
    const rivals = [ours[parting], theirs[parting]];
    const names = rivals.map((rival) => rival?.token ?? '');
    const chances = await probabilities(client, request, common, rivals);
    const [one = Number.NaN, other = Number.NaN] = names.map((name) => chances[name]);
    const where = `${JSON.stringify(names)} ${whereabouts(textOf(common))}`;
    expect(Math.abs(one - other), where).toBeLessThan(nearTie);
  }
  return common.length / Math.max(1, theirs.length);
}

interface Told {
  readonly token: string;
  readonly token_id: number;
  readonly top_logprobs: readonly { readonly token: string; readonly logprob: number }[];
}

const textOf = (tokens: readonly Told[]): string => tokens.map(({ token }) => token).join('');

const told = ({ logprobs }: NativeResult): readonly Told[] => (logprobs?.content ?? []) as unknown as readonly Told[];

/** What was cut off by a sampler may differ and with it all that is left; the distance between two likely tokens may not. */
function expectAlike(ours: Told | undefined, theirs: Told, temperature: number, before: string): void {
  const seen = new Map(ours?.top_logprobs.map(({ token, logprob }) => [token, logprob]));
  const both = theirs.top_logprobs.filter(({ token, logprob }) => logprob > likely && (seen.get(token) ?? -9) > likely);
  const [first] = both;
  for (const { token, logprob } of both) {
    const moved = logprob - (first?.logprob ?? 0) - ((seen.get(token) ?? 0) - (seen.get(first?.token ?? '') ?? 0));
    expect(Math.abs(moved), `${JSON.stringify(token)} ${whereabouts(before)}`).toBeLessThan(nearTie / temperature);
  }
}

const whereabouts = (before: string): string => `after ${JSON.stringify(before.slice(-60))}`;

/** Large enough to lift two tokens over all others; both are lifted, so that their distance stays. */
const lift = 50;

/**
 * Logprobs by token text behind the prompt and exactly these tokens, with the penalties and bans of the request. The text of
 * the tokens would be tokenized in another way where a grammar or a ban has forced unusual ones, and followed by other words.
 */
async function probabilities(
  client: NativeClient,
  { prompt, grammar, logit_bias: bias, ...request }: Fields,
  tokens: readonly Told[],
  rivals: readonly (Told | undefined)[],
): Promise<Readonly<Record<string, number>>> {
  const everything = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, top_a: 0, tfs: 1, typical: 1, mirostat: 0 };
  const { ids } = (await client.post('/api/extra/tokencount', { prompt })).json() as { ids: number[] };
  // A grammar cannot begin in the middle of its text; without it more likely tokens may hide the two.
  const lifted = grammar === undefined ? {} : Object.fromEntries(rivals.map((rival) => [rival?.token_id, lift]));
  const answer = await client.post('/v1/completions', {
    ...request,
    ...everything,
    logit_bias: { ...(bias as object | undefined), ...lifted },
    prompt: [...ids, ...tokens.map(({ token_id }) => token_id)],
    max_length: 1,
    logprobs: 20,
  });
  expect(answer.status, answer.text).toBe(200);
  const { choices } = answer.json() as { choices: [{ logprobs: { top_logprobs: [Record<string, number>] } }] };
  return choices[0].logprobs.top_logprobs[0];
}

/** Texts must not part at the first word each: then nothing would have been compared. Chance parts them sooner than ties do. */
export function expectMostlyShared(shares: readonly number[]): void {
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  expect(mean).toBeGreaterThan(0.25);
}
