import type { Medium } from '../../../core/request.ts';

/**
 * A stretch of a prompt that is not made of tokens: a picture, a tile of one, or a piece of sound. In the list of tokens
 * its places are held by the ids `firstId`, `firstId` − 1, … which no other content has: two prompts share a picture when
 * they share these ids, and nothing else needs to know what they stand for.
 */
export interface MediumChunk {
  readonly firstId: number;
  /** Places that it takes in the cache. */
  readonly length: number;
  /** How far the positions go on after it. Models that count rows and columns need fewer of them than places. */
  readonly positions: number;
  /** What the library wants to know of it besides the embeddings. */
  readonly description: Uint8Array;
  readonly embeddings: Float32Array;
}

/** A picture or sound that was read: what goes into the prompt for it, marks of the model included. */
export interface ReadMedium {
  readonly kind: Medium['kind'];
  readonly parts: readonly (Int32Array | MediumChunk)[];
}

export interface MediumSpan {
  readonly start: number;
  readonly chunk: MediumChunk;
}

export function isChunk(part: Int32Array | MediumChunk): part is MediumChunk {
  return !(part instanceof Int32Array);
}

export function mediumTokens({ parts }: ReadMedium): Int32Array {
  return Int32Array.from(parts.flatMap((part) => (isChunk(part) ? chunkIds(part) : [...part])));
}

/** Where in these tokens the media are that were put into them. */
export function findSpans(tokens: Int32Array, media: readonly ReadMedium[]): MediumSpan[] {
  const chunks = new Map(media.flatMap(({ parts }) => parts.filter(isChunk).map((chunk) => [chunk.firstId, chunk])));
  const spans: MediumSpan[] = [];
  for (let index = 0; chunks.size > 0 && index < tokens.length; index += 1) {
    const chunk = chunks.get(tokens[index] as number);
    if (!chunk) continue;
    spans.push({ start: index, chunk });
    index += chunk.length - 1;
  }
  return spans;
}

function chunkIds({ firstId, length }: MediumChunk): number[] {
  return Array.from({ length }, (_, index) => firstId - index);
}
