import { DraftModel, type DraftModelOptions, type DraftSequence, nothing } from './draft.ts';
import type { Context, DecodeResult } from './memory/context.ts';
import { commonPrefix } from './memory/snapshot.ts';
import { predictions } from './scheduling.ts';

interface PredictionOptions extends DraftModelOptions {
  readonly context: DraftModelOptions['context'] & Pick<Context, 'decode' | 'copy' | 'setInput' | 'hiddenState'>;
  /** Values of a hidden state. */
  readonly width: number;
}

/** The main model's hidden states of one sequence, from the first one that the layers still need. */
class HiddenStates {
  /** How many computed tokens of the main model are known here; the states of the last ones are kept. */
  known = 0;
  #from = 0;
  #values = new Float32Array(0);

  constructor(private readonly width: number) {}

  /** Undefined before the first that is kept. */
  at(index: number): Float32Array | undefined {
    if (index < this.#from || index >= this.known) return undefined;
    const start = (index - this.#from) * this.width;
    return this.#values.subarray(start, start + this.width);
  }

  /** Copies the states of the tokens from an index on. */
  add(from: number, count: number, state: (index: number) => Float32Array): void {
    if (from < this.#from || from > this.known) this.#from = from;
    const kept = from - this.#from;
    const needed = (kept + count) * this.width;
    if (needed > this.#values.length) {
      const values = new Float32Array(needed);
      values.set(this.#values.subarray(0, kept * this.width));
      this.#values = values;
    }
    for (let index = from; index < from + count; index += 1) {
      this.#values.set(state(index), (index - this.#from) * this.width);
    }
    this.known = from + count;
  }

  /** Drops the states before an index. */
  dropBefore(index: number): void {
    const dropped = Math.min(index, this.known) - this.#from;
    if (dropped <= 0) return;
    this.#values.copyWithin(0, dropped * this.width, (this.known - this.#from) * this.width);
    this.#from += dropped;
  }
}

/**
 * Multi-token prediction: layers of the model, or of a file of their own, that compute a token from the one before it and the main
 * model's hidden state of that one. Their own cache follows that of the main model: the row of a token has the hidden state of the token
 * before. It has the whole sequence; after a gap (a restored chat) it begins there.
 */
export class PredictionLayers extends DraftModel {
  readonly width: number;
  readonly #states: readonly HiddenStates[];
  readonly #zeros: Float32Array;
  /** The row whose own hidden state the next drafted token needs; undefined if the main model's is known. */
  #lastRow: number | undefined;

  constructor(protected override readonly options: PredictionOptions) {
    super(options);
    this.width = options.width;
    this.#states = this.drafts.map(() => new HiddenStates(options.width));
    this.#zeros = new Float32Array(options.width);
  }

  /** The main model has computed `tokens` from one index to another; `state` gives their hidden states. */
  async follow(
    sequence: number,
    tokens: Int32Array,
    from: number,
    end: number,
    state: (index: number) => Float32Array,
  ): Promise<void> {
    const [draft, states] = [this.drafts[sequence], this.#states[sequence]];
    if (!draft || !states || from >= end) return;
    const cached = draft.tokens.subarray(0, Math.max(draft.computed, states.known));
    const common = commonPrefix(cached, tokens.subarray(0, end));
    if (Math.min(common, states.known) < from) this.#restart(draft, tokens, from);
    else this.keep(draft, Math.min(draft.computed, common));
    states.add(from, end - from, state);
    draft.tokens.set(tokens.subarray(from, end), from);
    if (end - draft.computed >= predictions.maxPending) await this.#catchUp(draft, states);
  }

  override propose(sequence: number, tokens: Int32Array, length: number, max: number): Int32Array {
    const [draft, states] = [this.drafts[sequence], this.#states[sequence]];
    if (!draft || !states) return nothing;
    const computed = length - 1;
    // Drafted tokens that were rejected have states, too.
    if (states.known < computed || commonPrefix(draft.tokens.subarray(0, computed), tokens) < computed) return nothing;
    states.known = computed;
    const drafted = super.propose(sequence, tokens, length, max);
    if (draft.computed === 0) states.known = 0;
    // The rows of drafted tokens are computed again with the hidden states of the main model.
    this.keep(draft, Math.min(draft.computed, length));
    states.dropBefore(draft.computed - 1);
    return drafted;
  }

  protected override fill(draft: DraftSequence, tokens: Int32Array, needsLogits: boolean): number {
    const { context } = this.options;
    const states = this.#states[draft.sequence];
    const first = draft.computed;
    // A drafted token follows one that only these layers have computed.
    const own =
      first > (states?.known ?? 0) && this.#lastRow !== undefined ? context.hiddenState(this.#lastRow) : undefined;
    const inputs = Array.from(tokens, (_, index) => states?.at(first + index - 1) ?? own ?? this.#zeros);
    const row = super.fill(draft, tokens, needsLogits);
    for (const [index, input] of inputs.entries()) context.setInput(row - tokens.length + 1 + index, input);
    this.#lastRow = needsLogits ? row : undefined;
    return row;
  }

  async #catchUp(draft: DraftSequence, states: HiddenStates): Promise<void> {
    const { context } = this.options;
    while (draft.computed < states.known) {
      const { computed } = draft;
      const tokens = draft.tokens.slice(computed, Math.min(states.known, computed + context.batchCapacity));
      this.fill(draft, tokens, false);
      const result: DecodeResult = await context.decode();
      if (!this.settle(draft, tokens, result)) {
        states.known = 0;
        return;
      }
    }
    states.dropBefore(draft.computed - 1);
  }

  /** The main model has tokens that it did not compute in this sequence: those of another sequence, or of a snapshot. */
  #restart(draft: DraftSequence, tokens: Int32Array, from: number): void {
    const { context } = this.options;
    const prefix = tokens.subarray(0, from);
    const other = this.drafts.find(
      (one) => one !== draft && commonPrefix(one.tokens.subarray(0, one.computed), prefix) === from,
    );
    this.keep(draft, 0);
    draft.tokens.set(prefix);
    draft.computed = from;
    if (!other || from === 0) return;
    context.copy(other.sequence, draft.sequence);
    if (!context.forget(draft.sequence, from)) this.keep(draft, 0);
  }
}
