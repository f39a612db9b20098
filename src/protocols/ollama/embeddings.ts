import type { JsonObject } from '../../http/body.ts';
import type { Call, Reply } from '../../http/call.ts';
import { write } from '../access.ts';
import { type DialectContext, ignoredHeader } from '../dialect.ts';
import {
  answering,
  type EmbeddingContext,
  listText,
  oneEach,
  shaped,
  total,
  truncatedHeader,
  vectorText,
} from '../embedding.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { readFields } from '../fields.ts';
import { requestContextOf } from '../request-context.ts';
import { nanoseconds } from './encode.ts';
import { jsonReply, ollamaRow, refusal, withBody } from './errors.ts';
import { embedFields, oldEmbedFields } from './fields.ts';

export type EmbeddingsContext = EmbeddingContext & Pick<DialectContext, 'now'>;

const own = { ...write('embeddings'), modelSelection: 'own-name' } as const;

export const embeddingEndpoints: readonly ModelEndpoint<EmbeddingsContext>[] = [
  ollamaRow('/api/embed', 'Embeddings of texts.', withBody(embed), { ...own, fields: embedFields, response: 'embed' }),
  ollamaRow('/api/embeddings', 'The embedding of one text (old form).', withBody(embedOne), {
    ...own,
    fields: oldEmbedFields,
    response: 'embedding',
  }),
];

const nothing = { vectors: [], tokens: [], truncated: [], pooling: 'mean', loadMs: 0 } as const;

async function embed(body: JsonObject, call: Call, context: EmbeddingsContext): Promise<Reply> {
  const startedAt = context.now();
  const { model: requested, input, ...fields } = readFields(embedFields, body);
  if (!input.every((text) => typeof text === 'string')) return refusal(400, 'invalid input type');
  const service = serviceFor(requested, fields.keep_alive, context);
  const model = requested || service.name;
  const request = { inputs: input, truncate: fields.truncate };
  call.watch?.decoded?.(request);
  const embedded = input.length === 0 ? nothing : await service.embed(request, requestContextOf(call, fields.genkey));
  const dimensions = input.length === 0 ? undefined : fields.dimensions || undefined;
  const vectors = await listText(shaped(oneEach(embedded), { dimensions }), (one) => vectorText(one), call.signal);
  const { loadMs } = embedded;
  const figures = {
    total_duration: nanoseconds(Math.max(context.now() - startedAt, loadMs)),
    load_duration: nanoseconds(loadMs),
    prompt_eval_count: total(embedded.tokens),
  };
  const text = `{"model":${JSON.stringify(model)},"embeddings":${vectors},${JSON.stringify(figures).slice(1)}`;
  const headers = { ...ignoredHeader(embedFields, body), ...truncatedHeader(embedded.truncated, 'input') };
  return { ...jsonReply({}, headers), body: text };
}

/** Without a name, the embeddings model. */
function serviceFor(model: string, keepAlive: number | undefined, context: EmbeddingsContext) {
  const { service } = answering(context, model || undefined);
  if (keepAlive !== undefined) service.keepFor?.(keepAlive);
  return service;
}

/** In the old form the vector is not normalised, and what is too long is always cut. */
async function embedOne(body: JsonObject, call: Call, context: EmbeddingsContext): Promise<Reply> {
  const { model, prompt, keep_alive: keepAlive, genkey } = readFields(oldEmbedFields, body);
  const service = serviceFor(model, keepAlive, context);
  const headers = ignoredHeader(oldEmbedFields, body);
  if (prompt === '') return jsonReply({ embedding: [] }, headers);
  const request = { inputs: [prompt], truncate: true };
  call.watch?.decoded?.(request);
  const embedded = await service.embed(request, requestContextOf(call, genkey));
  const [vector] = oneEach(embedded);
  const truncated = truncatedHeader(embedded.truncated, 'input');
  return jsonReply({ embedding: Array.from(vector ?? []) }, { ...headers, ...truncated });
}
