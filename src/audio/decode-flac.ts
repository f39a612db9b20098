import { inSlices } from './decode-slices.ts';
import { endOfTags } from './format.ts';
import type { SoundPiece } from './sound.ts';
import { unreadable } from './unreadable.ts';

/** FLAC tells in front how long it is, so that one that was cut off is noticed. */
export async function* readFlac(bytes: Uint8Array): AsyncGenerator<SoundPiece> {
  const start = endOfTags(bytes);
  const promised = promisedSamples(bytes.subarray(start));
  let read = 0;
  const decoded = inSlices(bytes.subarray(start), async () => (await import('@audio/decode-flac')).decoder());
  for await (const piece of decoded) {
    read += piece.channels[0]?.length ?? 0;
    yield piece;
  }
  if (read > 0 && read < promised) {
    throw unreadable(`this FLAC file is cut off: ${read} of ${promised} samples are there`);
  }
}

/** 36 bits within the first block; 0 where whoever wrote it did not know. */
function promisedSamples(bytes: Uint8Array): number {
  if (bytes.length < 26) return 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (view.getUint8(21) & 0x0f) * 2 ** 32 + view.getUint32(22);
}
