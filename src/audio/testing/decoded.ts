import decodeFlac from '@audio/decode-flac';
import decodeMp3 from '@audio/decode-mp3';
import decodeOpus from '@audio/decode-opus';
import decodeWav from '@audio/decode-wav';
import type { SpeechFormat } from '../../core/speech.ts';

export interface Sound {
  readonly samples: Float32Array;
  readonly rate: number;
  readonly channels: number;
}

/** A file as a player hears it, on its first channel. */
export async function decoded(format: SpeechFormat, bytes: Uint8Array): Promise<Sound> {
  if (format === 'pcm') {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const samples = Float32Array.from({ length: bytes.length / 2 }, (_, at) => view.getInt16(2 * at, true) / 32_767);
    return { samples, rate: 24_000, channels: 1 };
  }
  const decoders = { wav: decodeWav, mp3: decodeMp3, opus: decodeOpus, flac: decodeFlac };
  const { channelData, sampleRate } = await decoders[format](new Uint8Array(bytes));
  return { samples: channelData[0] as Float32Array, rate: sampleRate, channels: channelData.length };
}

export const seconds = ({ samples, rate }: Pick<Sound, 'samples' | 'rate'>): number => samples.length / rate;

/** The mean square: 1 is as loud as can be. */
export const loudness = ({ samples }: Pick<Sound, 'samples'>): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
