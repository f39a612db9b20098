import { type AudioChunk, type DurationLimit, decodeSlices, unreadable } from './decoder.ts';
import { endOfTags, flacRate, flacSamples } from './format.ts';

/** Longer than any frame; nothing else lies between frames. */
const maxGapBytes = 2 ** 20;

/** The header declares the number of samples, so that truncated files are detected and files that are too long are rejected at once. */
export async function* decodeFlac(file: Uint8Array, limit: DurationLimit): AsyncGenerator<AudioChunk> {
  const bytes = file.subarray(endOfTags(file));
  const declared = flacSamples(bytes);
  limit.checkDeclared(declared, flacRate(bytes));
  let [read, fed, decoded] = [0, 0, 0];
  function* parts(): Generator<Uint8Array> {
    for (const part of flacParts(framesOf(bytes))) {
      fed += part.length;
      yield part;
    }
  }
  for await (const piece of decodeSlices(parts(), () => import('@audio/decode-flac'))) {
    const samples = piece.channels[0]?.length ?? 0;
    read += samples;
    if (samples > 0) decoded = fed;
    // Searching for a frame takes longer with each byte that belongs to none.
    if (fed - decoded > maxGapBytes) throw unreadable('much of this FLAC file is no sound');
    yield piece;
  }
  if (read > 0 && read < declared) {
    throw unreadable(`this FLAC file is cut off: ${read} of ${declared} samples are there`);
  }
}

/** Skips the metadata: the decoder would search cover pictures for frames, and stop after a header without the rest. */
function framesOf(bytes: Uint8Array): Uint8Array {
  let end = 4;
  for (let isLast = false; !isLast && end + 4 <= bytes.length; ) {
    const [type = 0, high = 0, middle = 0, low = 0] = bytes.subarray(end, end + 4);
    isLast = (type & 0x80) !== 0;
    end += 4 + high * 65_536 + middle * 256 + low;
  }
  return bytes.subarray(end);
}

/** Per part that the decoder is given, unless a single frame has more. */
const maxSamples = 2 ** 17;
/** Bytes that only look like frames cost the decoder time for each of them. */
const maxFrames = 64;
/** Longer than any frame that encoders write in practice. */
const maxPartBytes = 2 ** 18;

/** Cuts FLAC into parts with a bounded number of samples. Each begins with a frame: the decoder loses one whose header is cut in two. */
export function* flacParts(bytes: Uint8Array): Generator<Uint8Array> {
  let start = 0;
  let [samples, frames] = [0, 0];
  for (let offset = 0; offset < bytes.length; ) {
    const block = blockSize(bytes, offset);
    if (block === undefined) {
      offset = bytes.indexOf(0xff, offset + 1);
      if (offset === -1) offset = bytes.length;
    } else {
      if (frames > 0 && (samples + block > maxSamples || frames === maxFrames)) {
        yield bytes.subarray(start, offset);
        start = offset;
        [samples, frames] = [0, 0];
      }
      samples += block;
      frames++;
      offset += minHeaderBytes;
    }
    for (; offset - start > maxPartBytes; start += maxPartBytes) yield bytes.subarray(start, start + maxPartBytes);
  }
  if (start < bytes.length) yield bytes.subarray(start);
}

/** Two bytes of sync code, two of codes, one of the frame number and one of the CRC. */
const minHeaderBytes = 6;

/** Samples per channel of the frame that starts here; undefined if none does. */
function blockSize(bytes: Uint8Array, start: number): number | undefined {
  const [first, second = 0, third = 0, fourth = 0, fifth = 0] = bytes.subarray(start, start + 5);
  if (first !== 0xff || (second & 0xfe) !== 0xf8 || (fourth & 1) !== 0) return undefined;
  const code = third >> 4;
  const rate = third & 15;
  if (code === 0 || rate === 15) return undefined;
  // The frame number is coded like UTF-8, in up to seven bytes.
  const numberBytes = fifth < 0x80 ? 1 : Math.clz32(~(fifth << 24));
  let offset = start + 4 + numberBytes;
  const extra = (length: number): number => {
    let value = 0;
    for (const end = offset + length; offset < end; offset++) value = value * 256 + (bytes[offset] ?? 0);
    return value;
  };
  const block = code === 6 ? extra(1) + 1 : code === 7 ? extra(2) + 1 : codedBlock(code);
  extra(rate === 12 ? 1 : rate > 12 ? 2 : 0);
  return offset < bytes.length && crc8(bytes, start, offset) === bytes[offset] ? block : undefined;
}

function codedBlock(code: number): number {
  if (code === 1) return 192;
  return code < 6 ? 576 * 2 ** (code - 2) : 256 * 2 ** (code - 8);
}

function crc8(bytes: Uint8Array, start: number, end: number): number {
  let sum = 0;
  for (let offset = start; offset < end; offset++) {
    sum ^= bytes[offset] ?? 0;
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x80 ? ((sum << 1) ^ 0x07) & 0xff : sum << 1;
  }
  return sum;
}
