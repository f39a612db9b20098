import type { TokenChoice, TokenLogprob } from '../../core/events.ts';

/** Nothing is reported as less likely than one in ten thousand; clients draw bars from these numbers. */
const floor = Math.log(0.0001);

/** The same tokens told six times over, as the clients of two older dialects look for them. */
export function encodeLogprobs(tokens: readonly TokenLogprob[]): object {
  let offset = 0;
  const offsets = tokens.map(({ text }) => {
    const start = offset;
    offset += [...text].length;
    return start;
  });
  return {
    content: tokens.map((token) => ({ ...choice(token), top_logprobs: token.top.slice(0, 10).map(choice) })),
    tokens: tokens.map(({ text }) => text),
    token_ids: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(floored),
    top_logprobs: tokens.map(({ top }) =>
      Object.fromEntries(top.slice(0, 10).map((each) => [each.text, floored(each)])),
    ),
    text_offset: offsets,
  };
}

function choice(token: TokenChoice): object {
  return { token: token.text, token_id: token.token, logprob: floored(token), bytes: token.bytes };
}

function floored({ logprob }: TokenChoice): number {
  return Math.max(logprob, floor);
}
