import { type AudioChunk, ascii, type DurationLimit, undecodable, unreadable } from './decoder.ts';
import { g711Reader } from './g711.ts';

const framesPerChunk = 32_768;

export function* decodeWav(bytes: Uint8Array, limit: DurationLimit): Generator<AudioChunk> {
  const { rate, channels, frameBytes, read, start, end } = wavHeader(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const frames = Math.floor((end - start) / frameBytes);
  const sampleBytes = frameBytes / channels;
  limit.checkDeclared(frames, rate);
  for (let first = 0; first < frames; first += framesPerChunk) {
    const length = Math.min(framesPerChunk, frames - first);
    const samplesByChannel = Array.from({ length: channels }, (_, channel) => {
      const samples = new Float32Array(length);
      let offset = start + first * frameBytes + channel * sampleBytes;
      for (let index = 0; index < length; index++, offset += frameBytes) samples[index] = read(view, offset);
      return samples;
    });
    yield { channels: samplesByChannel, rate };
  }
}

/** Data sizes that recorders write while the length is unknown. */
const unknownSizes = new Set([0, 0xffffffff, 0x7fffffff, 0x7ffff000, 0xffffffda]);

/** Format of the samples, and the byte range of the samples. */
export function wavHeader(bytes: Uint8Array) {
  const isBig = ascii(bytes, 0, 4) === 'RIFX';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let format: ReturnType<typeof readFormat> | undefined;
  for (let offset = 12; offset + 8 <= bytes.length; ) {
    const name = ascii(bytes, offset, offset + 4);
    const size = view.getUint32(offset + 4, !isBig);
    const start = offset + 8;
    if (name === 'fmt ') format = readFormat(bytes, start, size, isBig);
    if (name === 'data') {
      if (!format) throw unreadable('this WAV file tells nowhere how its sound is stored');
      return { ...format, start, end: dataEnd(bytes.length, start, size, ascii(bytes, 0, 4) === 'RF64') };
    }
    offset = start + size + (size % 2);
  }
  throw unreadable('this WAV file ends before any sound begins');
}

function dataEnd(length: number, start: number, size: number, isLong: boolean): number {
  if (isLong || unknownSizes.has(size)) return length;
  if (start + size <= length) return start + size;
  throw unreadable(`this WAV file is cut off: ${length - start} of ${size} bytes of sound are there`);
}

/** `frameBytes` are those of one sample of all channels. */
function readFormat(bytes: Uint8Array, start: number, size: number, isBig: boolean) {
  if (size < 16 || start + size > bytes.length) throw unreadable('this WAV file ends within its header');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const short = (offset: number) => view.getUint16(start + offset, !isBig);
  const channels = short(2);
  const rate = view.getUint32(start + 4, !isBig);
  const bits = short(14);
  // WAVE_FORMAT_EXTENSIBLE has the actual format tag in its extension.
  const kind = short(0) === 0xfffe && size >= 26 ? short(24) : short(0);
  if (channels < 1 || channels > 64) throw unreadable(`this WAV file says that it has ${channels} channels`);
  const bytesPerSample = Math.ceil(bits / 8);
  const read = readers[`${kind} ${kind === integer ? 8 * bytesPerSample : bits}`]?.(!isBig);
  if (!read) throw undecodable(`A WAV file with samples of kind ${kind} and ${bits} bits`, 'convert it to 16-bit PCM');
  return { rate, channels, frameBytes: bytesPerSample * channels, read };
}

/** One sample, between -1 and 1. */
type ReadSample = (view: DataView, offset: number) => number;

const integer = 1;

const [aLaw, muLaw] = [g711Reader('alaw'), g711Reader('ulaw')];

/** Readers by format tag and bits: PCM, float, A-law and mu-law. */
const readers: Readonly<Record<string, (little: boolean) => ReadSample>> = {
  '1 8': () => (view, offset) => (view.getUint8(offset) - 128) / 128,
  '1 16': (little) => (view, offset) => view.getInt16(offset, little) / 32_768,
  '1 24': (little) => (view, offset) => {
    const high = view.getInt8(offset + (little ? 2 : 0));
    const low = view.getUint8(offset + (little ? 0 : 2));
    return ((high << 16) | (view.getUint8(offset + 1) << 8) | low) / 8_388_608;
  },
  '1 32': (little) => (view, offset) => view.getInt32(offset, little) / 2_147_483_648,
  '3 32': (little) => (view, offset) => finite(view.getFloat32(offset, little)),
  '3 64': (little) => (view, offset) => finite(view.getFloat64(offset, little)),
  '6 8': () => (view, offset) => aLaw(view.getUint8(offset)),
  '7 8': () => (view, offset) => muLaw(view.getUint8(offset)),
};

/** A single NaN would spread through the filters to the whole recording. */
function finite(sample: number): number {
  return Number.isFinite(sample) ? sample : 0;
}
