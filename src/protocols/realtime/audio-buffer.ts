import { wavHeader } from '../../audio/encode.ts';
import { decodeG711, g711Rate } from '../../audio/g711.ts';
import type { AudioFormat } from './fields.ts';

export const pcmRate = 24_000;

export function rateOf(format: AudioFormat): number {
  return format === 'pcm16' ? pcmRate : g711Rate;
}

/** Samples of sent bytes. `odd` is half a sample that the last bytes ended with. */
export function samplesOf(format: AudioFormat, bytes: Buffer, odd: number | undefined) {
  if (format !== 'pcm16')
    return { samples: decodeG711(format === 'g711_ulaw' ? 'ulaw' : 'alaw', bytes), odd: undefined };
  const whole = odd === undefined ? bytes : Buffer.concat([Buffer.from([odd]), bytes]);
  const samples = new Int16Array(whole.length >> 1);
  for (let index = 0; index < samples.length; index++) samples[index] = whole.readInt16LE(2 * index);
  return { samples, odd: whole.length % 2 === 1 ? whole[whole.length - 1] : undefined };
}

/** The samples of a client that were not committed yet, by their position since the connection began. */
export class AudioBuffer {
  #pieces: Int16Array[] = [];
  #first = 0;
  #end = 0;

  /** Position behind the last sample. */
  get end(): number {
    return this.#end;
  }

  get length(): number {
    return this.#end - this.#first;
  }

  append(samples: Int16Array): void {
    if (samples.length === 0) return;
    this.#pieces.push(samples);
    this.#end += samples.length;
  }

  dropBefore(position: number): void {
    while (this.#pieces.length > 0) {
      const piece = this.#pieces[0] as Int16Array;
      const spare = position - this.#first;
      if (spare <= 0) return;
      if (spare < piece.length) {
        // A copy, so that the dropped part is freed.
        this.#pieces[0] = piece.slice(spare);
        this.#first = position;
        return;
      }
      this.#pieces.shift();
      this.#first += piece.length;
    }
  }

  /** The samples from one position to another, without those that were dropped or have not arrived. */
  slice(from: number, to: number): Int16Array {
    const begin = Math.max(from, this.#first);
    const samples = new Int16Array(Math.max(0, Math.min(to, this.#end) - begin));
    let at = this.#first;
    for (const piece of this.#pieces) {
      const start = Math.max(begin, at);
      const end = Math.min(begin + samples.length, at + piece.length);
      if (start < end) samples.set(piece.subarray(start - at, end - at), start - begin);
      at += piece.length;
    }
    return samples;
  }

  clear(): void {
    this.#pieces = [];
    this.#first = this.#end;
  }
}

/** A WAV file of one channel. */
export function wavOf(samples: Int16Array, rate: number): Buffer {
  const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  return Buffer.concat([wavHeader(rate, data.length), data]);
}
