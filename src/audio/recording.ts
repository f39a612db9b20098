import { decodeAudio } from './decode.ts';
import type { DecodeOptions } from './decoder.ts';
import { concat, MonoMixer } from './resample.ts';

export interface RecordingOptions extends DecodeOptions {
  /** Sample rate of the output in Hz. */
  readonly rate: number;
  /** Samples of shorter recordings are buffered; longer recordings are decoded a second time. */
  readonly bufferSeconds: number;
}

/** A recording that was decoded completely once: it is valid, and its duration is known. */
export interface Recording {
  readonly seconds: number;
  /** All samples from the start, mono at the requested rate. */
  samples(): AsyncIterable<Float32Array>;
}

/** Rejects if any part cannot be decoded, so that no partial transcript is sent before the error. */
export async function openRecording(bytes: Uint8Array, options: RecordingOptions): Promise<Recording> {
  const { rate, bufferSeconds } = options;
  const mixer = new MonoMixer(rate);
  let buffered: Float32Array[] | undefined = [];
  let seconds = 0;
  for await (const chunk of decodeAudio(bytes, options)) {
    seconds += (chunk.channels[0]?.length ?? 0) / chunk.rate;
    if (seconds > bufferSeconds) buffered = undefined;
    buffered?.push(mixer.push(chunk));
  }
  if (!buffered) return { seconds, samples: () => decodeAgain(bytes, options) };
  const all = concat(...buffered, mixer.end());
  return {
    seconds: all.length / rate,
    async *samples() {
      yield all;
    },
  };
}

async function* decodeAgain(bytes: Uint8Array, options: RecordingOptions): AsyncGenerator<Float32Array> {
  const mixer = new MonoMixer(options.rate);
  for await (const chunk of decodeAudio(bytes, options)) yield mixer.push(chunk);
  yield mixer.end();
}
