import type { TokenChoice, TokenLogprob } from '../../core/events.ts';

export function logprobObjects(tokens: readonly TokenLogprob[]): readonly object[] {
  return tokens.map((token) => ({ ...choice(token), top_logprobs: token.top.map(choice) }));
}

function choice({ text, logprob, bytes }: TokenChoice): object {
  return { token: text, logprob, bytes };
}
