import type { GenerationEvent, TokenLogprob } from '../core/events.ts';

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
  const match = tokenMatcher();
  return (piece) => match(piece).told;
}

/**
 * The events of a reply with its text cut where tokens end, each piece with the figures of exactly its tokens: of a token
 * that comes in two pieces (its end might have become a stop text) the first waits for the second. Without figures all
 * events pass as they are.
 */
export function tokenPieces(): <Event extends GenerationEvent>(event: Event) => readonly (Event | TextDelta)[] {
  const match = tokenMatcher();
  let held: Held | undefined;

  function release(): readonly TextDelta[] {
    const pieces: readonly TextDelta[] = held ? [{ type: 'text-delta', text: held.text, logprobs: held.tokens }] : [];
    held = undefined;
    return pieces;
  }

  return (event) => {
    if (event.type === 'reasoning-delta') match(event);
    if (event.type !== 'text-delta') return held ? [...release(), event] : [event];
    const { told, shownOfLast } = match(event);
    if (event.text === '') return [];
    if (!told) return [...release(), event];
    const text = (held?.text ?? '') + event.text;
    const tokens = [...(held?.tokens ?? []), ...told];
    const whole = shownOfLast === 0 ? text : withoutBytes(text, shownOfLast);
    held = whole === text ? undefined : { text: text.slice(whole.length), tokens: tokens.slice(-1) };
    return whole === '' ? [] : [{ ...event, text: whole, logprobs: held ? tokens.slice(0, -1) : tokens }];
  };
}

type TextDelta = Extract<GenerationEvent, { type: 'text-delta' }>;

interface Held {
  readonly text: string;
  readonly tokens: readonly TokenLogprob[];
}

/** The text without its last bytes; all of it where they do not begin with a character. */
function withoutBytes(text: string, count: number): string {
  const bytes = Buffer.from(text);
  const first = bytes.length - count;
  const inCharacter = ((bytes[first] ?? 0) & 0xc0) === 0x80;
  return first < 0 || inCharacter ? text : bytes.subarray(0, first).toString();
}

interface Match {
  readonly told: readonly TokenLogprob[] | undefined;
  /** Of the last token that was told and is not whole yet: how many bytes have been shown; 0 where all are whole. */
  readonly shownOfLast: number;
}

function tokenMatcher(): (piece: Piece) => Match {
  /** Tokens whose text has not come yet, and perhaps never will. */
  let early: TokenLogprob[] = [];
  /** Of the last token that was told: the bytes that have not come yet, and how many have. */
  let rest: readonly number[] = [];
  let shown = 0;

  return ({ text, logprobs }) => {
    if (!logprobs && early.length === 0 && rest.length === 0) return { told: undefined, shownOfLast: 0 };
    if (logprobs) early.push(...logprobs);
    if (text === '') return { told: undefined, shownOfLast: 0 };
    const bytes = Buffer.from(text);
    let place = agreement(rest, bytes, 0);
    shown += place;
    rest = place > 0 ? rest.slice(place) : [];
    const told: TokenLogprob[] = [];
    let next = 0;
    while (place < bytes.length) {
      const found = firstAt(early, next, bytes, place);
      if (!found) break;
      told.push(found.token);
      rest = found.token.bytes.slice(found.blanks + found.length);
      shown = found.length;
      place += found.length;
      next = found.index + 1;
    }
    // Text that was changed on its way here cannot be compared: then the piece keeps the figures that came with it.
    const changed = place < bytes.length;
    early = changed ? [] : early.slice(next);
    if (changed) rest = [];
    return { told: changed ? logprobs : told, shownOfLast: rest.length > 0 ? shown : 0 };
  };
}

interface Found {
  readonly token: TokenLogprob;
  readonly index: number;
  readonly length: number;
  /** How many bytes at its beginning are blanks that the text was stripped of. */
  readonly blanks: number;
}

/** The first token that stands at this place of the text, blanks included if there is one, else without them. */
function firstAt(tokens: readonly TokenLogprob[], from: number, text: Uint8Array, place: number): Found | undefined {
  for (const blanksOf of [() => 0, leadingBlanks]) {
    for (let index = from; index < tokens.length; index += 1) {
      const token = tokens[index] as TokenLogprob;
      const blanks = blanksOf(token.bytes);
      const length = agreement(blanks === 0 ? token.bytes : token.bytes.slice(blanks), text, place);
      if (length > 0) return { token, index, length, blanks };
    }
  }
  return undefined;
}

function leadingBlanks(bytes: readonly number[]): number {
  const first = bytes.findIndex((byte) => byte !== 0x20 && (byte < 0x09 || byte > 0x0d));
  return first === -1 ? bytes.length : first;
}

/** How many bytes of a token stand at this place of the text, up to the end of either; 0 when they differ. */
function agreement(token: readonly number[], text: Uint8Array, place: number): number {
  const length = Math.min(token.length, text.length - place);
  for (let index = 0; index < length; index += 1) if (token[index] !== text[place + index]) return 0;
  return length;
}
