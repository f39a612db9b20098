import type { Ranked } from '../../core/embedding.ts';
import { jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { readGenkey } from '../controls/table.ts';
import { truncatedHeader } from '../embedding/encode.ts';
import { mostInputs } from '../embedding/input.ts';
import { answering, type EmbeddingParts } from '../embedding/service.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import {
  described,
  isObject,
  optional,
  optionalText,
  orElse,
  type Read,
  reader,
  readFlag,
  readList,
  readName,
  wrong,
} from '../fields/readers.ts';
import { type Fields, honoured, readFields } from '../fields/table.ts';
import { ticketFor } from '../ticket.ts';
import { llamacppFamily } from './errors.ts';

const readDocument: Read<string> = (value, path) => {
  const text = isObject(value) ? value.text : value;
  if (typeof text !== 'string') throw wrong(path, 'a string, or an object with a text');
  return text;
};

const readDocuments: Read<readonly string[]> = described(
  { type: 'array', items: { type: ['string', 'object'] }, minItems: 1, maxItems: mostInputs },
  (value, path) => {
    const list = readList(value, path);
    if (list.length === 0 || list.length > mostInputs) throw wrong(path, `an array of 1 to ${mostInputs} documents`);
    return list.map((entry, index) => readDocument(entry, `${path}[${index}]`));
  },
);

export const rerankFields = {
  query: honoured(readName, 'a text that fits the model beside a document'),
  documents: honoured(optional(readDocuments), 'texts, or objects with a text'),
  texts: honoured(optional(readDocuments), 'instead of documents: the reply is a bare array of index and score'),
  top_n: honoured(
    optional(
      reader<number>('a whole number above 0', (value) => Number.isInteger(value) && Number(value) > 0, {
        type: 'integer',
        minimum: 1,
      }),
    ),
    'all of them unless told otherwise',
  ),
  return_documents: honoured(orElse(readFlag, false)),
  return_text: honoured(orElse(readFlag, false), 'with texts'),
  truncate: honoured(
    orElse(readFlag, true),
    'a document that is too long is cut, and named in x-parley-truncated; with false it is refused',
  ),
  genkey: honoured(readGenkey, 'the key by which the native API can stop it'),
  model: honoured(
    optionalText,
    'the name of the text model ranks with that; every other name is answered by the embeddings model; with --routermode only the names of --modelalias are, and others are refused',
  ),
};

const paths = [
  ['/v1/rerank', 'How well documents answer a query, the best first.'],
  ['/rerank', 'Another name for /v1/rerank.'],
  ['/v1/reranking', 'Another name for /v1/rerank.'],
  ['/reranking', 'Another name for /v1/rerank.'],
] as const;

export const rerankEndpoints: readonly ModelEndpoint<EmbeddingParts>[] = paths.map(([path, summary]) => ({
  method: 'POST',
  match: 'ending',
  path,
  access: 'guarded',
  queued: true,
  modelSelection: 'own-name',
  summary,
  family: llamacppFamily,
  handle: answer,
}));

async function answer(call: Call, parts: EmbeddingParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const fields = readFields(rerankFields, body);
  const documents = fields.texts ?? fields.documents;
  if (!documents) throw wrong('documents', `an array of 1 to ${mostInputs} documents`);
  const { service, model } = answering(parts, fields.model);
  const { query, truncate } = fields;
  const ranked = await service.rank({ query, documents, truncate }, ticketFor(call, fields.genkey));
  const headers = truncatedHeader(ranked.truncated, fields.texts ? 'texts' : 'documents');
  return json(fields.texts ? bare(ranked, fields, documents) : whole(ranked, fields, documents, model), 200, headers);
}

type Asked = Fields<typeof rerankFields>;

interface Place {
  readonly index: number;
  readonly score: number;
}

/** The best first, and of equals the one that was sent first. */
function best({ scores }: Ranked, { top_n: most }: Asked): readonly Place[] {
  const places = scores.map((score, index) => ({ index, score }));
  return places.sort((left, right) => right.score - left.score || left.index - right.index).slice(0, most);
}

function whole(ranked: Ranked, asked: Asked, documents: readonly string[], model: string): object {
  return {
    object: 'list',
    model,
    results: best(ranked, asked).map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(asked.return_documents ? { document: { text: documents[index] } } : {}),
    })),
    usage: { prompt_tokens: ranked.tokens, total_tokens: ranked.tokens },
  };
}

function bare(ranked: Ranked, asked: Asked, documents: readonly string[]): object {
  return best(ranked, asked).map(({ index, score }) => ({
    index,
    score,
    ...(asked.return_text ? { text: documents[index] } : {}),
  }));
}
