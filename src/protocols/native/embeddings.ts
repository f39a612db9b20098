import { jsonObject } from '../../http/body.ts';
import { answerList, listFields } from '../embedding/list.ts';
import type { EmbeddingParts } from '../embedding/service.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { fidelityOf, readFields } from '../fields/table.ts';
import { nativeFamily } from './errors.ts';

const fields = listFields({ truncate: true });

export const embeddingsFidelity = fidelityOf('Native text API', 'POST /api/extra/embeddings', fields);

export const embeddingsEndpoint: ModelEndpoint<EmbeddingParts> = {
  method: 'POST',
  match: 'ending',
  path: '/api/extra/embeddings',
  access: 'guarded',
  queued: true,
  modelSelection: 'own-name',
  summary: 'Vectors of texts; what is too long is cut.',
  family: nativeFamily,
  handle: async (call, parts) => {
    const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
    return answerList(call, body, readFields(fields, body), embeddingsFidelity, parts);
  },
};
