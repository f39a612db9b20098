import { inSlices } from './decode-slices.ts';
import { flacParts } from './flac-frames.ts';
import { endOfTags } from './format.ts';
import type { LengthLimit } from './length.ts';
import type { SoundPiece } from './sound.ts';
import { unreadable } from './unreadable.ts';

/** No frame is as long, and between frames there is nothing else. */
const longestGap = 2 ** 20;

/** FLAC tells in front how long it is, so that one that was cut off is noticed, and one that is too long refused at once. */
export async function* readFlac(file: Uint8Array, limit: LengthLimit): AsyncGenerator<SoundPiece> {
  const bytes = file.subarray(endOfTags(file));
  const promised = promisedSamples(bytes);
  limit.promised(promised, flacRate(bytes));
  let [read, given, heard] = [0, 0, 0];
  function* parts(): Generator<Uint8Array> {
    for (const part of flacParts(framesOf(bytes))) {
      given += part.length;
      yield part;
    }
  }
  for await (const piece of inSlices(parts(), async () => (await import('@audio/decode-flac')).decoder())) {
    const samples = piece.channels[0]?.length ?? 0;
    read += samples;
    if (samples > 0) heard = given;
    // To look for a frame in what is none takes longer with each byte.
    if (given - heard > longestGap) throw unreadable('much of this FLAC file is no sound');
    yield piece;
  }
  if (read > 0 && read < promised) {
    throw unreadable(`this FLAC file is cut off: ${read} of ${promised} samples are there`);
  }
}

/**
 * Behind the blocks that describe the sound: a picture would be searched for frames, and a decoder that is given the head of
 * a file without the rest takes what it has for all of it. Each frame tells all that is needed to decode it.
 */
function framesOf(bytes: Uint8Array): Uint8Array {
  let end = 4;
  for (let isLast = false; !isLast && end + 4 <= bytes.length; ) {
    const [type = 0, high = 0, middle = 0, low = 0] = bytes.subarray(end, end + 4);
    isLast = (type & 0x80) !== 0;
    end += 4 + high * 65_536 + middle * 256 + low;
  }
  return bytes.subarray(end);
}

/** 36 bits within the first block; 0 where whoever wrote it did not know. */
function promisedSamples(bytes: Uint8Array): number {
  if (bytes.length < 26) return 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (view.getUint8(21) & 0x0f) * 2 ** 32 + view.getUint32(22);
}

/** 20 bits before it. */
export function flacRate(bytes: Uint8Array): number {
  const [high = 0, middle = 0, low = 0] = bytes.subarray(18, 21);
  return (high << 12) | (middle << 4) | (low >> 4);
}
