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

/** Small enough that nobody waits long for one, however much sound it holds. */
const sliceBytes = 32_768;

export async function* inSlices(bytes: Uint8Array, open: OpenDecoder): AsyncGenerator<SoundPiece> {
  const decoder = await open();
  try {
    for (let start = 0; start < bytes.length; start += sliceBytes) {
      yield piece(decoder.decode(bytes.subarray(start, start + sliceBytes)));
    }
    if (decoder.flush) yield piece(decoder.flush());
  } finally {
    decoder.free();
  }
}

function piece({ channelData, sampleRate }: Decoded): SoundPiece {
  return { channels: channelData ?? [], rate: sampleRate };
}
