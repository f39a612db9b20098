import { read } from '../api/call.ts';
import { bytesIn } from '../api/loose.ts';

export interface Embedded {
  /** Name of the model; vectors of different models cannot be compared. */
  readonly model: string;
  readonly vectors: readonly Float32Array[];
}

interface WireEmbeddings {
  readonly model?: string;
  readonly data: readonly { readonly index: number; readonly embedding: string | readonly number[] }[];
}

/** Vectors of texts by the embedding model of the server. Texts that are too long for it are cut. */
export const embed: (texts: readonly string[], signal?: AbortSignal) => Promise<Embedded> = async (texts, signal) => {
  const { model = '', data } = await read<WireEmbeddings>('v1/embeddings', {
    body: { input: texts, encoding_format: 'base64', truncate: true },
    signal,
    background: true,
  });
  const vectors = [...data].sort((a, b) => a.index - b.index).map(({ embedding }) => vectorOf(embedding));
  if (vectors.length !== texts.length) throw new Error('The server returned a wrong number of vectors.');
  return { model, vectors };
};

/** From base64 of little-endian floats, or from a list: other servers may ignore `encoding_format`. */
export function vectorOf(embedding: string | readonly number[]): Float32Array {
  if (typeof embedding !== 'string') return Float32Array.from(embedding);
  const bytes = bytesIn(embedding);
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => view.getFloat32(index * 4, true));
}
