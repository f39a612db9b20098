import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { Resampler } from './resample.ts';
import type { SoundPiece, SoundPieces } from './sound.ts';
import { unreadable } from './unreadable.ts';

export interface MonoOptions {
  /** Samples a second. */
  readonly rate: number;
  readonly mostSeconds: number;
  readonly signal: AbortSignal;
}

const rates = { least: 1000, most: 768_000 };

/** All channels as one, at one rate. Others are let in between two pieces. */
export async function monoSound(
  pieces: SoundPieces,
  { rate, mostSeconds, signal }: MonoOptions,
): Promise<Float32Array> {
  const parts: Float32Array[] = [];
  let length = 0;
  let resampler: { readonly from: number; readonly at: Resampler } | undefined;
  const add = (part: Float32Array): void => {
    length += part.length;
    if (length > mostSeconds * rate) throw tooLong(mostSeconds);
    parts.push(part);
  };
  for await (const piece of pieces) {
    signal.throwIfAborted();
    if (resampler?.from !== piece.rate) {
      if (resampler) add(resampler.at.end());
      resampler = { from: piece.rate, at: new Resampler(checkedRate(piece.rate), rate) };
    }
    add(resampler.at.push(mixed(piece)));
    await turn();
  }
  if (resampler) add(resampler.at.end());
  const all = new Float32Array(length);
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

function checkedRate(rate: number): number {
  if (Number.isInteger(rate) && rate >= rates.least && rate <= rates.most) return rate;
  throw unreadable(`this one says that it has ${rate} samples a second`);
}

function tooLong(mostSeconds: number): AppError {
  const expected = `a recording of at most ${mostSeconds / 3600} hours; cut it into parts`;
  return new AppError('invalid-field', { field: 'file', expected });
}
