import type { PromptToken, TokenLogprob } from '../../../core/events.ts';
import { encodeTokens, finite } from '../logprobs.ts';

/** A token of the reply, or of a prompt that is told in front of it; the first of a prompt has no figures. */
type ToldToken = Omit<TokenLogprob, 'logprob'> & { readonly logprob: number | null };

/**
 * The old form of this dialect and the one of chats in one object, as clients look for either; the latter knows only
 * replies. `offset` is where the first of the tokens begins in the whole text, in characters.
 */
export function encodeLegacyLogprobs(
  reply: readonly TokenLogprob[],
  offset: number,
  prompt: readonly ToldToken[] = [],
): object {
  const tokens: readonly ToldToken[] = [...prompt, ...reply];
  return {
    content: encodeTokens(reply),
    tokens: tokens.map(spelling),
    token_ids: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => (logprob === null ? null : finite(logprob))),
    top_logprobs: tokens.map(alternatives),
    text_offset: offsets(tokens, offset),
  };
}

/**
 * The tokens of a prompt as they stand in the text of the reply. The first has no figures here, even where the engine put
 * a token before it. Some tokenizers begin every text with a space, which is no part of it.
 */
export function echoedTokens(tokens: readonly PromptToken[], echo: string, count: number): readonly ToldToken[] {
  const [first, ...rest] = tokens.filter(({ inPrompt }) => inPrompt);
  if (!first) return [];
  const beginning = textOf([first, ...rest.slice(0, 2)]);
  const spaced = !echo.startsWith(beginning) && ` ${echo}`.startsWith(beginning);
  const own = spaced ? { text: first.text.slice(1), bytes: first.bytes.slice(1) } : {};
  return [{ ...first, ...own, logprob: null }, ...rest].map((token) => ({ ...token, top: token.top.slice(0, count) }));
}

/** Characters that a cut has left unfinished at the end say nothing about a text. */
function textOf(tokens: readonly ToldToken[]): string {
  return new TextDecoder().decode(Uint8Array.from(tokens.flatMap(({ bytes }) => bytes)), { stream: true });
}

/** The chosen token is always among them, also when it was not one of the best. */
function alternatives({ logprob, top, ...own }: ToldToken): object | null {
  if (logprob === null) return null;
  const best = top.map((each) => [spelling(each), finite(each.logprob)]);
  return Object.fromEntries([...best, [spelling(own), finite(logprob)]]);
}

/** Bytes that are no whole characters cannot be told as text, and several such tokens must not look the same. */
function spelling({ text, bytes }: Pick<ToldToken, 'text' | 'bytes'>): string {
  if (!text.includes('\ufffd') || Buffer.from(text).equals(Uint8Array.from(bytes))) return text;
  return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`;
}

/** A token that begins inside of a character stands where the character does. */
function offsets(tokens: readonly ToldToken[], offset: number): readonly number[] {
  let begun = offset;
  return tokens.map(({ bytes }) => {
    const start = bytes.length > 0 && isInner(bytes[0] as number) ? begun - 1 : begun;
    begun += bytes.filter((byte) => !isInner(byte)).length;
    return Math.max(offset, start);
  });
}

const isInner = (byte: number): boolean => (byte & 0xc0) === 0x80;

export function characters(text: string): number {
  return [...text].length;
}
