import { jsonObject } from '../../http/body.ts';
import { answerList, listFields } from '../embedding/list.ts';
import type { EmbeddingParts } from '../embedding/service.ts';
import { fidelityOf, readFields } from '../fields/table.ts';
import { withShortPath } from '../json-endpoint.ts';
import { generating } from './errors.ts';
import { dialect } from './fields.ts';

const fields = listFields({ truncate: false });

export const embeddingsFidelity = fidelityOf(dialect, 'POST /v1/embeddings', fields);

export const embeddingsEndpoints = withShortPath<EmbeddingParts>({
  ...generating,
  path: '/v1/embeddings',
  modelSelection: 'own-name',
  summary: 'Vectors of texts, many at once.',
  handle: async (call, parts) => {
    const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
    return answerList(call, body, readFields(fields, body), embeddingsFidelity, parts);
  },
});
