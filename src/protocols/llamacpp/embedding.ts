import { normalised } from '../../core/vectors.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { write } from '../access.ts';
import { readGenkey } from '../controls/table.ts';
import {
  answering,
  type EmbeddingContext,
  listText,
  maxInputs,
  readInputs,
  truncatedHeader,
  vectorText,
} from '../embedding.ts';
import { atPaths, bodyOf, endpointRow, jsonText, type ModelEndpoint } from '../endpoint.ts';
import * as f from '../fields.ts';
import { requestContextOf } from '../request-context.ts';
import { llamacppDialect } from './errors.ts';

const embeddingFields = {
  content: f.honoured(f.optional(readInputs), 'a text or several, also as token numbers of this model'),
  input: f.honoured(f.optional(readInputs), 'another name of content, which wins'),
  embd_normalize: f.honoured(
    f.orElse(f.readTruncated, 2),
    '-1 none, 0 largest entry, 1 taxicab, 2 Euclidean, more a p-norm',
  ),
  truncate: f.honoured(
    f.orElse(f.readFlag, false),
    'ours: what is too long is refused, or with true cut and named in x-parley-truncated',
  ),
  pooling: f.honoured(
    f.optional(f.oneOf('none', 'mean', 'cls', 'last')),
    'ours: none gives a vector for each token; otherwise the way of the model',
  ),
  genkey: f.honoured(readGenkey, 'the key by which the native API can stop it'),
  model: f.honoured(f.optionalText, 'the name of the text model embeds with that'),
};

const readDocuments: f.Read<readonly string[]> = f.described(
  { type: 'array', items: { type: ['string', 'object'] }, minItems: 1, maxItems: maxInputs },
  (value, path) => {
    const list = f.readList(value, path);
    if (list.length === 0 || list.length > maxInputs) throw f.wrong(path, `an array of 1 to ${maxInputs} documents`);
    return list.map((entry, index) => {
      const text = f.isObject(entry) ? entry.text : entry;
      if (typeof text !== 'string') throw f.wrong(`${path}[${index}]`, 'a string, or an object with a text');
      return text;
    });
  },
);

const rerankFields = {
  query: f.honoured(f.readName, 'a text that fits the model beside a document'),
  documents: f.honoured(f.optional(readDocuments), 'texts, or objects with a text'),
  texts: f.honoured(f.optional(readDocuments), 'instead of documents: the reply is a bare array of index and score'),
  top_n: f.honoured(f.optional(f.readPositive), 'all of them by default'),
  return_documents: f.honoured(f.orElse(f.readFlag, false)),
  return_text: f.honoured(f.orElse(f.readFlag, false), 'with texts'),
  truncate: f.honoured(
    f.orElse(f.readFlag, true),
    'a document that is too long is cut, and named in x-parley-truncated; with false it is refused',
  ),
  genkey: f.honoured(readGenkey, 'the key by which the native API can stop it'),
  model: f.honoured(
    f.optionalText,
    'the name of the text model ranks with that; every other name is answered by the embeddings model; with --routermode only the names of --modelalias are, and others are refused',
  ),
};

const embeddingModel = { queued: true, modelSelection: 'own-name' } as const;
const row = endpointRow(write('embeddings'), { method: 'POST', dialect: llamacppDialect, ...embeddingModel });

export const embeddingEndpoints: readonly ModelEndpoint<EmbeddingContext>[] = [
  row('/embedding', 'Vectors of texts, in the form of the llama.cpp server.', answerEmbedding, {
    fields: embeddingFields,
    response: 'embedding',
    shared: { path: '/embeddings', own: ['content'], foreign: ['input', 'encoding_format'] },
  }),
  ...atPaths(
    row('/v1/rerank', 'How well documents answer a query, the best first.', answerRerank, {
      fields: rerankFields,
      response: 'rerank',
    }),
    ...['/rerank', '/v1/reranking', '/reranking'],
  ),
];

/** A bare array; each entry has an array of vectors, because there may be one for each token. */
async function answerEmbedding(call: Call, context: EmbeddingContext): Promise<Reply> {
  const { embd_normalize: norm, truncate, pooling, ...fields } = f.readFields(embeddingFields, await bodyOf(call));
  const inputs = fields.content ?? fields.input;
  if (!inputs) throw f.wrong('content', 'a string or an array of strings');
  const { service } = answering(context, fields.model);
  const request = { inputs, truncate, ...(pooling ? { pooling } : {}) };
  call.watch?.decoded?.(request);
  const { vectors, truncated } = await service.embed(request, requestContextOf(call, fields.genkey));
  const text = await listText(
    vectors,
    (list, index) =>
      `{"index":${index},"embedding":[${list.map((vector) => vectorText(normalised(vector, norm))).join(',')}]}`,
    call.signal,
  );
  return jsonText(text, truncatedHeader(truncated, 'input'));
}

async function answerRerank(call: Call, context: EmbeddingContext): Promise<Reply> {
  const fields = f.readFields(rerankFields, await bodyOf(call));
  const documents = fields.texts ?? fields.documents;
  if (!documents) throw f.wrong('documents', `an array of 1 to ${maxInputs} documents`);
  const { service, model } = answering(context, fields.model);
  const { query, truncate } = fields;
  const ranked = await service.rank({ query, documents, truncate }, requestContextOf(call, fields.genkey));
  const headers = truncatedHeader(ranked.truncated, fields.texts ? 'texts' : 'documents');
  // The best first, and of equals the one that was sent first.
  const best = ranked.scores
    .map((score, index) => ({ index, score }))
    .sort((left, right) => right.score - left.score || left.index - right.index)
    .slice(0, fields.top_n);
  if (fields.texts) {
    const results = best.map((entry) => (fields.return_text ? { ...entry, text: documents[entry.index] } : entry));
    return json(results, 200, headers);
  }
  const results = best.map(({ index, score }) => ({
    index,
    relevance_score: score,
    ...(fields.return_documents ? { document: { text: documents[index] } } : {}),
  }));
  const usage = { prompt_tokens: ranked.tokens, total_tokens: ranked.tokens };
  return json({ object: 'list', model, results, usage }, 200, headers);
}
