import { StopMatcher } from '../../../../chat/stop.ts';
import { type BanList, PhraseBans } from '../../../../sampling/bans.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface OutputOptions {
  readonly renderSpecial: boolean;
  readonly stop: readonly string[];
  readonly trimStop: boolean;
  readonly bans: BanList;
}

export type OutputStep =
  | { readonly type: 'text'; readonly text: string; readonly stop?: string }
  | { readonly type: 'rewind'; readonly position: number };

/** A character is at most four bytes, so this many tokens are enough to know in the middle of which one we stand. */
const decoderMemory = 4;

/**
 * From tokens to the text that may be shown: bytes become characters when they are whole, banned phrases are taken back,
 * and what could become a stop text is held until it is known.
 */
export class OutputText {
  readonly #stops: StopMatcher;
  readonly #bans: PhraseBans | undefined;
  #decoder = new TextDecoder();

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly options: OutputOptions,
  ) {
    this.#stops = new StopMatcher(options.stop, options.trimStop);
    const { phrases, delay } = options.bans;
    this.#bans = phrases.length > 0 ? new PhraseBans(phrases, delay) : undefined;
  }

  /** Tokens that cannot be chosen next, because a banned phrase began there. */
  get forbidden(): readonly number[] {
    return this.#bans?.forbidden ?? [];
  }

  accept(token: number): OutputStep {
    const text = this.#decode(token);
    if (!this.#bans) return { type: 'text', ...this.#stops.push(text) };
    const step = this.#bans.accept(token, text);
    return step.type === 'rewind' ? step : { type: 'text', ...this.#stops.push(step.text) };
  }

  /** After a rewind: `kept` is the output that is left. */
  rewound(kept: Int32Array): void {
    this.#decoder = new TextDecoder();
    for (const token of kept.subarray(Math.max(0, kept.length - decoderMemory))) this.#decode(token);
  }

  /** The end of the text: nothing is held back any more. Bytes of a character that never became whole are dropped. */
  flush(): { readonly text: string; readonly stop?: string } {
    const held = this.#bans?.flush();
    const step = this.#stops.push(held?.type === 'release' ? held.text : '');
    return step.stop === undefined ? { text: step.text + this.#stops.flush() } : step;
  }

  #decode(token: number): string {
    return this.#decoder.decode(this.vocabulary.bytes(token, this.options.renderSpecial), { stream: true });
  }
}

/** What `TextHistory` reads: tokens of text, and negative ids where pictures and sounds stand. */
interface TokenList {
  readonly tokens: Int32Array;
}

/**
 * The text behind which the next token is chosen. Pictures and sounds are no part of it: they cannot be repeated, and a
 * penalty for the last hundred tokens means a hundred tokens of text.
 */
export class TextHistory {
  /** Undefined where the prompt is text only: then nothing is copied. */
  readonly #text: Int32Array | undefined;
  readonly #textLength: number;

  /** `promptLength` entries are the prompt; what follows is the reply, which is all text. */
  constructor(
    private readonly list: TokenList,
    private readonly promptLength: number,
  ) {
    const prompt = list.tokens.subarray(0, promptLength);
    const text = prompt.filter((token) => token >= 0);
    this.#textLength = text.length;
    if (text.length === prompt.length) return;
    this.#text = new Int32Array(list.tokens.length);
    this.#text.set(text);
  }

  /** All text among the first `length` entries. */
  upTo(length: number): { readonly tokens: Int32Array; readonly length: number } {
    if (!this.#text) return { tokens: this.list.tokens, length };
    const reply = this.list.tokens.subarray(this.promptLength, length);
    this.#text.set(reply, this.#textLength);
    return { tokens: this.#text, length: this.#textLength + reply.length };
  }
}
