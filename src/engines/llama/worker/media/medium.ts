import { createHash } from 'node:crypto';
import type { Medium } from '../../../../core/request.ts';

/**
 * A stretch of a prompt that is not made of tokens: a picture, a tile of one, or a piece of sound. In the list of tokens
 * its places are held by negative ids that come from its content: two prompts share a picture when they share these ids,
 * also in another process, and nothing else needs to know what they stand for.
 */
export interface MediumChunk {
  /** One for each place that it takes in the cache. */
  readonly ids: Int32Array;
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

/** 31 bits of a hash for each place: what differs at all differs in nearly every one of them. −1 says nothing. */
export function mediumIds(content: string, length: number): Int32Array {
  const bytes = createHash('shake256', { outputLength: length * 4 })
    .update(content)
    .digest();
  return Int32Array.from({ length }, (_, index) => Math.min(-2, bytes.readInt32LE(index * 4) | (1 << 31)));
}

export function mediumTokens({ parts }: ReadMedium): Int32Array {
  return Int32Array.from(parts.flatMap((part) => [...(isChunk(part) ? part.ids : part)]));
}

/** Where in these tokens the media are that were put into them. */
export function findSpans(tokens: Int32Array, media: readonly ReadMedium[]): MediumSpan[] {
  const chunks = media.flatMap(({ parts }) => parts.filter(isChunk));
  const spans: MediumSpan[] = [];
  for (let index = 0; chunks.length > 0 && index < tokens.length; index += 1) {
    if ((tokens[index] as number) >= 0) continue;
    const chunk = chunks.find(({ ids }) => ids.every((id, place) => id === tokens[index + place]));
    if (!chunk) continue;
    spans.push({ start: index, chunk });
    index += chunk.ids.length - 1;
  }
  return spans;
}
