import type { SpeechFormat } from '../core/speech.ts';
import { flacEncoder, mp3Encoder, opusEncoder } from './encode-packed.ts';
import { pcmEncoder, wavEncoder } from './encode-plain.ts';

/** Makes a file of sound piece by piece. Sound is mono, from -1 to 1; what is louder is cut. */
export interface SoundEncoder {
  /** The bytes that are ready with this piece; there may be none yet. */
  encode(samples: Float32Array): Uint8Array;
  /** The rest of the file. Called once, at its end. */
  finish(): Uint8Array;
  /** Gives back what it holds, also in the middle. May be called again. */
  close(): void;
}

export interface EncodeOptions {
  /** Of the sound that it is given, in samples per second. */
  readonly rate: number;
  /** The first bytes go out before the length is known. */
  readonly streamed: boolean;
}

export async function openEncoder(format: SpeechFormat, options: EncodeOptions): Promise<SoundEncoder> {
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
