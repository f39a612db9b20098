import type { SoundEncoder } from './encode.ts';
import { ResampledStream } from './encode-rate.ts';

/** Kilobits per second. Speech gains nothing from more. */
const bitrates = { mp3: 64, opus: 32 } as const;

/** Those that MP3 knows; sound at another one is brought to the next higher. */
const mp3Rates = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];

export async function mp3Encoder(rate: number): Promise<SoundEncoder> {
  const { default: open } = await import('@audio/encode-mp3');
  const sampleRate = mp3Rates.find((one) => one >= rate) ?? 48_000;
  return resampling(rate, sampleRate, await open({ sampleRate, bitrate: bitrates.mp3, channels: 1 }));
}

export async function flacEncoder(rate: number): Promise<SoundEncoder> {
  const { default: open } = await import('@audio/encode-flac');
  const encoder = resampling(rate, rate, await open({ sampleRate: rate, channels: 1 }));
  // A file without any sound would have no head either.
  const head = encoder.encode(new Float32Array(0));
  return before(head, encoder);
}

const opusRate = 48_000;
/** What players leave out at the beginning because the head of the file says so, and how much of it the codec itself needs. */
const opusSkip = 3840;
const opusDelay = 312;

export async function opusEncoder(rate: number): Promise<SoundEncoder> {
  const { default: open } = await import('@audio/encode-opus');
  const encoder = await open({
    sampleRate: opusRate,
    channels: 1,
    bitrate: bitrates.opus,
    application: 'voip',
  });
  const head = encoder.encode([new Float32Array(opusSkip - opusDelay)]);
  const sound = resampling(rate, opusRate, encoder);
  return before(head, {
    ...sound,
    finish: () => {
      const rest = sound.rest();
      return Buffer.concat([rest, encoder.encode([new Float32Array(opusDelay)]), encoder.flush()]);
    },
  });
}

interface Packed {
  encode(channels: Float32Array[]): Uint8Array;
  flush(): Uint8Array;
  free(): void;
}

function resampling(from: number, to: number, encoder: Packed): SoundEncoder & { rest(): Uint8Array } {
  const resampled = new ResampledStream(from, to);
  let open = true;
  const rest = (): Uint8Array => {
    const samples = resampled.rest();
    return samples.length > 0 ? inPortions(encoder, samples) : new Uint8Array(0);
  };
  return {
    encode: (samples) => inPortions(encoder, resampled.take(samples)),
    rest,
    finish: () => Buffer.concat([rest(), encoder.flush()]),
    close: () => {
      if (open) encoder.free();
      open = false;
    },
  };
}

/** The one for Opus copies all that it was given and has not packed yet, for each of its frames. */
const portion = 9600;

function inPortions(encoder: Packed, samples: Float32Array): Uint8Array {
  if (samples.length <= portion) return encoder.encode([samples]);
  const count = Math.ceil(samples.length / portion);
  const begin = (index: number): number => index * portion;
  return Buffer.concat(
    Array.from({ length: count }, (_, index) => encoder.encode([samples.subarray(begin(index), begin(index + 1))])),
  );
}

/** An encoder that already has something to say. */
function before(head: Uint8Array, encoder: SoundEncoder): SoundEncoder {
  let told = false;
  const first = (bytes: Uint8Array): Uint8Array => {
    if (told) return bytes;
    told = true;
    return Buffer.concat([head, bytes]);
  };
  return {
    encode: (samples) => first(encoder.encode(samples)),
    finish: () => first(encoder.finish()),
    close: () => encoder.close(),
  };
}
