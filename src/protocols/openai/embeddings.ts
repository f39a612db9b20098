import { answerList, listFields } from '../embedding/list.ts';
import type { EmbeddingParts } from '../embedding/service.ts';
import { withShortPath } from '../endpoint.ts';
import { fidelityOf } from '../fields.ts';
import { openaiRow } from './errors.ts';
import { dialect } from './fields.ts';

const fields = listFields({ truncate: false });

export const embeddingsFidelity = fidelityOf(dialect, 'POST /v1/embeddings', fields);

export const embeddingsEndpoints = withShortPath(
  openaiRow(
    '/v1/embeddings',
    'Vectors of texts, many at once.',
    (call, parts: EmbeddingParts) => answerList(call, fields, embeddingsFidelity, parts),
    { modelSelection: 'own-name' },
  ),
);
