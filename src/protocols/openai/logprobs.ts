import type { TokenChoice, TokenLogprob } from '../../core/events.ts';

/** JSON has no minus infinity, and a null here would break typed clients. */
const lowest = -9999;

export function finite(logprob: number): number {
  return Math.max(logprob, lowest);
}

export function encodeLogprobs(tokens: readonly TokenLogprob[]): object {
  return { content: encodeTokens(tokens), refusal: null };
}

export function encodeTokens(tokens: readonly TokenLogprob[]): readonly object[] {
  return tokens.map((token) => ({ ...choice(token), top_logprobs: token.top.map(choice) }));
}

function choice({ text, token, logprob, bytes }: TokenChoice): object {
  return { id: token, token: text, logprob: finite(logprob), bytes };
}
