import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { readGenkey } from '../controls/table.ts';
import { noticeHeaders } from '../dialect.ts';
import { listText, oneEach, shaped, total, truncatedHeader, vectorText } from '../embedding/encode.ts';
import { mostInputs } from '../embedding/input.ts';
import { answering, type EmbeddingParts } from '../embedding/service.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { looseFlag } from '../fields/loose.ts';
import { isAbsent, optional, orElse, type Read, reader, readText, wrong } from '../fields/readers.ts';
import { fidelityOf, honoured, ignored, readFields } from '../fields/table.ts';
import { ticketFor } from '../ticket.ts';
import { nanoseconds } from './ending.ts';
import { jsonHeaders, ollamaFamily, refusal } from './errors.ts';
import { readKeepAlive } from './keep-alive.ts';
import { modelRequired, withBody } from './request.ts';

export interface EmbeddingsParts extends EmbeddingParts {
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const dialect = 'Ollama';

const model = honoured(
  orElse(readText, ''),
  'The name of the text model embeds with that; every other name is answered by the embeddings model. With --routermode only text-embedding-ada-002, text-embedding-3-* and the names of --modelalias are; others are refused. The reply repeats the name.',
);
const keepAlive = honoured<number | undefined>(
  optional(readKeepAlive),
  'Of the embeddings model: a duration ("5m", "1h30m") or seconds; 0 unloads, a negative one never does.',
);
const options = ignored('The length is set at the start (--embeddingsmaxctx).');
const genkey = honoured(readGenkey, 'Ours: the key by which the native API can stop it.');

const readTexts: Read<readonly string[]> = (value, path) => {
  const texts = isAbsent(value) || value === '' ? [] : Array.isArray(value) ? value : [value];
  if (texts.length > mostInputs) throw wrong(path, `an array of at most ${mostInputs} texts`);
  return texts;
};

const embedFields = {
  model,
  input: honoured(readTexts, 'A text or up to 2048; none gives no vectors.'),
  truncate: honoured(
    orElse(looseFlag, true),
    'What is too long is cut, and named in x-parley-truncated; with false it is refused.',
  ),
  dimensions: honoured(
    optional(reader<number>('a whole number, 0 or more', (value) => Number.isInteger(value) && Number(value) >= 0)),
    'The first so many, made to length 1 again; 0 leaves all of them, and more than the model has are refused.',
  ),
  keep_alive: keepAlive,
  options,
  genkey,
};

const oldFields = { model, prompt: honoured(orElse(readText, '')), options, keep_alive: keepAlive, genkey };

export const embedFidelity = fidelityOf(dialect, 'POST /api/embed', embedFields);
export const embeddingsFidelity = fidelityOf(dialect, 'POST /api/embeddings', oldFields);

const guarded = {
  method: 'POST',
  match: 'ending',
  access: 'guarded',
  queued: true,
  modelSelection: 'own-name',
  family: ollamaFamily,
} as const;

export const embeddingEndpoints: readonly ModelEndpoint<EmbeddingsParts>[] = [
  {
    ...guarded,
    path: '/api/embed',
    summary: 'Embeddings of texts.',
    handle: withBody(embed),
  },
  {
    ...guarded,
    path: '/api/embeddings',
    summary: 'The embedding of one text (old form).',
    handle: withBody(embedOne),
  },
];

async function embed(body: JsonObject, call: Call, parts: EmbeddingsParts): Promise<Reply> {
  const startedAt = parts.now();
  const fields = readFields(embedFields, body);
  if (!fields.input.every((text) => typeof text === 'string')) return refusal(400, 'invalid input type');
  if (fields.model === '') return modelRequired;
  const { service } = answering(parts, fields.model);
  const name = fields.model;
  if (fields.keep_alive !== undefined) service.keepFor?.(fields.keep_alive);
  const headers = { ...jsonHeaders, ...noticeHeaders(body, embedFidelity) };
  if (fields.input.length === 0) return embedReply(name, '[]', { startedAt, loadMs: 0, tokens: 0, parts, headers });
  const request = { inputs: fields.input, truncate: fields.truncate };
  const embedded = await service.embed(request, ticketFor(call, fields.genkey));
  const vectors = shaped(oneEach(embedded), { dimensions: fields.dimensions || undefined });
  const text = await listText(vectors, (vector) => vectorText(vector), call.signal);
  return embedReply(name, text, {
    startedAt,
    loadMs: embedded.loadMs,
    tokens: total(embedded.tokens),
    parts,
    headers: { ...headers, ...truncatedHeader(embedded.truncated, 'input') },
  });
}

interface ReplyFacts {
  readonly startedAt: number;
  readonly loadMs: number;
  readonly tokens: number;
  readonly parts: EmbeddingsParts;
  readonly headers: Readonly<Record<string, string>>;
}

function embedReply(name: string, vectors: string, { startedAt, loadMs, tokens, parts, headers }: ReplyFacts): Reply {
  const times = {
    total_duration: nanoseconds(Math.max(parts.now() - startedAt, loadMs)),
    load_duration: nanoseconds(loadMs),
    prompt_eval_count: tokens,
  };
  const body = `{"model":${JSON.stringify(name)},"embeddings":${vectors},${JSON.stringify(times).slice(1)}`;
  return { status: 200, headers, body };
}

/** In the old form a vector comes as the model has it, and what is too long is always cut. */
async function embedOne(body: JsonObject, call: Call, parts: EmbeddingsParts): Promise<Reply> {
  const fields = readFields(oldFields, body);
  if (fields.model === '') return modelRequired;
  const { service } = answering(parts, fields.model);
  if (fields.keep_alive !== undefined) service.keepFor?.(fields.keep_alive);
  const headers = { ...jsonHeaders, ...noticeHeaders(body, embeddingsFidelity) };
  if (fields.prompt === '') return json({ embedding: [] }, 200, headers);
  const embedded = await service.embed({ inputs: [fields.prompt], truncate: true }, ticketFor(call, fields.genkey));
  const [vector] = oneEach(embedded);
  const told = { ...headers, ...truncatedHeader(embedded.truncated, 'input') };
  return json({ embedding: Array.from(vector ?? []) }, 200, told);
}
