import { setImmediate } from 'node:timers/promises';
import type { SongFormat } from '../core/music.ts';
import { slicesOf } from './decoder.ts';
import { int16Bytes, wavHeader } from './encode.ts';
import { Resampler } from './resample.ts';

export interface SongOptions {
  /** Of the samples, in Hz. */
  readonly rate: number;
  /** Otherwise both channels are mixed, and resampled to `monoRate`. */
  readonly stereo: boolean;
  readonly format: SongFormat;
}

const monoRate = 32_000;
/** Kilobits per second. */
const bitrates = { mono: 128, stereo: 192 } as const;

/** Encodes a song (16 bits, left and right interleaved) to a file, in pieces of about a second. */
export async function* encodeSong(samples: Int16Array, options: SongOptions): AsyncGenerator<Uint8Array> {
  const { rate, stereo, format } = options;
  const parts = stereo ? stereoParts(samples, rate) : monoParts(samples, rate);
  const [sampleRate, channels] = stereo ? [rate, 2] : [monoRate, 1];
  if (format === 'mp3') {
    yield* encodeMp3(parts, { sampleRate, channels, bitrate: stereo ? bitrates.stereo : bitrates.mono });
    return;
  }
  const chunks = stereo
    ? [new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)]
    : Array.from(parts, ([mono = nothing]) => int16Bytes(mono));
  const bytes = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  yield wavHeader(sampleRate, bytes, channels);
  for (const chunk of chunks) yield* slicesOf(chunk, pieceBytes);
}

const nothing = new Float32Array(0);
const pieceBytes = 2 ** 18;

async function* encodeMp3(
  parts: Iterable<Float32Array[]>,
  options: { readonly sampleRate: number; readonly channels: number; readonly bitrate: number },
): AsyncGenerator<Uint8Array> {
  const { default: open } = await import('@audio/encode-mp3');
  const codec = await open(options);
  try {
    for (const part of parts) {
      yield codec.encode(part);
      // Encoding is synchronous: messages are handled in between.
      await setImmediate();
    }
    yield codec.flush();
  } finally {
    codec.free();
  }
}

/** Left and right, a second at a time. */
function* stereoParts(samples: Int16Array, rate: number): Generator<[left: Float32Array, right: Float32Array]> {
  for (let start = 0; start < samples.length; start += 2 * rate) {
    const part = samples.subarray(start, start + 2 * rate);
    const [left, right] = [new Float32Array(part.length / 2), new Float32Array(part.length / 2)];
    for (let index = 0; index < left.length; index += 1) {
      left[index] = (part[2 * index] ?? 0) / 32_768;
      right[index] = (part[2 * index + 1] ?? 0) / 32_768;
    }
    yield [left, right];
  }
}

function* monoParts(samples: Int16Array, rate: number): Generator<Float32Array[]> {
  const resampler = new Resampler(rate, monoRate);
  for (const [left, right] of stereoParts(samples, rate)) {
    yield [resampler.push(left.map((value, index) => (value + (right[index] ?? 0)) / 2))];
  }
  yield [resampler.end()];
}
