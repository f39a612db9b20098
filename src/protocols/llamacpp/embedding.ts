import { jsonObject } from '../../http/body.ts';
import { type Call, type Endpoint, json, type Reply } from '../../http/call.ts';
import { optional, orElse, type Read, wrong } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { errorBody, llamacppFamily } from './errors.ts';
import { readTruncated } from './truncated.ts';

export interface EmbeddingParts {
  /** One vector for each text, as the model gives it; absent while there is no embeddings model. */
  readonly embed?: (texts: readonly string[], signal: AbortSignal) => Promise<readonly (readonly number[])[]>;
}

const readTexts: Read<readonly string[]> = (value, path) => {
  const texts = Array.isArray(value) ? value : [value];
  if (texts.length > 0 && texts.every((text) => typeof text === 'string')) return texts;
  throw wrong(path, 'a string or an array of strings');
};

const notYet = { handling: 'refused', note: 'no embeddings model can be loaded yet' } as const;

export const embeddingFields = {
  content: { ...notYet, read: optional(readTexts) },
  input: { ...notYet, read: optional(readTexts) },
  embd_normalize: { ...notYet, read: orElse(readTruncated, 2) },
};

export function embeddingEndpoints({ embed }: EmbeddingParts): Endpoint[] {
  const post = { method: 'POST', match: 'ending', access: 'guarded', family: llamacppFamily } as const;
  const noReranker = json(errorBody(501, 'This server has no reranking model.'), 501);
  const rerank = { ...post, queued: false, summary: 'Not there yet: answers 501.', handle: () => noReranker };
  return [
    {
      ...post,
      queued: true,
      path: '/embedding',
      summary: 'Vectors of texts, in the form of the llama.cpp server.',
      handle: (call) => (embed ? answer(call, embed) : noEmbeddings()),
    },
    { ...rerank, path: '/rerank' },
    { ...rerank, path: '/reranking' },
  ];
}

function noEmbeddings(): Reply {
  return json(errorBody(501, 'No embeddings model can be loaded yet.'), 501);
}

/** A bare array, and each vector in an array of its own: that is where a vector for each token would stand. */
async function answer(call: Call, embed: NonNullable<EmbeddingParts['embed']>): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const { content, input, embd_normalize: norm } = readFields(embeddingFields, body);
  const texts = content ?? readTexts(input, 'input');
  const vectors = await embed(texts, call.signal);
  return json(vectors.map((vector, index) => ({ index, embedding: [normalised(vector, norm)] })));
}

/** -1 leaves the vector as it is, 0 brings its largest entry to 32760, and p makes its p-norm 1. */
export function normalised(vector: readonly number[], norm: number): readonly number[] {
  if (norm < 0) return vector;
  const sizes = vector.map(Math.abs);
  const length =
    norm === 0 ? Math.max(...sizes) / 32760 : sizes.reduce((sum, size) => sum + size ** norm, 0) ** (1 / norm);
  return length > 0 ? vector.map((entry) => entry / length) : vector;
}
