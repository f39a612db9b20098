import type { Call, Reply } from '../../http/call.ts';
import { answerList, listFields } from '../embedding/list.ts';
import type { EmbeddingParts } from '../embedding/service.ts';
import { bodyOf, withShortPath } from '../endpoint.ts';
import { fidelityOf, readFields } from '../fields/table.ts';
import { openaiRow } from './errors.ts';
import { dialect } from './fields.ts';

const fields = listFields({ truncate: false });

export const embeddingsFidelity = fidelityOf(dialect, 'POST /v1/embeddings', fields);

export const embeddingsEndpoints = withShortPath(
  openaiRow('/v1/embeddings', 'Vectors of texts, many at once.', answer, { modelSelection: 'own-name' }),
);

async function answer(call: Call, parts: EmbeddingParts): Promise<Reply> {
  const body = await bodyOf(call);
  return answerList(call, body, readFields(fields, body), embeddingsFidelity, parts);
}
