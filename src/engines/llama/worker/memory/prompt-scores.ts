import type { PromptToken } from '../../../../core/events.ts';
import { plainLogprobs } from '../../../../sampling/logprobs.ts';
import { batching } from '../scheduling.ts';
import type { PromptPlan } from '../text/prompt.ts';
import type { Vocabulary } from '../text/vocabulary.ts';
import type { Slot } from './slot.ts';

/** Limit of the memory for the logits of one batch. */
const maxLogitsBytes = 32 * 2 ** 20;
/** In place of minus infinity, which JSON does not have. */
const minLogprob = -9999;

/** Logprobs of the tokens of a prompt. Rows are reduced after each batch: those of a whole prompt would take gigabytes. */
export class PromptScores {
  readonly maxRows: number;
  /** The first token that was not returned: rows of an aborted batch are computed twice. */
  #next = 0;

  /** `alternatives` is the number of top tokens per position. */
  constructor(
    private readonly vocabulary: Pick<Vocabulary, 'size' | 'bytes'>,
    private readonly plan: Pick<PromptPlan, 'tokens' | 'front'>,
    private readonly alternatives: number,
  ) {
    this.maxRows = Math.max(batching.minChunk, Math.floor(maxLogitsBytes / (4 * vocabulary.size)));
  }

  /** The tokens whose logits are in the computed batch; the very first has none. */
  read(slot: Pick<Slot, 'scoredRows' | 'context'>): readonly PromptToken[] {
    const scored: PromptToken[] = [];
    if (this.#next === 0) scored.push(this.#score(0));
    const { from, end, firstRow } = slot.scoredRows;
    for (let index = Math.max(from, this.#next - 1); index < end; index += 1) {
      scored.push(this.#score(index + 1, slot.context.logits(firstRow + index - from)));
    }
    return scored;
  }

  #score(index: number, logits?: Float32Array): PromptToken {
    const token = this.plan.tokens[index] as number;
    this.#next = index + 1;
    const figures = logits && plainLogprobs(logits, token, this.alternatives);
    return {
      ...tokenChoice(this.vocabulary, token, figures ? Math.max(minLogprob, figures.logprob) : null),
      rank: figures?.rank ?? null,
      top: (figures?.top ?? []).map((one) =>
        tokenChoice(this.vocabulary, one.token, Math.max(minLogprob, one.logprob)),
      ),
      inPrompt: index >= this.plan.front,
    };
  }
}

/** A token with its text, its bytes and this logprob. */
export function tokenChoice<Logprob>(vocabulary: Pick<Vocabulary, 'bytes'>, token: number, logprob: Logprob) {
  const bytes = [...vocabulary.bytes(token, true)];
  return { token, text: Buffer.from(bytes).toString(), bytes, logprob };
}
