import type { Context } from '../memory/context.ts';
import { commonPrefix } from '../memory/reuse.ts';

export interface DraftModelParts {
  /** How many texts it can follow at the same time. */
  readonly sequences: number;
  readonly context: Pick<Context, 'batchCapacity' | 'clearBatch' | 'add' | 'decodeNow' | 'logits' | 'forget'>;
  readonly contextSize: number;
  /** The tokens that both models know are those below this. */
  readonly sharedTokens: number;
  readonly isEnd: (token: number) => boolean;
}

const nothing = new Int32Array(0);

/** What it has computed of one text. */
interface Followed {
  readonly sequence: number;
  readonly tokens: Int32Array;
  computed: number;
}

/**
 * A small model that follows the texts of a large one and says how they would go on: each with a sequence of its own, since
 * texts that take turns in one would be read anew at every token. It keeps what it has computed and goes back only as
 * far as a text has changed, so that several chats in turn are followed as well as one.
 */
export class DraftModel {
  readonly #followed: readonly Followed[];

  constructor(private readonly parts: DraftModelParts) {
    this.#followed = Array.from({ length: parts.sequences }, (_, sequence) => {
      return { sequence, tokens: new Int32Array(parts.contextSize), computed: 0 };
    });
  }

  /**
   * The tokens that it finds most likely, up to `most`. It reads at most one batch of unknown text each time and guesses
   * nothing until it has caught up: a long prompt must not hold up the text that is being written behind it.
   */
  propose(sequence: number, tokens: Int32Array, length: number, most: number): Int32Array {
    const count = Math.min(most, this.parts.contextSize - length);
    const followed = this.#followed[sequence];
    if (!followed || count <= 0 || length === 0) return nothing;
    const text = tokens.subarray(0, length);
    const cached = followed.tokens.subarray(0, followed.computed);
    // The last token is computed again in any case: its logits are gone.
    this.#keep(followed, Math.min(commonPrefix(cached, text), length - 1));
    const { computed } = followed;
    let place = this.#read(followed, text.subarray(computed, computed + this.parts.context.batchCapacity));
    if (place === undefined || followed.computed < length) return nothing;
    const guesses: number[] = [];
    for (;;) {
      const token = likeliest(this.parts.context.logits(place), this.parts.sharedTokens);
      // Behind the end of a text there is nothing to guess.
      if (this.parts.isEnd(token)) break;
      guesses.push(token);
      if (guesses.length >= count) break;
      place = this.#read(followed, Int32Array.of(token));
      if (place === undefined) break;
    }
    return Int32Array.from(guesses);
  }

  /** Computes more text; the place of its last logits, or undefined where it cannot be followed. */
  #read(followed: Followed, tokens: Int32Array): number | undefined {
    const { context, sharedTokens } = this.parts;
    if (tokens.some((token) => token >= sharedTokens)) return undefined;
    context.clearBatch();
    let place = 0;
    for (const [index, token] of tokens.entries()) {
      place = context.add(token, followed.computed + index, followed.sequence, index === tokens.length - 1);
    }
    if (context.decodeNow() !== 'ok') {
      this.#keep(followed, 0);
      return undefined;
    }
    followed.tokens.set(tokens, followed.computed);
    followed.computed += tokens.length;
    return place;
  }

  #keep(followed: Followed, count: number): void {
    const { context } = this.parts;
    followed.computed = context.forget(followed.sequence, count) ? count : 0;
    if (followed.computed !== count) context.forget(followed.sequence, 0);
  }
}

function likeliest(logits: Float32Array, end: number): number {
  let best = 0;
  for (let token = 1; token < end; token += 1) {
    if ((logits[token] as number) > (logits[best] as number)) best = token;
  }
  return best;
}
