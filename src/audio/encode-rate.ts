/** Zero crossings of the sinc on each side: more than ears can tell from a perfect filter. */
const reach = 16;

/**
 * Sound at another rate, piece by piece: whatever the pieces are, together they give the same samples. A windowed sinc,
 * narrowed where the new rate is lower, so that nothing folds back into what can be heard.
 */
export class ResampledStream {
  /** As small numbers: after `#ahead` samples of the old rate and `#phases` of the new one everything repeats. */
  readonly #ahead: number;
  readonly #phases: number;
  readonly #half: number;
  readonly #weights: readonly Float64Array[];
  /** What was given and may still be needed, and how much was given before it. */
  #held = new Float32Array(0);
  #before = 0;
  #given = 0;
  #made = 0;

  constructor(from: number, to: number) {
    const common = greatestCommonDivisor(from, to);
    this.#ahead = from / common;
    this.#phases = to / common;
    const narrowing = Math.min(1, to / from);
    this.#half = Math.ceil(reach / narrowing);
    this.#weights = Array.from({ length: this.#phases }, (_, phase) =>
      weightsAt(phase / this.#phases, this.#half, narrowing),
    );
  }

  take(samples: Float32Array): Float32Array {
    if (this.#unchanged) return samples;
    const joined = new Float32Array(this.#held.length + samples.length);
    joined.set(this.#held);
    joined.set(samples, this.#held.length);
    this.#held = joined;
    this.#given += samples.length;
    // Only those whose whole neighbourhood has come.
    return this.#until(Math.floor(((this.#given - this.#half - 1) * this.#phases) / this.#ahead));
  }

  rest(): Float32Array {
    return this.#unchanged ? new Float32Array(0) : this.#until(Math.round((this.#given * this.#phases) / this.#ahead));
  }

  get #unchanged(): boolean {
    return this.#ahead === this.#phases;
  }

  /** So many in all, without those that are made already. */
  #until(count: number): Float32Array {
    const made = new Float32Array(Math.max(0, count - this.#made));
    for (let index = 0; index < made.length; index++) made[index] = this.#at(this.#made + index);
    this.#made += made.length;
    this.#forget(this.#centre(this.#made) - this.#half + 1);
    return made;
  }

  #at(number: number): number {
    const weights = this.#weights[(number * this.#ahead) % this.#phases] as Float64Array;
    const first = this.#centre(number) - this.#half + 1 - this.#before;
    let sum = 0;
    // What lies outside of the sound is silence.
    const begin = Math.max(0, -first);
    const end = Math.min(weights.length, this.#held.length - first);
    for (let index = begin; index < end; index++) {
      sum += (this.#held[first + index] as number) * (weights[index] as number);
    }
    return sum;
  }

  #centre(number: number): number {
    return Math.floor((number * this.#ahead) / this.#phases);
  }

  #forget(below: number): void {
    const gone = Math.min(this.#held.length, below - this.#before);
    if (gone <= 0) return;
    this.#held = this.#held.slice(gone);
    this.#before += gone;
  }
}

/** For a place so far behind a sample: those of the samples from `half - 1` before that one to `half` after it. */
function weightsAt(fraction: number, half: number, narrowing: number): Float64Array {
  return Float64Array.from({ length: 2 * half }, (_, index) => {
    const distance = fraction - (index - half + 1);
    const window = Math.abs(distance) >= half ? 0 : 0.5 + 0.5 * Math.cos((Math.PI * distance) / half);
    const x = Math.PI * distance * narrowing;
    return narrowing * window * (x === 0 ? 1 : Math.sin(x) / x);
  });
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
