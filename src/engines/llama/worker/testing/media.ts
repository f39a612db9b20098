import type { MediumChunk, ReadMedium } from '../media/media-prompt.ts';

/** Its ids count down from the first. */
export function chunk(firstId: number, length: number, positions = length): MediumChunk {
  const ids = Int32Array.from({ length }, (_, index) => firstId - index);
  return { ids, positions, description: new Uint8Array(1), embeddings: new Float32Array(length) };
}

export function readImage(...parts: ReadMedium['parts']): ReadMedium {
  return { kind: 'image', parts };
}
