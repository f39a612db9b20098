import { ascii } from './ascii.ts';
import type { LengthLimit } from './length.ts';
import type { SoundPiece } from './sound.ts';
import { undecodable, unreadable } from './unreadable.ts';
import { type ReadSample, sampleReader } from './wav-samples.ts';

export interface WavHeader {
  readonly rate: number;
  readonly channels: number;
  /** Of one sample of all channels. */
  readonly frameBytes: number;
  readonly read: ReadSample;
  /** Where the samples lie. */
  readonly start: number;
  readonly end: number;
}

const framesPerPiece = 32_768;

/** The sound of a WAV file, piece by piece. */
export function* readWav(bytes: Uint8Array, limit: LengthLimit): Generator<SoundPiece> {
  const { rate, channels, frameBytes, read, start, end } = wavHeader(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const frames = Math.floor((end - start) / frameBytes);
  const sampleBytes = frameBytes / channels;
  limit.promised(frames, rate);
  for (let first = 0; first < frames; first += framesPerPiece) {
    const length = Math.min(framesPerPiece, frames - first);
    const piece = Array.from({ length: channels }, (_, channel) => {
      const samples = new Float32Array(length);
      let place = start + first * frameBytes + channel * sampleBytes;
      for (let index = 0; index < length; index++, place += frameBytes) samples[index] = read(view, place);
      return samples;
    });
    yield { channels: piece, rate };
  }
}

/** Sizes that recorders write who do not know yet how long it will be. */
const openSizes = new Set([0, 0xffffffff, 0x7fffffff, 0x7ffff000, 0xffffffda]);

export function wavHeader(bytes: Uint8Array): WavHeader {
  const isBig = ascii(bytes, 0, 4) === 'RIFX';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let format: Omit<WavHeader, 'start' | 'end'> | undefined;
  for (let place = 12; place + 8 <= bytes.length; ) {
    const name = ascii(bytes, place, place + 4);
    const size = view.getUint32(place + 4, !isBig);
    const start = place + 8;
    if (name === 'fmt ') format = readFormat(bytes, start, size, isBig);
    if (name === 'data') {
      if (!format) throw unreadable('this WAV file tells nowhere how its sound is stored');
      return { ...format, start, end: dataEnd(bytes.length, start, size, ascii(bytes, 0, 4) === 'RF64') };
    }
    place = start + size + (size % 2);
  }
  throw unreadable('this WAV file ends before any sound begins');
}

function dataEnd(length: number, start: number, size: number, isLong: boolean): number {
  if (isLong || openSizes.has(size)) return length;
  if (start + size <= length) return start + size;
  throw unreadable(`this WAV file is cut off: ${length - start} of ${size} bytes of sound are there`);
}

function readFormat(bytes: Uint8Array, start: number, size: number, isBig: boolean): Omit<WavHeader, 'start' | 'end'> {
  if (size < 16 || start + size > bytes.length) throw unreadable('this WAV file ends within its header');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const short = (place: number) => view.getUint16(start + place, !isBig);
  const channels = short(2);
  const rate = view.getUint32(start + 4, !isBig);
  const bits = short(14);
  // The extensible form has the true one behind the length of its extension.
  const kind = short(0) === 0xfffe && size >= 26 ? short(24) : short(0);
  if (channels < 1 || channels > 64) throw unreadable(`this WAV file says that it has ${channels} channels`);
  const read = sampleReader(kind, bits, isBig);
  if (!read) throw undecodable(`A WAV file with samples of kind ${kind} and ${bits} bits`, 'convert it to 16-bit PCM');
  return { rate, channels, frameBytes: Math.ceil(bits / 8) * channels, read };
}
