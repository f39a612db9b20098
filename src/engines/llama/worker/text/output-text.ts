import { StopMatcher } from '../../../../chat/stop.ts';
import type { GenerationRequest } from '../../../../core/request.ts';
import { type BanList, PhraseBans } from '../../../../sampling/bans.ts';
import type { Vocabulary } from './vocabulary.ts';

type OutputStep =
  | { readonly type: 'text'; readonly text: string; readonly stop?: string }
  | { readonly type: 'rewind'; readonly position: number };

/** A character has at most four bytes, so this many tokens restore the state of the decoder. */
const decoderMemory = 4;

/** Turns tokens into output text: decodes whole characters, rewinds banned phrases, holds back possible stop texts. */
export class OutputText {
  readonly #renderSpecial: boolean;
  readonly #stops: StopMatcher;
  readonly #bans: PhraseBans | undefined;
  #decoder = new TextDecoder();

  constructor(
    private readonly vocabulary: Vocabulary,
    { stop, trimStop, renderSpecial }: Pick<GenerationRequest, 'stop' | 'trimStop' | 'renderSpecial'>,
    { phrases, delay }: Pick<BanList, 'phrases' | 'delay'>,
  ) {
    this.#renderSpecial = renderSpecial !== false;
    this.#stops = new StopMatcher(stop, trimStop);
    this.#bans = phrases.length > 0 ? new PhraseBans(phrases, delay) : undefined;
  }

  /** Tokens that are banned at this position because they began a banned phrase. */
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

  /** Releases the held text at the end. Bytes of an incomplete character are dropped. */
  flush(): { readonly text: string; readonly stop?: string } {
    const held = this.#bans?.flush();
    const step = this.#stops.push(held?.type === 'release' ? held.text : '');
    return step.stop === undefined ? { text: step.text + this.#stops.flush() } : step;
  }

  #decode(token: number): string {
    return this.#decoder.decode(this.vocabulary.bytes(token, this.#renderSpecial), { stream: true });
  }
}

/** The text before the next token, for penalties and drafts; without media, which are negative ids in the list. */
export class TextHistory {
  /** Undefined if the prompt is text only: then nothing is copied. */
  readonly #text: Int32Array | undefined;
  readonly #textLength: number;

  /** The first `promptLength` entries are the prompt; the reply after it is all text. */
  constructor(
    private readonly list: { readonly tokens: Int32Array },
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
