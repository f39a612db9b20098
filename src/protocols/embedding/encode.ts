import type { Embedded } from '../../core/embedding.ts';
import { AppError } from '../../core/errors.ts';
import { inSlices, type Sliced } from '../../core/slices.ts';
import { normalised, shortened } from '../../core/vectors.ts';
import type { Headers } from '../../http/call.ts';
import { headerList } from '../dialect.ts';
import { wrong } from '../fields.ts';

export type VectorFormat = 'float' | 'base64';

/** One vector per input. Refused for a model without pooling, which has one per token. */
export function oneEach({ vectors, pooling }: Embedded): readonly Float32Array[] {
  if (pooling !== 'none') return vectors.map(([vector]) => vector ?? new Float32Array());
  const instead = 'the loaded model has a vector for each token and none for a text; use POST /embedding';
  throw new AppError('unsupported', { feature: 'One vector for a text', instead });
}

/** Cuts vectors to a number of dimensions and normalises them. */
export function shaped(
  vectors: readonly Float32Array[],
  { dimensions, norm = 2 }: { readonly dimensions?: number | undefined; readonly norm?: number },
): readonly Float32Array[] {
  const own = vectors[0]?.length ?? 0;
  if (dimensions !== undefined && dimensions > own) {
    throw wrong('dimensions', `at most ${own}, which is what this model has`);
  }
  const cut =
    dimensions === undefined || dimensions === own ? vectors : vectors.map((one) => shortened(one, dimensions));
  return cut.map((vector) => normalised(vector, norm));
}

/** A JSON list, written in slices: thousands of vectors are megabytes of text. */
export function listText<Entry>(
  entries: readonly Entry[],
  write: (entry: Entry, index: number) => string,
  signal: AbortSignal,
): Promise<string> {
  return inSlices(
    (function* (): Sliced<string> {
      const written: string[] = [];
      for (const [index, entry] of entries.entries()) {
        written.push(write(entry, index));
        yield;
      }
      return `[${written.join(',')}]`;
    })(),
    { signal },
  );
}

export function vectorText(vector: Float32Array, format: VectorFormat = 'float'): string {
  return format === 'base64' ? `"${base64(vector)}"` : JSON.stringify(Array.from(vector));
}

/** Little-endian 32-bit floats on every machine. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  vector.forEach((entry, index) => {
    bytes.writeFloatLE(entry, index * Float32Array.BYTES_PER_ELEMENT);
  });
  return bytes.toString('base64');
}

/** Names the inputs that were cut. */
export function truncatedHeader(places: readonly number[], field: string): Headers {
  return places.length > 0 ? { 'x-parley-truncated': headerList(places.map((index) => `${field}[${index}]`)) } : {};
}

export function total(tokens: readonly number[]): number {
  return tokens.reduce((sum, count) => sum + count, 0);
}
