import type { SpeechFormat } from '../core/speech.ts';
import { Resampler } from './resample.ts';

/** Encodes mono samples to an audio file incrementally. Samples beyond -1 and 1 are clipped. */
export interface AudioEncoder {
  /** Returns the bytes that are complete with these samples; may be empty. */
  encode(samples: Float32Array): Uint8Array;
  /** Returns the rest of the file. Called once. */
  finish(): Uint8Array;
  /** Frees the codec, also before the end. May be called again. */
  close(): void;
}

export interface EncodeOptions {
  /** Sample rate of the input in Hz. */
  readonly rate: number;
  /** The header is sent before the length is known. */
  readonly streamed: boolean;
}

export async function openEncoder(format: SpeechFormat, options: EncodeOptions): Promise<AudioEncoder> {
  switch (format) {
    case 'wav':
      return wavEncoder(options);
    case 'pcm':
      return pcmEncoder(options.rate);
    case 'mp3':
      return mp3Encoder(options.rate);
    case 'opus':
      return opusEncoder(options.rate);
    case 'flac':
      return flacEncoder(options.rate);
  }
}

const nothing = new Uint8Array(0);
const wavHeaderBytes = 44;
const bytesPerSample = 2;
/** Players read a WAV file with this length to its end. */
const unknownLength = 0xffffffff;
/** Raw PCM has no header; clients expect this rate. */
const pcmRate = 24_000;

/** Sends the header at once if streamed; otherwise returns the whole file at the end, when its length is known. */
function wavEncoder({ rate, streamed }: EncodeOptions): AudioEncoder {
  const chunks: Uint8Array[] = [];
  let header = streamed ? wavHeader(rate, unknownLength) : nothing;
  const withHeader = (bytes: Uint8Array): Uint8Array => {
    const all = Buffer.concat([header, bytes]);
    header = nothing;
    return all;
  };
  return {
    encode: (samples) => {
      const bytes = int16Bytes(samples);
      if (streamed) return withHeader(bytes);
      chunks.push(bytes);
      return nothing;
    },
    finish: () => {
      if (streamed) return withHeader(nothing);
      const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      return Buffer.concat([wavHeader(rate, length), ...chunks]);
    },
    close: () => {
      chunks.length = 0;
    },
  };
}

/** Raw samples: 16-bit, little-endian. */
function pcmEncoder(rate: number): AudioEncoder {
  const resampler = new Resampler(rate, pcmRate, playbackCutoff);
  return {
    encode: (samples) => int16Bytes(resampler.push(samples)),
    finish: () => int16Bytes(resampler.end()),
    close: () => {},
  };
}

export function wavHeader(rate: number, dataBytes: number, channels = 1): Uint8Array {
  const frameBytes = channels * bytesPerSample;
  const header = Buffer.alloc(wavHeaderBytes);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(dataBytes === unknownLength ? unknownLength : dataBytes + wavHeaderBytes - 8, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(8 * bytesPerSample, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

export function int16Bytes(samples: Float32Array): Uint8Array {
  const bytes = new Uint8Array(samples.length * bytesPerSample);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < samples.length; index++) {
    const sample = Math.max(-1, Math.min(1, samples[index] || 0));
    view.setInt16(index * bytesPerSample, Math.round(sample * 32_767), true);
  }
  return bytes;
}

/** Kilobits per second; more does not improve speech. */
const bitrates = { mp3: 64, opus: 32 } as const;

/** Sample rates of MP3. Other input is resampled to the next higher one. */
const mp3Rates = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];

async function mp3Encoder(rate: number): Promise<AudioEncoder> {
  const { default: open } = await import('@audio/encode-mp3');
  const sampleRate = mp3Rates.find((one) => one >= rate) ?? 48_000;
  return codecEncoder(await open({ sampleRate, bitrate: bitrates.mp3, channels: 1 }), rate, sampleRate);
}

async function flacEncoder(rate: number): Promise<AudioEncoder> {
  const { default: open } = await import('@audio/encode-flac');
  const codec = await open({ sampleRate: rate, channels: 1 });
  // Without this call, a file without samples would have no header.
  const header = codec.encode([noSamples]);
  return codecEncoder(codec, rate, rate, { header });
}

const noSamples = new Float32Array(0);

const opusRate = 48_000;
/** Samples that players skip at the start, as the header of the file says. */
const opusPreSkip = 3840;
/** Delay of the codec itself, part of the pre-skip. The end is padded by it. */
const opusDelay = 312;

async function opusEncoder(rate: number): Promise<AudioEncoder> {
  const { default: open } = await import('@audio/encode-opus');
  const codec = await open({ sampleRate: opusRate, channels: 1, bitrate: bitrates.opus, application: 'voip' });
  const header = codec.encode([new Float32Array(opusPreSkip - opusDelay)]);
  return codecEncoder(codec, rate, opusRate, { header, padding: new Float32Array(opusDelay) });
}

interface Codec {
  encode(channels: Float32Array[]): Uint8Array;
  flush(): Uint8Array;
  free(): void;
}

interface CodecEnds {
  /** Bytes before the first output. */
  readonly header?: Uint8Array;
  /** Samples after the last ones. */
  readonly padding?: Float32Array;
}

/** Keeps all frequencies of the input; the filter's transition band lies around half of the lower rate. */
const playbackCutoff = 1;

function codecEncoder(codec: Codec, from: number, to: number, ends: CodecEnds = {}): AudioEncoder {
  const { padding = noSamples } = ends;
  const resampler = new Resampler(from, to, playbackCutoff);
  let header = ends.header ?? nothing;
  let isOpen = true;
  const withHeader = (...parts: Uint8Array[]): Uint8Array => {
    const bytes = Buffer.concat([header, ...parts]);
    header = nothing;
    return bytes;
  };
  return {
    encode: (samples) => withHeader(...encodedPortions(codec, resampler.push(samples))),
    finish: () =>
      withHeader(...encodedPortions(codec, resampler.end()), ...encodedPortions(codec, padding), codec.flush()),
    close: () => {
      if (isOpen) codec.free();
      isOpen = false;
    },
  };
}

/** For each frame, the Opus encoder copies all input that is not encoded yet, so that long inputs would take quadratic time. */
const portion = 9600;

function encodedPortions(codec: Codec, samples: Float32Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(samples.length / portion) }, (_, index) =>
    codec.encode([samples.subarray(index * portion, (index + 1) * portion)]),
  );
}
