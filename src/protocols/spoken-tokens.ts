import type { TokenLogprob } from '../core/events.ts';

interface Piece {
  readonly text: string;
  readonly logprobs?: readonly TokenLogprob[];
}

/**
 * The figures of the tokens that a reply really shows, piece by piece: in most dialects their texts add up to the reply.
 * Others come along with them (the token that ended the text, those of a stop text, marks around thinking and calls),
 * and text that was held back because it might have become such a mark comes later than its figures. Thinking and text
 * go through the same one: the figures of both may come with the first piece of either.
 */
export function spokenTokens(): (piece: Piece) => readonly TokenLogprob[] | undefined {
  /** Tokens whose text has not come yet, and perhaps never will. */
  let early: TokenLogprob[] = [];
  /** Of the last token that was told: the bytes that have not come yet. */
  let rest: readonly number[] = [];

  return ({ text, logprobs }) => {
    if (!logprobs && early.length === 0 && rest.length === 0) return undefined;
    if (logprobs) early.push(...logprobs);
    if (text === '') return undefined;
    const bytes = Buffer.from(text);
    let place = agreement(rest, bytes, 0);
    rest = place > 0 ? rest.slice(place) : [];
    const told: TokenLogprob[] = [];
    let next = 0;
    while (place < bytes.length) {
      const found = early.findIndex((token, index) => index >= next && agreement(token.bytes, bytes, place) > 0);
      const token = early[found];
      if (!token) break;
      const length = agreement(token.bytes, bytes, place);
      told.push(token);
      rest = token.bytes.slice(length);
      place += length;
      next = found + 1;
    }
    // Text that was changed on its way here cannot be compared: then the piece keeps the figures that came with it.
    const changed = place < bytes.length;
    early = changed ? [] : early.slice(next);
    if (!changed) return told;
    rest = [];
    return logprobs;
  };
}

/** How many bytes of a token stand at this place of the text, up to the end of either; 0 when they differ. */
function agreement(token: readonly number[], text: Uint8Array, place: number): number {
  const length = Math.min(token.length, text.length - place);
  for (let index = 0; index < length; index += 1) if (token[index] !== text[place + index]) return 0;
  return length;
}
