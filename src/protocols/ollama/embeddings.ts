import type { JsonObject } from '../../http/body.ts';
import type { Endpoint, Reply } from '../../http/call.ts';
import { isAbsent } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { ollamaFamily, refusal } from './errors.ts';
import { embeddingsFields, embedFields } from './fields.ts';
import { modelRequired, withBody } from './request.ts';

/** Both endpoints read their requests and then say that no model for it is there. */
export function embeddingEndpoints(): Endpoint[] {
  const guarded = { method: 'POST', match: 'ending', access: 'guarded', queued: true, family: ollamaFamily } as const;
  return [
    { ...guarded, path: '/api/embed', summary: 'Embeddings of texts.', handle: withBody(embed) },
    {
      ...guarded,
      path: '/api/embeddings',
      summary: 'The embedding of one text (old form).',
      handle: withBody(embedOne),
    },
  ];
}

function embed(body: JsonObject): Reply {
  const { input, model } = readFields(embedFields, body);
  const valid =
    isAbsent(input) ||
    typeof input === 'string' ||
    (Array.isArray(input) && input.every((entry) => typeof entry === 'string'));
  if (!valid) return refusal(400, 'invalid input type');
  return withoutModel(model);
}

function embedOne(body: JsonObject): Reply {
  return withoutModel(readFields(embeddingsFields, body).model);
}

function withoutModel(model: string): Reply {
  if (model === '') return modelRequired;
  return refusal(503, 'No embeddings model can be loaded yet.', { 'x-should-retry': 'false' });
}
