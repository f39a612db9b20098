import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { decodeAac, decodeContainer } from './decode-container.ts';
import { decodeFlac } from './decode-flac.ts';
import { decodeWav } from './decode-wav.ts';
import { type DecodeOptions, type Decoder, DurationLimit, streamed, undecodable, unreadable } from './decoder.ts';
import { type AudioFormat, describeOther, detectFormat, formatTitles, mpegSeconds, oggSeconds } from './format.ts';
import { concat, MonoMixer } from './resample.ts';

const decoders: Readonly<Partial<Record<AudioFormat, Decoder>>> = {
  wav: decodeWav,
  mp3: streamed(() => import('@audio/decode-mp3'), mpegSeconds),
  flac: decodeFlac,
  'ogg-opus': streamed(() => import('@audio/decode-opus'), oggSeconds),
  'ogg-vorbis': streamed(() => import('@audio/decode-vorbis'), oggSeconds),
  'ogg-flac': streamed(() => import('@audio/decode-flac'), oggSeconds),
  webm: decodeContainer,
  mp4: decodeContainer,
  aac: (bytes, _, options) => decodeAac([bytes], 'AAC sound', options),
};

/** Samples per channel. Bounds the time that processing of a chunk blocks the event loop. */
const maxChunk = 32_768;

/** Decodes a recording to chunks of bounded length, and yields to the event loop after each chunk or empty slice. */
export async function* decodeAudio(bytes: Uint8Array, options: DecodeOptions) {
  if (bytes.length === 0) throw unreadable('this file is empty');
  const format = detectFormat(bytes);
  if (!format) throw unreadable(`this is ${describeOther(bytes)}`);
  const title = formatTitles[format];
  const decoder = decoders[format];
  if (!decoder) throw undecodable(title.charAt(0).toUpperCase() + title.slice(1), 'convert it');
  const limit = new DurationLimit(options.maxSeconds);
  let isEmpty = true;
  try {
    for await (const chunk of decoder(bytes, limit, options)) {
      const length = chunk.channels[0]?.length ?? 0;
      if (length > 0) {
        isEmpty = false;
        limit.count(length, chunk.rate);
      }
      for (let start = 0; start < length; start += maxChunk) {
        const channels = chunk.channels.map((samples) => samples.subarray(start, start + maxChunk));
        yield { ...chunk, channels };
        await turn();
        options.signal.throwIfAborted();
      }
      if (length === 0) await turn();
      options.signal.throwIfAborted();
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    options.signal.throwIfAborted();
    throw unreadable(`${title.replace(/^an? /, 'this ')} is broken`, error);
  }
  if (isEmpty) throw unreadable(`${title.replace(/^an? /, 'this ')} holds no sound, or only broken sound`);
}

interface RecordingOptions extends DecodeOptions {
  /** Sample rate of the output in Hz. */
  readonly rate: number;
  /** Samples of shorter recordings are buffered; longer recordings are decoded a second time. */
  readonly bufferSeconds: number;
}

/** Decodes a recording completely first, so that an invalid part is an error and no partial transcript is sent. */
export async function openRecording(bytes: Uint8Array, options: RecordingOptions) {
  const { rate, bufferSeconds } = options;
  const mixer = new MonoMixer(rate);
  let buffered: Float32Array[] | undefined = [];
  let seconds = 0;
  for await (const chunk of decodeAudio(bytes, options)) {
    seconds += (chunk.channels[0]?.length ?? 0) / chunk.rate;
    if (seconds > bufferSeconds) buffered = undefined;
    buffered?.push(mixer.push(chunk));
  }
  const all = buffered && concat(...buffered, mixer.end());
  async function* samples(): AsyncGenerator<Float32Array> {
    if (all) return yield all;
    const again = new MonoMixer(rate);
    for await (const chunk of decodeAudio(bytes, options)) yield again.push(chunk);
    yield again.end();
  }
  return { seconds: all ? all.length / rate : seconds, samples };
}
