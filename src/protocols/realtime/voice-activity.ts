import type { TurnDetection } from './fields.ts';

/** Voice activity by energy over an adaptive noise floor: light enough for the server process, at any sample rate. */

/** `threshold` from 0 to 1: how far above the noise speech must be. `silenceMs`: how long a pause ends the speech. `rate` in Hz. */
type VoiceActivityOptions = Pick<TurnDetection, 'threshold' | 'silenceMs'> & { readonly rate: number };

export interface VoiceChange {
  /** `paused`: the speech may have ended, and can be transcribed already. `resumed`: it goes on. */
  readonly type: 'started' | 'paused' | 'resumed' | 'stopped';
  /** The first sample of the speech, or the last one so far, counted from the first pushed one. */
  readonly sample: number;
}

const frameMs = 20;
/** Of the last `startWindow` frames this many must be voiced: a click is shorter. */
const startWindow = 7;
const startFrames = 5;
/** Voiced frames in a row that end a pause. */
const resumeFrames = 2;
/** A voice that goes on may be this much softer than one that begins, in dB. */
const hysteresis = 3;
/** Pauses between words are mostly shorter. */
const likelyEndMs = 200;
/** The floor is the minimum of this many blocks: about two seconds, longer than words without a gap. */
const floorBlocks = 8;
const framesPerBlock = 12;
/** Levels in dB of full scale. */
const silence = -75;
const maxFloor = -28;
/** Below it lie hum and the rumble of a table. */
const highPassHz = 100;

export class VoiceActivity {
  readonly #frame: number;
  readonly #feedback: number;
  readonly #margin: number;
  readonly #softest: number;
  readonly #silentFrames: number;
  readonly #pausedFrames: number;
  #last = 0;
  #filtered = 0;
  #sum = 0;
  #inFrame = 0;
  /** Complete frames so far. */
  #frames = 0;
  #minima: number[] = [];
  #blockMinimum = 0;
  #inBlock = 0;
  /** The last frames, newest in the lowest bit. */
  #recent = 0;
  #speaking = false;
  #voicedRun = 0;
  #pause = 0;

  constructor({ rate, threshold, silenceMs }: VoiceActivityOptions) {
    this.#frame = Math.round((rate * frameMs) / 1000);
    this.#feedback = 1 / (1 + (2 * Math.PI * highPassHz) / rate);
    this.#margin = 4 + 14 * threshold;
    this.#softest = -62 + 28 * threshold;
    this.#silentFrames = Math.max(1, Math.round(silenceMs / frameMs));
    this.#pausedFrames = Math.round(likelyEndMs / frameMs);
  }

  push(samples: Int16Array): readonly VoiceChange[] {
    const changes: VoiceChange[] = [];
    for (let index = 0; index < samples.length; index++) {
      const sample = (samples[index] as number) / 32_768;
      this.#filtered = this.#feedback * (this.#filtered + sample - this.#last);
      this.#last = sample;
      this.#sum += this.#filtered * this.#filtered;
      if (++this.#inFrame < this.#frame) continue;
      const level = Math.max(silence, 10 * Math.log10(this.#sum / this.#frame + 1e-12));
      this.#sum = 0;
      this.#inFrame = 0;
      this.#frames += 1;
      const change = this.#decide(level);
      if (change) changes.push(change);
    }
    return changes;
  }

  /** Drops speech in progress without an event. The noise floor stays. */
  reset(): void {
    this.#speaking = false;
    this.#recent = 0;
    this.#voicedRun = 0;
    this.#pause = 0;
  }

  #decide(level: number): VoiceChange | undefined {
    const floor = this.#floor(level);
    const minLevel = Math.max(floor + this.#margin, this.#softest) - (this.#speaking ? hysteresis : 0);
    const voiced = level > minLevel;
    return this.#speaking ? this.#goesOn(voiced) : this.#begins(voiced);
  }

  #begins(voiced: boolean): VoiceChange | undefined {
    this.#recent = ((this.#recent << 1) | (voiced ? 1 : 0)) & ((1 << startWindow) - 1);
    if (!voiced || bitCount(this.#recent) < startFrames) return undefined;
    const length = 32 - Math.clz32(this.#recent);
    this.#speaking = true;
    this.#voicedRun = 0;
    this.#pause = 0;
    return { type: 'started', sample: Math.max(0, this.#frames - length) * this.#frame };
  }

  #goesOn(voiced: boolean): VoiceChange | undefined {
    this.#voicedRun = voiced ? this.#voicedRun + 1 : 0;
    const sample = this.#frames * this.#frame;
    if (this.#voicedRun >= resumeFrames) {
      const paused = this.#pause >= this.#pausedFrames;
      this.#pause = 0;
      return paused ? { type: 'resumed', sample } : undefined;
    }
    this.#pause += 1;
    if (this.#pause < this.#silentFrames) {
      return this.#pause === this.#pausedFrames ? { type: 'paused', sample } : undefined;
    }
    this.reset();
    return { type: 'stopped', sample };
  }

  /** The minimum of the last two seconds: between words every voice falls to the noise behind it. */
  #floor(level: number): number {
    this.#blockMinimum = this.#inBlock === 0 ? level : Math.min(this.#blockMinimum, level);
    if (++this.#inBlock === framesPerBlock) {
      this.#minima = [...this.#minima.slice(1 - floorBlocks), this.#blockMinimum];
      this.#inBlock = 0;
    }
    return Math.min(maxFloor, this.#blockMinimum, ...this.#minima);
  }
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
