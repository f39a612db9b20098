import { normalised } from '../../core/vectors.ts';
import { jsonObject } from '../../http/body.ts';
import type { Call, Reply } from '../../http/call.ts';
import { readGenkey } from '../controls/table.ts';
import { listText, truncatedHeader, vectorText } from '../embedding/encode.ts';
import { readInputs } from '../embedding/input.ts';
import { answering, type EmbeddingParts } from '../embedding/service.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { oneOf, optional, optionalText, orElse, readFlag, wrong } from '../fields/readers.ts';
import { honoured, readFields } from '../fields/table.ts';
import { ticketFor } from '../ticket.ts';
import { llamacppFamily } from './errors.ts';
import { readTruncated } from './truncated.ts';

export const embeddingFields = {
  content: honoured(optional(readInputs), 'a text or several, also as token numbers of this model'),
  input: honoured(optional(readInputs), 'another name of content, which wins'),
  embd_normalize: honoured(orElse(readTruncated, 2), '-1 none, 0 largest entry, 1 taxicab, 2 Euclidean, more a p-norm'),
  truncate: honoured(
    orElse(readFlag, false),
    'ours: what is too long is refused, or with true cut and named in x-parley-truncated',
  ),
  pooling: honoured(
    optional(oneOf('none', 'mean', 'cls', 'last')),
    'ours: none gives a vector for each token; otherwise the way of the model',
  ),
  genkey: honoured(readGenkey, 'the key by which the native API can stop it'),
  model: honoured(optionalText, 'the name of the text model embeds with that'),
};

export const embeddingEndpoint: ModelEndpoint<EmbeddingParts> = {
  method: 'POST',
  match: 'ending',
  path: '/embedding',
  access: 'guarded',
  queued: true,
  modelSelection: 'own-name',
  summary: 'Vectors of texts, in the form of the llama.cpp server.',
  family: llamacppFamily,
  handle: answer,
};

/** A bare array, and each vector in an array of its own: that is where a vector for each token stands. */
async function answer(call: Call, parts: EmbeddingParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const { content, input, embd_normalize: norm, truncate, pooling, model, genkey } = readFields(embeddingFields, body);
  const inputs = content ?? input;
  if (!inputs) throw wrong('content', 'a string or an array of strings');
  const { service } = answering(parts, model);
  const request = { inputs, truncate, ...(pooling ? { pooling } : {}) };
  const { vectors, truncated } = await service.embed(request, ticketFor(call, genkey));
  const text = await listText(
    vectors,
    (list, index) =>
      `{"index":${index},"embedding":[${list.map((vector) => vectorText(normalised(vector, norm))).join(',')}]}`,
    call.signal,
  );
  const headers = { 'content-type': 'application/json', ...truncatedHeader(truncated, 'input') };
  return { status: 200, headers, body: text };
}
