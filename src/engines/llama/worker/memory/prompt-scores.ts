import type { PromptToken, TokenChoice } from '../../../../core/events.ts';
import { plainLogprobs } from '../../../../sampling/logprobs.ts';
import type { Vocabulary } from '../text/vocabulary.ts';
import { smallestChunk } from './batch-size.ts';
import type { Slot } from './slot.ts';

export interface PromptScoresParts {
  readonly vocabulary: Pick<Vocabulary, 'size' | 'bytes'>;
  /** The whole prompt, with what was put in front of it. */
  readonly tokens: Int32Array;
  readonly front: number;
  /** How many of the likeliest are told for each token. */
  readonly alternatives: number;
}

/** What the logits of one batch may take in memory: a row has one number for every token of the vocabulary. */
const mostBytes = 32 * 2 ** 20;
/** Minus infinity has no place in a message. */
const lowest = -9999;

/**
 * How likely each token of a prompt is, by the logits of the row before it. Every row is reduced to its few figures right
 * after its batch: the rows of a whole prompt would take gigabytes.
 */
export class PromptScores {
  readonly rowsAtOnce: number;
  /** The first token that has not been told: rows may be computed twice when a batch is given up. */
  #next = 0;

  constructor(private readonly parts: PromptScoresParts) {
    this.rowsAtOnce = Math.max(smallestChunk, Math.floor(mostBytes / (4 * parts.vocabulary.size)));
  }

  /** Those whose figures came with the batch that has just been computed; the very first has none to wait for. */
  read(slot: Pick<Slot, 'scoredRows' | 'context'>): readonly PromptToken[] {
    const told: PromptToken[] = [];
    if (this.#next === 0) told.push(this.#tell(0));
    const { from, end, place } = slot.scoredRows;
    for (let row = Math.max(from, this.#next - 1); row < end; row += 1) {
      told.push(this.#tell(row + 1, slot.context.logits(place + row - from)));
    }
    return told;
  }

  #tell(index: number, logits?: Float32Array): PromptToken {
    const { tokens, front, alternatives } = this.parts;
    const token = tokens[index] as number;
    this.#next = index + 1;
    const figures = logits && plainLogprobs(logits, token, alternatives);
    return {
      ...this.#spelled(token),
      logprob: figures ? Math.max(lowest, figures.logprob) : null,
      rank: figures?.rank ?? null,
      top: (figures?.top ?? []).map((one) => this.#choice(one.token, one.logprob)),
      inPrompt: index >= front,
    };
  }

  #choice(token: number, logprob: number): TokenChoice {
    return { ...this.#spelled(token), logprob: Math.max(lowest, logprob) };
  }

  #spelled(token: number): Omit<TokenChoice, 'logprob'> {
    const bytes = [...this.parts.vocabulary.bytes(token, true)];
    return { token, text: Buffer.from(bytes).toString(), bytes };
  }
}
