import type { Candidates } from './candidates.ts';
import { draw } from './draw.ts';
import type { Random } from './random.ts';

const width = 0.3;
const peak = 5;
const sharpness = 10;

/**
 * Likes tokens whose probability is near a target, and moves the target against what was chosen lately, so that the
 * average keeps to the one asked for.
 */
export class AdaptiveP {
  readonly #target: number;
  readonly #decay: number;
  readonly #ids: Int32Array;
  readonly #before: Float32Array;
  #sum: number;
  #weight: number;

  constructor(target: number, decay: number, capacity: number) {
    this.#target = target;
    this.#decay = decay;
    this.#sum = target / (1 - decay);
    this.#weight = 1 / (1 - decay);
    this.#ids = new Int32Array(capacity);
    this.#before = new Float32Array(capacity);
  }

  /** The probability that the next token would best have. */
  get aim(): number {
    return Math.min(1, Math.max(0, 2 * this.#target - this.#sum / this.#weight));
  }

  /** Returns the index of the chosen candidate. */
  pick(candidates: Candidates, random: Random): number {
    candidates.softmax();
    const { ids, logits, probabilities, size } = candidates;
    const { aim } = this;
    for (let index = 0; index < size; index += 1) {
      const probability = probabilities[index] as number;
      const distance = Math.abs(probability - aim) / width;
      this.#ids[index] = ids[index] as number;
      this.#before[index] = probability;
      logits[index] = peak - (sharpness * distance * distance) / (1 + distance);
    }
    candidates.reordered();
    const picked = draw(candidates, random);
    const place = this.#ids.indexOf(ids[picked] as number);
    this.#sum = (this.#before[place] as number) + this.#decay * this.#sum;
    this.#weight = 1 + this.#decay * this.#weight;
    return picked;
  }
}
