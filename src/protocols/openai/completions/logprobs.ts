import type { TokenLogprob } from '../../../core/events.ts';
import { encodeTokens, finite } from '../logprobs.ts';

/**
 * The old form of this dialect and the one of chats in one object, as clients look for either. `offset` is where the
 * first of the tokens begins in the whole text, in characters.
 */
export function encodeLegacyLogprobs(tokens: readonly TokenLogprob[], offset: number): object {
  let place = offset;
  const offsets = tokens.map(({ text }) => {
    const start = place;
    place += characters(text);
    return start;
  });
  return {
    content: encodeTokens(tokens),
    tokens: tokens.map(({ text }) => text),
    token_ids: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => finite(logprob)),
    top_logprobs: tokens.map(alternatives),
    text_offset: offsets,
  };
}

/** The chosen token is always among them, also when it was not one of the best. */
function alternatives({ text, logprob, top }: TokenLogprob): object {
  return Object.fromEntries([...top.map((each) => [each.text, finite(each.logprob)]), [text, finite(logprob)]]);
}

export function characters(text: string): number {
  return [...text].length;
}
