import type { PromptToken, TokenChoice } from '../../../../core/events.ts';
import { plainLogprobs } from '../../../../sampling/logprobs.ts';
import type { PromptPlan } from '../text/prompt.ts';
import type { Vocabulary } from '../text/vocabulary.ts';
import { smallestChunk } from './batch-size.ts';
import type { Slot } from './slot.ts';

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

  /** `alternatives` is the number of top tokens per position. */
  constructor(
    private readonly vocabulary: Pick<Vocabulary, 'size' | 'bytes'>,
    private readonly plan: Pick<PromptPlan, 'tokens' | 'front'>,
    private readonly alternatives: number,
  ) {
    this.rowsAtOnce = Math.max(smallestChunk, Math.floor(mostBytes / (4 * vocabulary.size)));
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
    const token = this.plan.tokens[index] as number;
    this.#next = index + 1;
    const figures = logits && plainLogprobs(logits, token, this.alternatives);
    return {
      ...this.#spelled(token),
      logprob: figures ? Math.max(lowest, figures.logprob) : null,
      rank: figures?.rank ?? null,
      top: (figures?.top ?? []).map((one) => ({
        ...this.#spelled(one.token),
        logprob: Math.max(lowest, one.logprob),
      })),
      inPrompt: index >= this.plan.front,
    };
  }

  #spelled(token: number): Omit<TokenChoice, 'logprob'> {
    const bytes = [...this.vocabulary.bytes(token, true)];
    return { token, text: Buffer.from(bytes).toString(), bytes };
  }
}
