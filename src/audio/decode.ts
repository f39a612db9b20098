import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { readAac } from './decode-aac.ts';
import { readFlac } from './decode-flac.ts';
import { readPacked } from './decode-packed.ts';
import { inSlices, type OpenDecoder, slicesOf } from './decode-slices.ts';
import { describeOther, endOfTags, formatTitles, type SoundFormat, soundFormat } from './format.ts';
import { mpegSeconds } from './format-mpeg.ts';
import { LengthLimit } from './length.ts';
import { oggSeconds } from './ogg.ts';
import type { SoundPiece, SoundPieces } from './sound.ts';
import { undecodable, unreadable } from './unreadable.ts';
import { readWav } from './wav.ts';

export interface DecodeTools {
  readonly signal: AbortSignal;
  /** Longer recordings are refused. */
  readonly mostSeconds: number;
  /** The program that decodes AAC, where it is installed. */
  readonly ffmpeg?: string | undefined;
  /** How long it may give nothing. */
  readonly ffmpegSilenceMs?: number;
}

type Reader = (bytes: Uint8Array, limit: LengthLimit, tools: DecodeTools) => SoundPieces;

/** Decoders are loaded by the first who needs them. `promised` is how long it says that it is, in seconds. */
const sliced =
  (load: () => Promise<{ readonly decoder: OpenDecoder }>, promised: (bytes: Uint8Array) => number): Reader =>
  (bytes, limit) => {
    limit.promised(promised(bytes) * 1000, 1000);
    return inSlices(slicesOf(bytes), async () => (await load()).decoder());
  };

const noDecoder = (format: SoundFormat): Reader => {
  const feature = formatTitles[format];
  return () => {
    throw undecodable(feature.charAt(0).toUpperCase() + feature.slice(1), 'convert it');
  };
};

const readers: Readonly<Record<SoundFormat, Reader>> = {
  wav: readWav,
  mp3: sliced(
    () => import('@audio/decode-mp3'),
    (bytes) => mpegSeconds(bytes, endOfTags(bytes)),
  ),
  flac: readFlac,
  'ogg-opus': sliced(() => import('@audio/decode-opus'), oggSeconds),
  'ogg-vorbis': sliced(() => import('@audio/decode-vorbis'), oggSeconds),
  'ogg-flac': sliced(() => import('@audio/decode-flac'), oggSeconds),
  'ogg-speex': noDecoder('ogg-speex'),
  webm: readPacked,
  mp4: readPacked,
  aac: (bytes, _, tools) => readAac([bytes], 'AAC sound', tools),
  aiff: noDecoder('aiff'),
  amr: noDecoder('amr'),
  asf: noDecoder('asf'),
  caf: noDecoder('caf'),
};

/** Of each channel. What is done with a piece takes a moment at most, however much sound a few bytes held. */
const longestPiece = 32_768;

/**
 * The sound of a recording in pieces of bounded length; others are let in between two of them, and between two slices of a file
 * that holds no sound. What cannot be read is refused with what it was found to be and what could be read instead.
 */
export async function* decodedSound(bytes: Uint8Array, tools: DecodeTools): AsyncGenerator<SoundPiece> {
  if (bytes.length === 0) throw unreadable('this file is empty');
  const format = soundFormat(bytes);
  if (!format) throw unreadable(`this is ${describeOther(bytes)}`);
  const limit = new LengthLimit(tools.mostSeconds);
  let isSilent = true;
  try {
    for await (const piece of readers[format](bytes, limit, tools)) {
      const length = piece.channels[0]?.length ?? 0;
      if (length > 0) {
        isSilent = false;
        limit.count(length, piece.rate);
      }
      for (let start = 0; start < length; start += longestPiece) {
        yield length <= longestPiece ? piece : part(piece, start);
        await turn();
        tools.signal.throwIfAborted();
      }
      if (length === 0) await turn();
      tools.signal.throwIfAborted();
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    tools.signal.throwIfAborted();
    throw unreadable(`${formatTitles[format].replace(/^an? /, 'this ')} is broken`, error);
  }
  if (isSilent)
    throw unreadable(`${formatTitles[format].replace(/^an? /, 'this ')} holds no sound, or only broken sound`);
}

function part({ channels, rate }: SoundPiece, start: number): SoundPiece {
  return { channels: channels.map((samples) => samples.subarray(start, start + longestPiece)), rate };
}
