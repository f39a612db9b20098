import { jsonObject } from '../../http/body.ts';
import type { Call } from '../../http/call.ts';
import { answerList, listFields } from '../embedding/list.ts';
import type { EmbeddingParts } from '../embedding/service.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { fidelityOf, readFields } from '../fields/table.ts';
import { openaiFamily } from './errors.ts';
import { dialect } from './fields.ts';

const fields = listFields({ truncate: false });

export const embeddingsFidelity = fidelityOf(dialect, 'POST /v1/embeddings', fields);

const handle = async (call: Call, parts: EmbeddingParts) => {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  return answerList(call, body, readFields(fields, body), embeddingsFidelity, parts);
};
const guarded = {
  method: 'POST',
  access: 'guarded',
  queued: true,
  modelSelection: 'own-name',
  family: openaiFamily,
  handle,
} as const;

/** The short path must match whole: as an ending it would catch those of other families. */
export const embeddingsEndpoints: readonly ModelEndpoint<EmbeddingParts>[] = [
  { ...guarded, match: 'ending', path: '/v1/embeddings', summary: 'Vectors of texts, many at once.' },
  { ...guarded, match: 'exact', path: '/embeddings', summary: 'Another name for /v1/embeddings.' },
];
