import type { GenerationEvent, TokenLogprob } from '../core/events.ts';

type TextDelta = Extract<GenerationEvent, { type: 'text-delta' }>;
type Piece = Pick<TextDelta, 'text' | 'logprobs'>;

/**
 * The figures of the tokens that a reply shows, piece by piece. Events also carry those of end tokens, stop texts and
 * marks, or of text that is held back as a possible mark. Thinking and text share a matcher: figures of both may come mixed.
 */
export function alignedLogprobs(): (piece: Piece) => readonly TokenLogprob[] | undefined {
  const match = tokenMatcher();
  return (piece) => match(piece).visible;
}

/**
 * The events of a reply with its text cut at the ends of tokens, each piece with the figures of exactly its tokens. If a
 * token comes in two pieces (its end might have become a stop text), the first is held until the second. Without figures
 * all events pass unchanged.
 */
export function tokenPieces(): <Event extends GenerationEvent>(event: Event) => readonly (Event | TextDelta)[] {
  const match = tokenMatcher();
  let held: { readonly text: string; readonly tokens: readonly TokenLogprob[] } | undefined;

  function release(): readonly TextDelta[] {
    const pieces: readonly TextDelta[] = held ? [{ type: 'text-delta', text: held.text, logprobs: held.tokens }] : [];
    held = undefined;
    return pieces;
  }

  return (event) => {
    if (event.type === 'reasoning-delta') match(event);
    if (event.type !== 'text-delta') return held ? [...release(), event] : [event];
    const { visible, bytesOfLast } = match(event);
    if (event.text === '') return [];
    if (!visible) return [...release(), event];
    const text = (held?.text ?? '') + event.text;
    const tokens = [...(held?.tokens ?? []), ...visible];
    const whole = bytesOfLast === 0 ? text : withoutBytes(text, bytesOfLast);
    held = whole === text ? undefined : { text: text.slice(whole.length), tokens: tokens.slice(-1) };
    return whole === '' ? [] : [{ ...event, text: whole, logprobs: held ? tokens.slice(0, -1) : tokens }];
  };
}

/** The text without its last bytes; all of it if they do not begin with a character. */
function withoutBytes(text: string, count: number): string {
  const bytes = Buffer.from(text);
  const first = bytes.length - count;
  const inCharacter = ((bytes[first] ?? 0) & 0xc0) === 0x80;
  return first < 0 || inCharacter ? text : bytes.subarray(0, first).toString();
}

/** `bytesOfLast`: how many bytes of the last token were sent, if it is not whole yet; else 0. */
function tokenMatcher() {
  /** Tokens whose text has not come yet, and perhaps never will. */
  let early: TokenLogprob[] = [];
  /** Of the last sent token: the bytes that are still missing, and how many were sent. */
  let rest: readonly number[] = [];
  let visibleBytes = 0;

  return ({ text, logprobs }: Piece) => {
    if (!logprobs && early.length === 0 && rest.length === 0) return nothing;
    if (logprobs) early.push(...logprobs);
    if (text === '') return nothing;
    const bytes = Buffer.from(text);
    let position = agreement(rest, bytes, 0);
    visibleBytes += position;
    rest = position > 0 ? rest.slice(position) : [];
    const visible: TokenLogprob[] = [];
    let next = 0;
    while (position < bytes.length) {
      const aligned = firstAt(early, next, bytes, position);
      if (!aligned) break;
      visible.push(aligned.token);
      rest = aligned.token.bytes.slice(aligned.blanks + aligned.length);
      visibleBytes = aligned.length;
      position += aligned.length;
      next = aligned.index + 1;
    }
    // Text that was changed on the way cannot be compared: then the piece has the figures that came with it.
    const changed = position < bytes.length;
    early = changed ? [] : early.slice(next);
    if (changed) rest = [];
    return { visible: changed ? logprobs : visible, bytesOfLast: rest.length > 0 ? visibleBytes : 0 };
  };
}

const nothing = { visible: undefined, bytesOfLast: 0 };

/** The first token at this position of the text: with its leading blanks if there is one, else without them. */
function firstAt(tokens: readonly TokenLogprob[], from: number, text: Uint8Array, position: number) {
  for (const blanksOf of [() => 0, leadingBlanks]) {
    for (let index = from; index < tokens.length; index += 1) {
      const token = tokens[index] as TokenLogprob;
      const blanks = blanksOf(token.bytes);
      const length = agreement(blanks === 0 ? token.bytes : token.bytes.slice(blanks), text, position);
      if (length > 0) return { token, index, length, blanks };
    }
  }
  return undefined;
}

function leadingBlanks(bytes: readonly number[]): number {
  const first = bytes.findIndex((byte) => byte !== 0x20 && (byte < 0x09 || byte > 0x0d));
  return first === -1 ? bytes.length : first;
}

/** How many bytes of a token are at this position of the text, up to the end of either; 0 if they differ. */
function agreement(token: readonly number[], text: Uint8Array, position: number): number {
  const length = Math.min(token.length, text.length - position);
  for (let index = 0; index < length; index += 1) if (token[index] !== text[position + index]) return 0;
  return length;
}
