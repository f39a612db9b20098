import { type AudioChunk, unreadable } from './decoder.ts';

/** Zero crossings of the sinc on each side. More make the transition band narrower. */
const crossings = 24;
/** Of the Kaiser window: a stop band of -80 dB. */
const beta = 8;
/** Bounds the size of the filter table. Fewer phases are exact enough for lower rates, where the signal changes more slowly. */
const maxPhases = 2000;
/** Relative to half of the lower rate. Low enough that the whole transition band lies below it: nothing aliases. */
const antiAliasCutoff = 0.9;

/** Converts the sample rate with a windowed sinc; the output does not depend on how the input is cut. */
export class Resampler {
  readonly #from: number;
  readonly #to: number;
  readonly #phases: number;
  /** Taps on each side; 0 if the rate stays. */
  readonly #reach: number;
  readonly #kernels: readonly Float32Array[];
  /** The input from index `#first` on. There is silence before the start and after the end. */
  #buffer: Float32Array;
  #first: number;
  #received = 0;
  #written = 0;

  constructor(from: number, to: number, cutoff = antiAliasCutoff) {
    const divisor = greatestDivisor(from, to);
    this.#from = from / divisor;
    this.#to = to / divisor;
    const narrowing = Math.max(1, from / to);
    this.#phases = Math.min(this.#to, Math.ceil(maxPhases / narrowing));
    this.#reach = from === to ? 0 : Math.ceil(crossings * narrowing);
    this.#kernels = from === to ? [] : kernels(this.#phases, this.#reach, cutoff / narrowing);
    this.#first = -this.#reach;
    this.#buffer = new Float32Array(this.#reach);
  }

  push(samples: Float32Array): Float32Array {
    this.#received += samples.length;
    if (this.#reach === 0) return samples;
    this.#buffer = concat(this.#buffer, samples);
    const last = this.#received - this.#reach - 1;
    return this.#write(Math.floor((last * this.#to) / this.#from) + 1);
  }

  /** Returns the samples that are still in the filter. The whole output is as long as the input, rounded to samples, and never empty. */
  end(): Float32Array {
    if (this.#reach === 0 || this.#received === 0) return new Float32Array(0);
    this.#buffer = concat(this.#buffer, new Float32Array(2 * this.#reach + 2));
    return this.#write(Math.max(1, Math.round((this.#received * this.#to) / this.#from)));
  }

  /** Computes the output up to this index. */
  #write(until: number): Float32Array {
    const end = Math.max(this.#written, until);
    const output = new Float32Array(end - this.#written);
    const taps = 2 * this.#reach + 1;
    for (let index = 0; index < output.length; index++) {
      const ticks = (this.#written + index) * this.#from;
      const whole = Math.floor(ticks / this.#to);
      const phase = Math.round(((ticks - whole * this.#to) * this.#phases) / this.#to);
      const kernel = this.#kernels[phase] as Float32Array;
      const start = whole - this.#reach - this.#first;
      let sum = 0;
      for (let tap = 0; tap < taps; tap++) sum += (kernel[tap] as number) * (this.#buffer[start + tap] as number);
      output[index] = sum;
    }
    this.#written = end;
    const needed = Math.floor((end * this.#from) / this.#to) - this.#reach;
    const spare = Math.max(0, needed - this.#first);
    this.#buffer = this.#buffer.slice(spare);
    this.#first += spare;
    return output;
  }
}

/** One filter for each phase, that is, position of an output between two input samples; the last one is the next sample. */
function kernels(phases: number, reach: number, cutoff: number): readonly Float32Array[] {
  return Array.from({ length: phases + 1 }, (_, phase) => {
    const taps = Float64Array.from({ length: 2 * reach + 1 }, (_unused, tap) => {
      const distance = tap - reach - phase / phases;
      return sinc(distance * cutoff) * kaiser(distance / (reach + 1));
    });
    // Unity gain at 0 Hz for each phase.
    const sum = taps.reduce((total, tap) => total + tap, 0);
    return Float32Array.from(taps, (tap) => tap / sum);
  });
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** Not normalized, because the kernels are. */
function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(beta * Math.sqrt(1 - x * x));
}

/** Modified Bessel function of the first kind, order 0. */
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

/** Each change of the rate computes new filters, which costs as much as seconds of audio. */
const maxRateChanges = 1000;

/** Mixes all channels to one and resamples to one rate. */
export class MonoMixer {
  #input: { readonly rate: number; readonly resampler: Resampler } | undefined;
  #changes = 0;

  constructor(private readonly rate: number) {}

  push(chunk: AudioChunk): Float32Array {
    const { rate } = chunk;
    if (this.#input?.rate === rate) return this.#input.resampler.push(mixDown(chunk));
    const rest = this.end();
    if (++this.#changes > maxRateChanges) throw unreadable('this one changes its sample rate all the time');
    this.#input = { rate, resampler: new Resampler(rate, this.rate) };
    return concat(rest, this.#input.resampler.push(mixDown(chunk)));
  }

  /** Returns the samples that are still in the filter. */
  end(): Float32Array {
    return this.#input?.resampler.end() ?? new Float32Array(0);
  }
}

export function concat(...parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}

function mixDown({ channels }: AudioChunk): Float32Array {
  const [first = new Float32Array(0), ...others] = channels;
  if (others.length === 0) return first;
  return first.map((sample, index) => {
    let sum = sample;
    for (const other of others) sum += other[index] ?? 0;
    return sum / channels.length;
  });
}
