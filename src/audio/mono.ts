import { Resampler } from './resample.ts';
import type { SoundPiece, SoundPieces } from './sound.ts';
import { unreadable } from './unreadable.ts';

/** Files may stand one behind the other at different rates, but to begin with another one costs as much as seconds of sound. */
const mostRateChanges = 1000;

/** All channels as one, at one rate. */
export class MonoMixer {
  #resampler: { readonly from: number; readonly at: Resampler } | undefined;
  #changes = 0;

  constructor(private readonly rate: number) {}

  push(piece: SoundPiece): Float32Array {
    if (this.#resampler?.from === piece.rate) return this.#resampler.at.push(mixed(piece));
    const rest = this.end();
    if (++this.#changes > mostRateChanges) throw unreadable('this one changes its sample rate all the time');
    const at = new Resampler(piece.rate, this.rate);
    this.#resampler = { from: piece.rate, at };
    const begun = at.push(mixed(piece));
    return rest.length > 0 ? joined(rest, begun) : begun;
  }

  /** What is still owed. */
  end(): Float32Array {
    return this.#resampler?.at.end() ?? new Float32Array(0);
  }
}

/** A short sound as a whole. */
export async function monoSound(pieces: SoundPieces, rate: number): Promise<Float32Array> {
  const mixer = new MonoMixer(rate);
  const parts: Float32Array[] = [];
  for await (const piece of pieces) parts.push(mixer.push(piece));
  return joined(...parts, mixer.end());
}

export function joined(...parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let place = 0;
  for (const part of parts) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}

function mixed({ channels }: SoundPiece): Float32Array {
  const [first = new Float32Array(0), ...others] = channels;
  if (others.length === 0) return first;
  return first.map((sample, index) => {
    let sum = sample;
    for (const other of others) sum += other[index] ?? 0;
    return sum / channels.length;
  });
}
