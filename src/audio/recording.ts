import { type DecodeTools, decodedSound } from './decode.ts';
import { joined, MonoMixer } from './mono.ts';

export interface RecordingOptions extends DecodeTools {
  /** Samples a second of what comes out. */
  readonly rate: number;
  /** Sound up to this length is held in memory; what is longer is decoded a second time. */
  readonly heldSeconds: number;
}

/** A recording that was decoded to its end once: it can be read, and its length is known. */
export interface Recording {
  readonly seconds: number;
  /** All of it from the beginning: one channel at the rate that was asked for, in pieces. */
  samples(): AsyncIterable<Float32Array>;
}

/** Rejects where any of it cannot be read, so that nobody is told half of a text first. */
export async function openRecording(bytes: Uint8Array, options: RecordingOptions): Promise<Recording> {
  const { rate, heldSeconds } = options;
  const mixer = new MonoMixer(rate);
  let held: Float32Array[] | undefined = [];
  let seconds = 0;
  for await (const piece of decodedSound(bytes, options)) {
    seconds += (piece.channels[0]?.length ?? 0) / piece.rate;
    if (seconds > heldSeconds) held = undefined;
    held?.push(mixer.push(piece));
  }
  if (!held) return { seconds, samples: () => decodedAgain(bytes, options) };
  const all = joined(...held, mixer.end());
  return {
    seconds: all.length / rate,
    async *samples() {
      yield all;
    },
  };
}

async function* decodedAgain(bytes: Uint8Array, options: RecordingOptions): AsyncGenerator<Float32Array> {
  const mixer = new MonoMixer(options.rate);
  for await (const piece of decodedSound(bytes, options)) yield mixer.push(piece);
  yield mixer.end();
}
