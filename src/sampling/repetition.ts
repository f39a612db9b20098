import type { Candidates } from './candidates.ts';

export interface RepetitionSettings {
  readonly penalty: number;
  readonly slope: number;
  readonly range: number;
  readonly presence: number;
}

const unseen = 0;
const near = 1;
const far = 2;

/**
 * Makes tokens of the last `range` less likely: those of the newer half by the whole penalty, those seen only in the
 * older half by as much of it as the slope says. The halves are those of the full range, so a short history is all near.
 */
export class Repetition {
  readonly #nearRange: number;
  readonly #nearFactor: number;
  readonly #farFactor: number;
  readonly #presence: number;
  /** Where each token of the vocabulary was last seen; all `unseen` between calls. */
  readonly #seen: Uint8Array;
  readonly active: boolean;
  /** No logit can rise: what greedy sampling needs to know to skip the candidates. */
  readonly onlyLowers: boolean;
  readonly range: number;

  constructor(settings: RepetitionSettings, contextSize: number, vocabularySize: number) {
    const { presence } = settings;
    // A penalty of 0 or less would divide by zero or turn the order around.
    const penalty = settings.penalty > 0 ? settings.penalty : 1;
    const slope = settings.slope > 0 && settings.slope <= 1 ? settings.slope : 1;
    this.range = Math.max(1, Math.min(settings.range, contextSize));
    this.#nearRange = this.range - Math.floor(this.range / 2);
    this.#nearFactor = penalty;
    this.#farFactor = penalty > 1 ? 1 + (penalty - 1) * slope : penalty;
    this.#presence = presence;
    this.active = penalty !== 1 || presence !== 0;
    this.onlyLowers = penalty >= 1 && presence >= 0;
    this.#seen = new Uint8Array(this.active ? vocabularySize : 0);
  }

  /** Acts on the candidates; `history` counts up to `length`. */
  penaliseCandidates(candidates: Candidates, history: Int32Array, length: number): void {
    if (!this.active) return;
    const { ids, logits, size } = candidates;
    const seen = this.#seen;
    const start = Math.max(0, length - this.range);
    const nearStart = Math.max(0, length - this.#nearRange);
    for (let index = start; index < length; index += 1) seen[history[index] as number] = index < nearStart ? far : near;
    for (let index = 0; index < size; index += 1) {
      const where = seen[ids[index] as number] as number;
      if (where !== unseen) logits[index] = this.#lowered(logits[index] as number, where);
    }
    for (let index = start; index < length; index += 1) seen[history[index] as number] = unseen;
    candidates.reordered();
  }

  /** The same on the logits of the whole vocabulary, which costs only as much as the range is long. */
  penaliseLogits(vocabulary: Float32Array, history: Int32Array, length: number): void {
    if (!this.active) return;
    const seen = this.#seen;
    const start = Math.max(0, length - this.range);
    const nearStart = Math.max(0, length - this.#nearRange);
    for (let index = length - 1; index >= start; index -= 1) {
      const token = history[index] as number;
      if (seen[token] !== unseen) continue;
      const where = index < nearStart ? far : near;
      seen[token] = where;
      vocabulary[token] = this.#lowered(vocabulary[token] as number, where);
    }
    for (let index = start; index < length; index += 1) seen[history[index] as number] = unseen;
  }

  #lowered(logit: number, where: number): number {
    const factor = where === near ? this.#nearFactor : this.#farFactor;
    return (logit <= 0 ? logit * factor : logit / factor) - this.#presence;
  }
}
