import type { Candidates } from './candidates.ts';
import type { Random } from './random.ts';

/** Sorts, computes the probabilities and draws by them. Returns the index of the chosen candidate. */
export function draw(candidates: Candidates, random: Random): number {
  candidates.sort();
  candidates.softmax();
  const { probabilities, size } = candidates;
  const aim = random.next();
  let sum = 0;
  let last = 0;
  for (let index = 0; index < size; index += 1) {
    const probability = probabilities[index] as number;
    sum += probability;
    if (sum >= aim) return index;
    if (probability > 0) last = index;
  }
  // Rounding left the sum slightly below 1, and the draw fell in between.
  return last;
}

/** The shape of the preference in Adaptive-P, as in its definition: distance scale, height at the target, and steepness. */
const width = 0.3;
const peak = 5;
const sharpness = 10;

/** Prefers tokens near a target probability, and moves the aim against recent choices to keep their average there. */
export class AdaptiveP {
  readonly #ids: Int32Array;
  readonly #before: Float32Array;
  #sum: number;
  #weight: number;

  constructor(
    private readonly target: number,
    private readonly decay: number,
    capacity: number,
  ) {
    this.#sum = target / (1 - decay);
    this.#weight = 1 / (1 - decay);
    this.#ids = new Int32Array(capacity);
    this.#before = new Float32Array(capacity);
  }

  /** The preferred probability of the next token. */
  get aim(): number {
    return Math.min(1, Math.max(0, 2 * this.target - this.#sum / this.#weight));
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
    const index = this.#ids.indexOf(ids[picked] as number);
    this.#sum = (this.#before[index] as number) + this.decay * this.#sum;
    this.#weight = 1 + this.decay * this.#weight;
    return picked;
  }
}

/** How many of the best candidates Mirostat 1 estimates the slope from, as in its paper. */
const slopeCandidates = 100;

/** Steers the surprise of the text towards `tau`; version 1 estimates the slope of the distribution, version 2 cuts by surprise. */
export class Mirostat {
  /** The maximum surprise of the next token. */
  mu: number;

  constructor(
    private readonly version: 1 | 2,
    private readonly tau: number,
    private readonly eta: number,
    private readonly vocabularySize: number,
  ) {
    this.mu = 2 * tau;
  }

  /** Returns the index of the chosen candidate. */
  pick(candidates: Candidates, random: Random): number {
    candidates.sort();
    candidates.size =
      this.version === 1 ? slopeCut(candidates, this.mu, this.vocabularySize) : surpriseCut(candidates, this.mu);
    const picked = draw(candidates, random);
    const surprise = -Math.log2(candidates.probabilities[picked] as number);
    this.mu -= this.eta * (surprise - this.tau);
    return picked;
  }
}

/** How many sorted candidates to keep so that, if the rest followed Zipf's law, the surprise would come out as `mu`. */
function slopeCut({ logits, size }: Candidates, mu: number, vocabularySize: number): number {
  let products = 0;
  let squares = 0;
  for (let index = 0; index < Math.min(slopeCandidates, size) - 1; index += 1) {
    // The logarithm of the ratio of two probabilities is the distance of their logits.
    const fall = (logits[index] as number) - (logits[index + 1] as number);
    if (!Number.isFinite(fall)) break;
    const step = Math.log((index + 2) / (index + 1));
    products += step * fall;
    squares += step * step;
  }
  if (squares === 0) return Math.min(size, 1);
  const slope = products / squares;
  const excess = slope - 1;
  // At a slope of exactly 1 the fraction is 0/0; this is its limit.
  const range = Math.abs(excess) < 1e-9 ? 1 / Math.log(vocabularySize) : excess / (1 - vocabularySize ** -excess);
  const count = (range * 2 ** mu) ** (1 / slope);
  return Number.isNaN(count) ? size : Math.max(1, Math.min(size, Math.floor(count)));
}

function surpriseCut(candidates: Candidates, mu: number): number {
  candidates.softmax();
  const { probabilities, size } = candidates;
  let kept = 0;
  while (kept < size && -Math.log2(probabilities[kept] as number) <= mu) kept += 1;
  return Math.max(1, kept);
}
