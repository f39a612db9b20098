/** Zero crossings of the sinc on each side: more make the border between what is kept and what goes sharper. */
const crossings = 24;
/** Of the Kaiser window: what lies behind the border is 80 dB down. */
const beta = 8;
/** The border lies so far below half of the lower rate that nothing from behind that half folds back. */
const border = 0.9;
/** Where the rate falls, all that is kept changes more slowly, and fewer are as exact. */
const mostPhases = 2000;

/**
 * From one rate to another with a windowed sinc, piece by piece: the pieces together are exactly what the whole would be.
 * Time is kept: the first sample of the input is the first of the output.
 */
export class Resampler {
  readonly #from: number;
  readonly #to: number;
  readonly #phases: number;
  readonly #reach: number;
  readonly #kernels: readonly Float32Array[];
  /** The input from `#first` on; before the beginning and behind the end there is silence. */
  #kept: Float32Array;
  #first: number;
  #received = 0;
  #written = 0;

  constructor(from: number, to: number) {
    const divisor = greatestDivisor(from, to);
    this.#from = from / divisor;
    this.#to = to / divisor;
    const narrowing = Math.max(1, from / to);
    this.#phases = Math.min(this.#to, Math.ceil(mostPhases / narrowing));
    this.#reach = from === to ? 0 : Math.ceil(crossings * narrowing);
    this.#kernels = from === to ? [] : kernels(this.#phases, this.#reach, border / narrowing);
    this.#first = -this.#reach;
    this.#kept = new Float32Array(this.#reach);
  }

  push(samples: Float32Array): Float32Array {
    this.#received += samples.length;
    if (this.#reach === 0) return samples;
    this.#kept = joined(this.#kept, samples);
    return this.#write(this.#received - this.#reach - 1);
  }

  /** What is still owed. */
  end(): Float32Array {
    if (this.#reach === 0) return new Float32Array(0);
    this.#kept = joined(this.#kept, new Float32Array(2 * this.#reach + 2));
    return this.#write(this.#received - 1);
  }

  /** All outputs whose time is not behind this sample of the input. */
  #write(last: number): Float32Array {
    const end = Math.max(this.#written, Math.floor((last * this.#to) / this.#from) + 1);
    const output = new Float32Array(end - this.#written);
    const taps = 2 * this.#reach + 1;
    for (let index = 0; index < output.length; index++) {
      const ticks = (this.#written + index) * this.#from;
      const whole = Math.floor(ticks / this.#to);
      const phase = Math.round(((ticks - whole * this.#to) * this.#phases) / this.#to);
      const kernel = this.#kernels[phase] as Float32Array;
      const start = whole - this.#reach - this.#first;
      let sum = 0;
      for (let tap = 0; tap < taps; tap++) sum += (kernel[tap] as number) * (this.#kept[start + tap] as number);
      output[index] = sum;
    }
    this.#written = end;
    const needed = Math.floor((end * this.#from) / this.#to) - this.#reach;
    const spare = Math.max(0, needed - this.#first);
    this.#kept = this.#kept.slice(spare);
    this.#first += spare;
    return output;
  }
}

/** One for each place that an output can have between two samples of the input, the next sample included. */
function kernels(phases: number, reach: number, cutoff: number): readonly Float32Array[] {
  return Array.from({ length: phases + 1 }, (_, phase) => {
    const taps = Float64Array.from({ length: 2 * reach + 1 }, (_unused, tap) => {
      const distance = tap - reach - phase / phases;
      return sinc(distance * cutoff) * kaiser(distance / (reach + 1));
    });
    // Each passes a constant as it is, so that phases do not differ in loudness.
    const sum = taps.reduce((total, tap) => total + tap, 0);
    return Float32Array.from(taps, (tap) => tap / sum);
  });
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(beta * Math.sqrt(1 - x * x)) / bessel(beta);
}

/** The modified Bessel function of the first kind, of order 0. */
function bessel(x: number): number {
  let sum = 1;
  let term = 1;
  for (let step = 1; term > sum * 1e-12; step++) {
    term *= (x / (2 * step)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

function joined(before: Float32Array, behind: Float32Array): Float32Array {
  const all = new Float32Array(before.length + behind.length);
  all.set(before);
  all.set(behind, before.length);
  return all;
}
