import { AppError } from '../../core/errors.ts';
import type { Call, Reply } from '../../http/call.ts';
import { notFoundPage } from '../../http/pages.ts';
import { methods } from '../../http/router.ts';
import { information, write } from '../access.ts';
import type { CompletionContext, DialectServices } from '../dialect.ts';
import { answerList, type EmbeddingContext, listFields } from '../embedding.ts';
import { type ModelEndpoint, withServices, withShortPath } from '../endpoint.ts';
import { speechEndpoints } from './audio/speech.ts';
import { transcriptionEndpoints } from './audio/transcription.ts';
import { chatEndpoints } from './chat/endpoints.ts';
import { completionEndpoints } from './completions/endpoints.ts';
import { openaiRow } from './errors.ts';
import { modelsEndpoints } from './models.ts';

const embeddingFields = listFields({ truncate: false });

export const embeddingsEndpoints = withShortPath(
  openaiRow(
    '/v1/embeddings',
    'Vectors of texts, many at once.',
    (call, context: EmbeddingContext) => answerList(call, embeddingFields, context),
    {
      ...write('embeddings'),
      fields: embeddingFields,
      response: 'embeddings',
      modelSelection: 'own-name',
      batched: true,
    },
  ),
);

/**
 * Unknown paths below `/v1`: a GET gets a page, as elsewhere, unless it asks for JSON. The official clients do, and throw without a
 * reason if they get no error object.
 */
const unknownEndpoints = methods.map((method) =>
  openaiRow(
    '/v1/',
    'Everything else: 404 as a page, or as an error object for clients that ask for JSON.',
    unknownPath,
    {
      ...information,
      method,
      match: 'rest',
      // A wrong path of a client.
      recorded: true,
      queued: method === 'POST',
    },
  ),
);

function unknownPath({ method, path, headers }: Call): Reply {
  const { accept = '' } = headers;
  const asksForJson = /\bjson\b/i.test(accept) && !/\btext\/html\b/i.test(accept);
  if (method !== 'GET' || asksForJson) throw new AppError('not-found', { method, path });
  const page = notFoundPage(path);
  return { ...page, headers: { ...page.headers, vary: 'accept' } };
}

const endpoints: readonly ModelEndpoint<CompletionContext>[] = [
  ...chatEndpoints,
  ...completionEndpoints,
  ...embeddingsEndpoints,
  ...modelsEndpoints,
  ...speechEndpoints,
  ...transcriptionEndpoints,
  ...unknownEndpoints,
];

export const openaiEndpoints = (server: DialectServices) => withServices(endpoints, server);
