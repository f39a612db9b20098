import { setImmediate } from 'node:timers/promises';
import type { SpeechFormat } from '../core/speech.ts';
import { slicesOf } from './decoder.ts';
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

const encoders: Readonly<Record<SpeechFormat, (options: EncodeOptions) => AudioEncoder | Promise<AudioEncoder>>> = {
  wav: wavEncoder,
  pcm: ({ rate }) => codecEncoder(pcmCodec, rate, pcmRate),
  mp3: mp3Encoder,
  opus: opusEncoder,
  flac: flacEncoder,
};

export async function openEncoder(format: SpeechFormat, options: EncodeOptions): Promise<AudioEncoder> {
  return encoders[format](options);
}

const nothing = new Uint8Array(0);
const noSamples = new Float32Array(0);
const wavHeaderBytes = 44;
const bytesPerSample = 2;
/** Players read a WAV file with this length to its end. */
const unknownLength = 0xffffffff;
/** Raw PCM has no header; clients expect this rate. */
const pcmRate = 24_000;

/** 16-bit little-endian samples. */
const pcmCodec: Codec = {
  encode: ([samples = noSamples]) => int16Bytes(samples),
  flush: () => nothing,
  free: () => {},
};

/** Sends the header at once if streamed; otherwise returns the whole file at the end, when its length is known. */
function wavEncoder({ rate, streamed }: EncodeOptions): AudioEncoder {
  if (streamed) return codecEncoder(pcmCodec, rate, rate, { header: wavHeader(rate, unknownLength) });
  const chunks: Uint8Array[] = [];
  return {
    encode: (samples) => {
      chunks.push(int16Bytes(samples));
      return nothing;
    },
    finish: () => {
      const data = Buffer.concat(chunks);
      return Buffer.concat([wavHeader(rate, data.length), data]);
    },
    close: () => {
      chunks.length = 0;
    },
  };
}

/** Of 16-bit samples, which follow. */
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

function int16Bytes(samples: Float32Array): Uint8Array {
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

async function mp3Encoder({ rate }: EncodeOptions): Promise<AudioEncoder> {
  const { default: open } = await import('@audio/encode-mp3');
  const sampleRate = mp3Rates.find((one) => one >= rate) ?? 48_000;
  return codecEncoder(await open({ sampleRate, bitrate: bitrates.mp3, channels: 1 }), rate, sampleRate);
}

async function flacEncoder({ rate }: EncodeOptions): Promise<AudioEncoder> {
  const { default: open } = await import('@audio/encode-flac');
  const codec = await open({ sampleRate: rate, channels: 1 });
  // Without this call, a file without samples would have no header.
  const header = codec.encode([noSamples]);
  return codecEncoder(codec, rate, rate, { header });
}

const opusRate = 48_000;
/** Samples that players skip at the start, as the header of the file says. */
const opusPreSkip = 3840;
/** Delay of the codec itself, part of the pre-skip. The end is padded by it. */
const opusDelay = 312;

async function opusEncoder({ rate }: EncodeOptions): Promise<AudioEncoder> {
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

/** Keeps all frequencies of the input; the filter's transition band lies around half of the lower rate. */
const playbackCutoff = 1;

/** Resamples and encodes. The header goes before the first output; the padding is encoded after the last samples. */
function codecEncoder(
  codec: Codec,
  from: number,
  to: number,
  { header: first = nothing, padding = noSamples }: { header?: Uint8Array; padding?: Float32Array } = {},
): AudioEncoder {
  const resampler = new Resampler(from, to, playbackCutoff);
  let header = first;
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

export interface SongOptions {
  /** Of the samples, in Hz. */
  readonly rate: number;
  /** Otherwise both channels are mixed, and resampled to `monoRate`. */
  readonly stereo: boolean;
  readonly format: Extract<SpeechFormat, 'wav' | 'mp3'>;
}

const monoRate = 32_000;
/** Kilobits per second. */
const songBitrates = { mono: 128, stereo: 192 } as const;

/** Encodes a song (16 bits, left and right interleaved) to a file, in pieces of about a second. */
export async function* encodeSong(samples: Int16Array, options: SongOptions): AsyncGenerator<Uint8Array> {
  const { rate, stereo, format } = options;
  const parts = stereo ? stereoParts(samples, rate) : monoParts(samples, rate);
  const [sampleRate, channels] = stereo ? [rate, 2] : [monoRate, 1];
  if (format === 'mp3') {
    yield* encodeMp3(parts, { sampleRate, channels, bitrate: stereo ? songBitrates.stereo : songBitrates.mono });
    return;
  }
  const chunks = stereo
    ? [new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)]
    : Array.from(parts, ([mono = noSamples]) => int16Bytes(mono));
  const bytes = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  yield wavHeader(sampleRate, bytes, channels);
  for (const chunk of chunks) yield* slicesOf(chunk, pieceBytes);
}

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
