import { AppError } from '../core/errors.ts';
import { readAac } from './decode-aac.ts';
import { readFlac } from './decode-flac.ts';
import { readPacked } from './decode-packed.ts';
import { inSlices, type OpenDecoder } from './decode-slices.ts';
import { describeOther, formatTitles, type SoundFormat, soundFormat } from './format.ts';
import type { SoundPieces } from './sound.ts';
import { undecodable, unreadable } from './unreadable.ts';
import { readWav } from './wav.ts';

export interface DecodeTools {
  readonly signal: AbortSignal;
  /** The program that decodes AAC, where it is installed. */
  readonly ffmpeg?: string;
}

type Reader = (bytes: Uint8Array, tools: DecodeTools) => SoundPieces;

/** Decoders are loaded by the first who needs them. */
const sliced =
  (load: () => Promise<{ readonly decoder: OpenDecoder }>): Reader =>
  (bytes) =>
    inSlices(bytes, async () => (await load()).decoder());

const noDecoder = (format: SoundFormat): Reader => {
  const feature = formatTitles[format];
  return () => {
    throw undecodable(feature.charAt(0).toUpperCase() + feature.slice(1), 'convert it');
  };
};

const readers: Readonly<Record<SoundFormat, Reader>> = {
  wav: readWav,
  mp3: sliced(() => import('@audio/decode-mp3')),
  flac: readFlac,
  'ogg-opus': sliced(() => import('@audio/decode-opus')),
  'ogg-vorbis': sliced(() => import('@audio/decode-vorbis')),
  'ogg-flac': sliced(() => import('@audio/decode-flac')),
  'ogg-speex': noDecoder('ogg-speex'),
  webm: readPacked,
  mp4: readPacked,
  aac: (bytes, tools) => readAac([bytes], 'AAC sound', tools),
  aiff: noDecoder('aiff'),
  amr: noDecoder('amr'),
  asf: noDecoder('asf'),
  caf: noDecoder('caf'),
};

/**
 * The sound of a recording, piece by piece. What cannot be read is refused with what it was found to be and what could be
 * read instead.
 */
export async function* decodedSound(bytes: Uint8Array, tools: DecodeTools) {
  if (bytes.length === 0) throw unreadable('this file is empty');
  const format = soundFormat(bytes);
  if (!format) throw unreadable(`this is ${describeOther(bytes)}`);
  let isSilent = true;
  try {
    for await (const piece of readers[format](bytes, tools)) {
      if (!piece.channels[0]?.length) continue;
      isSilent = false;
      yield piece;
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    tools.signal.throwIfAborted();
    throw unreadable(`${formatTitles[format].replace(/^an? /, 'this ')} is broken`, error);
  }
  if (isSilent)
    throw unreadable(`${formatTitles[format].replace(/^an? /, 'this ')} holds no sound, or only broken sound`);
}
