import type { Sampling } from '../core/sampling-fields.ts';
import type { Candidates } from './candidates.ts';

/** The presence penalty is subtracted once from each seen token, the frequency penalty once per occurrence. */
type RepetitionSettings = Pick<
  Sampling,
  'repetitionPenalty' | 'repetitionSlope' | 'repetitionRange' | 'presencePenalty' | 'frequencyPenalty'
>;

const unseen = 0;
const near = 1;
const far = 2;

/**
 * Lowers the tokens of the last `range`: by the whole penalty if seen in the newer half, by the slope's share of it if seen only
 * in the older half. The halves are those of the full range, so a short history is all near.
 */
export class Repetition {
  readonly #nearRange: number;
  readonly #nearFactor: number;
  readonly #farFactor: number;
  readonly #presence: number;
  readonly #frequency: number;
  /** Where each token of the vocabulary was last seen; all `unseen` between calls. */
  readonly #seen: Uint8Array;
  /** Occurrences of each token, if there is a frequency penalty; all 0 between calls. */
  readonly #counts: Int32Array;
  readonly active: boolean;
  /** No logit can rise, so greedy sampling can skip the candidates. */
  readonly onlyLowers: boolean;
  readonly range: number;

  constructor(settings: RepetitionSettings, contextSize: number, vocabularySize: number) {
    const { presencePenalty: presence, frequencyPenalty: frequency, repetitionSlope } = settings;
    // A penalty of 0 or less would divide by zero or reverse the order.
    const penalty = settings.repetitionPenalty > 0 ? settings.repetitionPenalty : 1;
    const slope = repetitionSlope > 0 && repetitionSlope <= 1 ? repetitionSlope : 1;
    this.range = Math.max(1, Math.min(settings.repetitionRange, contextSize));
    this.#nearRange = this.range - Math.floor(this.range / 2);
    this.#nearFactor = penalty;
    this.#farFactor = penalty > 1 ? 1 + (penalty - 1) * slope : penalty;
    this.#presence = presence;
    this.#frequency = frequency;
    this.active = penalty !== 1 || presence !== 0 || frequency !== 0;
    this.onlyLowers = penalty >= 1 && presence >= 0 && frequency >= 0;
    this.#seen = new Uint8Array(this.active ? vocabularySize : 0);
    this.#counts = new Int32Array(frequency !== 0 ? vocabularySize : 0);
  }

  /** Acts on the candidates; `history` counts up to `length`. */
  penaliseCandidates(candidates: Candidates, history: Int32Array, length: number): void {
    if (!this.active) return;
    const { ids, logits, size } = candidates;
    const seen = this.#seen;
    const start = Math.max(0, length - this.range);
    const nearStart = Math.max(0, length - this.#nearRange);
    for (let index = start; index < length; index += 1) seen[history[index] as number] = index < nearStart ? far : near;
    this.#count(history, start, length);
    for (let index = 0; index < size; index += 1) {
      const token = ids[index] as number;
      const where = seen[token] as number;
      if (where !== unseen) logits[index] = this.#lowered(logits[index] as number, where, token);
    }
    this.#forget(history, start, length);
    candidates.reordered();
  }

  /** The same on the logits of the whole vocabulary, which costs only as much as the range is long. */
  penaliseLogits(vocabulary: Float32Array, history: Int32Array, length: number): void {
    if (!this.active) return;
    const seen = this.#seen;
    const start = Math.max(0, length - this.range);
    const nearStart = Math.max(0, length - this.#nearRange);
    this.#count(history, start, length);
    for (let index = length - 1; index >= start; index -= 1) {
      const token = history[index] as number;
      if (seen[token] !== unseen) continue;
      const where = index < nearStart ? far : near;
      seen[token] = where;
      vocabulary[token] = this.#lowered(vocabulary[token] as number, where, token);
    }
    this.#forget(history, start, length);
  }

  /** Tokens outside of the vocabulary are read as nothing and written nowhere, as typed arrays do. */
  #count(history: Int32Array, start: number, length: number): void {
    if (this.#frequency === 0) return;
    const counts = this.#counts;
    for (let index = start; index < length; index += 1) {
      const token = history[index] as number;
      counts[token] = (counts[token] as number) + 1;
    }
  }

  #forget(history: Int32Array, start: number, length: number): void {
    const seen = this.#seen;
    for (let index = start; index < length; index += 1) seen[history[index] as number] = unseen;
    if (this.#frequency === 0) return;
    const counts = this.#counts;
    for (let index = start; index < length; index += 1) counts[history[index] as number] = 0;
  }

  #lowered(logit: number, where: number, token: number): number {
    const factor = where === near ? this.#nearFactor : this.#farFactor;
    const lowered = (logit <= 0 ? logit * factor : logit / factor) - this.#presence;
    return this.#frequency === 0 ? lowered : lowered - this.#frequency * (this.#counts[token] as number);
  }
}
