import type { SoundPiece } from './sound.ts';

/** What the decoders have in common. */
interface SliceDecoder {
  decode(bytes: Uint8Array): Decoded;
  flush?(): Decoded;
  free(): void;
}

interface Decoded {
  readonly channelData: Float32Array[];
  readonly sampleRate: number;
}

export type OpenDecoder = () => Promise<SliceDecoder>;

/**
 * A decoder cannot be stopped within a slice, so this bounds the samples that one call returns, too: silence in Opus or Vorbis
 * takes few bytes, and a page of it is up to 30 seconds.
 */
const sliceBytes = 1024;

export function* slicesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += sliceBytes) yield bytes.subarray(start, start + sliceBytes);
}

export async function* inSlices(
  slices: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  open: OpenDecoder,
): AsyncGenerator<SoundPiece> {
  const decoder = await open();
  try {
    for await (const slice of slices) yield piece(decoder.decode(slice));
    if (decoder.flush) yield piece(decoder.flush());
  } finally {
    decoder.free();
  }
}

function piece({ channelData, sampleRate }: Decoded): SoundPiece {
  return { channels: channelData ?? [], rate: sampleRate };
}
