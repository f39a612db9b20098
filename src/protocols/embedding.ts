import type { Embedded, EmbeddingInput, EmbeddingService } from '../core/embedding.ts';
import { AppError } from '../core/errors.ts';
import { equalName, modelId, sameName } from '../core/model-names.ts';
import { inSlices, type Sliced } from '../core/slices.ts';
import { normalised, shortened } from '../core/vectors.ts';
import type { Call, Headers, Reply } from '../http/call.ts';
import { readGenkey } from './controls/table.ts';
import { type DialectContext, ignoredHeader, listHeader } from './dialect.ts';
import { bodyOf, jsonText } from './endpoint.ts';
import * as f from './fields.ts';
import { requestContextOf } from './request-context.ts';
import { ttlField } from './ttl.ts';

type VectorFormat = 'float' | 'base64';

/** One vector per input. Refused for a model without pooling, which has one per token. */
export function oneEach({ vectors, pooling }: Embedded): readonly Float32Array[] {
  if (pooling !== 'none') return vectors.map(([vector]) => vector ?? new Float32Array());
  const instead = 'the loaded model has a vector for each token and none for a text; use POST /embedding';
  throw new AppError('unsupported', { feature: 'One vector for a text', instead });
}

/** Cuts vectors to a number of dimensions and normalises them. */
export function shaped(
  vectors: readonly Float32Array[],
  { dimensions, norm = 2 }: { readonly dimensions?: number | undefined; readonly norm?: number },
): readonly Float32Array[] {
  const own = vectors[0]?.length ?? 0;
  if (dimensions !== undefined && dimensions > own) {
    throw f.wrong('dimensions', `at most ${own}, which is what this model has`);
  }
  const cut =
    dimensions === undefined || dimensions === own ? vectors : vectors.map((one) => shortened(one, dimensions));
  return cut.map((vector) => normalised(vector, norm));
}

/** A JSON list, written in slices: thousands of vectors are megabytes of text. */
export function listText<Entry>(
  entries: readonly Entry[],
  write: (entry: Entry, index: number) => string,
  signal: AbortSignal,
): Promise<string> {
  return inSlices(
    (function* (): Sliced<string> {
      const written: string[] = [];
      for (const [index, entry] of entries.entries()) {
        written.push(write(entry, index));
        yield;
      }
      return `[${written.join(',')}]`;
    })(),
    { signal },
  );
}

export function vectorText(vector: Float32Array, format: VectorFormat = 'float'): string {
  return format === 'base64' ? `"${base64(vector)}"` : JSON.stringify(Array.from(vector));
}

/** Little-endian 32-bit floats on every machine. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  vector.forEach((entry, index) => {
    bytes.writeFloatLE(entry, index * Float32Array.BYTES_PER_ELEMENT);
  });
  return bytes.toString('base64');
}

/** Names the inputs that were cut. */
export function truncatedHeader(indexes: readonly number[], field: string): Headers {
  const inputs = indexes.map((index) => `${field}[${index}]`);
  return listHeader('x-parley-truncated', inputs);
}

export function total(tokens: readonly number[]): number {
  return tokens.reduce((sum, count) => sum + count, 0);
}

/** The limit of the OpenAI API. */
export const maxInputs = 2048;

const forms = 'a string, an array of strings, an array of token numbers, or an array of such arrays';

/** All forms of inputs, also mixed in one list. Empty inputs are refused. */
export const readInputs: f.Read<readonly EmbeddingInput[]> = f.described(f.promptsSchema, (value, path) => {
  if (typeof value === 'string') return [notEmpty(value, path)];
  if (!Array.isArray(value)) throw f.wrong(path, forms);
  if (value.length === 0) throw f.wrong(path, `${forms}, and not empty`);
  if (value.every((entry) => typeof entry === 'number')) return [tokensOf(value, path)];
  if (value.length > maxInputs) throw f.wrong(path, `an array of at most ${maxInputs} inputs`);
  return value.map((entry, index) => readOne(entry, `${path}[${index}]`, path));
});

function readOne(entry: unknown, at: string, path: string): EmbeddingInput {
  if (typeof entry === 'string') return notEmpty(entry, at);
  if (!Array.isArray(entry)) throw f.wrong(path, forms);
  return tokensOf(entry, at);
}

function notEmpty(text: string, at: string): string {
  if (text === '') throw f.wrong(at, 'a text that is not empty');
  return text;
}

function tokensOf(list: readonly unknown[], at: string): readonly number[] {
  if (list.length === 0 || !list.every(f.isTokenId))
    throw f.wrong(at, 'made of token numbers, which are whole and not negative');
  return list;
}

export type EmbeddingContext = Pick<DialectContext, 'taskServices' | 'modelName' | 'alias'>;

/** The text model if the request names it; any other name means the embeddings model, as in other servers. */
export function answering(
  { taskServices, modelName, alias }: EmbeddingContext,
  sent: string | undefined,
): { readonly service: EmbeddingService; readonly model: string } {
  const { embedding, textEmbedding } = taskServices ?? {};
  const text = modelName();
  const own = [text, textEmbedding?.name, embedding?.name];
  const isOwn = sent === undefined || own.some((name) => name !== undefined && equalName(name, sent));
  const requested = isOwn ? sent : (alias?.(sent) ?? sent);
  const isText = (name: string): boolean => requested !== undefined && sameName(name, requested);
  if (textEmbedding && isText(text)) return { service: textEmbedding, model: text };
  // A text model that only embeds, or failed to load, has no name as a text model.
  if (textEmbedding && isText(textEmbedding.name))
    return { service: textEmbedding, model: modelId(textEmbedding.name) };
  if (!embedding) throw new AppError('model-missing', { capability: 'embeddings', flag: '--embeddingsmodel FILE' });
  return { service: embedding, model: embedding.name };
}

/** Fields of the OpenAI embeddings API. `truncate`: whether inputs that are too long are cut by default. */
export function listFields({ truncate }: { readonly truncate: boolean }) {
  return {
    input: f.honoured(
      readInputs,
      'A text or up to 2048, also as token numbers of this model (not those of other vocabularies).',
    ),
    model: f.honoured(
      f.optionalText,
      'The name of the text model means that model; every other name means the embeddings model, which the reply names. With --routermode only text-embedding-ada-002, text-embedding-3-* and the names of --modelalias are; others are refused.',
    ),
    encoding_format: f.honoured(f.orElse(f.oneOf('float', 'base64'), 'float' as VectorFormat)),
    dimensions: f.honoured(
      f.optional(f.readPositive),
      'The first so many, made to length 1 again; more than the model has are refused.',
    ),
    truncate: f.honoured(
      f.orElse(f.readFlag, truncate),
      `What is too long ${truncate ? 'is cut, and named in x-parley-truncated; with false it is' : 'is'} refused${truncate ? '' : '; with true it is cut, and named in x-parley-truncated'}.`,
    ),
    embd_normalize: f.honoured(
      f.orElse(f.readWhole, 2),
      'As in the llama.cpp server: -1 none, 0 largest entry, 1 taxicab, 2 Euclidean, more a p-norm.',
    ),
    genkey: f.honoured(readGenkey, 'The key by which the native API can stop it.'),
    ttl: ttlField,
    user: f.ignored(),
  };
}

export async function answerList(
  call: Call,
  table: ReturnType<typeof listFields>,
  context: EmbeddingContext,
): Promise<Reply> {
  const body = await bodyOf(call);
  const fields = f.readFields(table, body);
  const { input: inputs, truncate, dimensions, embd_normalize: norm, encoding_format: format } = fields;
  const { service, model } = answering(context, fields.model);
  const request = { inputs, truncate };
  call.watch?.decoded?.(request);
  const embedded = await service.embed(request, requestContextOf(call, fields.genkey));
  if (fields.ttl !== undefined) service.keepFor?.(fields.ttl);
  const vectors = shaped(oneEach(embedded), { dimensions, norm });
  const data = await listText(
    vectors,
    (vector, index) => `{"object":"embedding","index":${index},"embedding":${vectorText(vector, format)}}`,
    call.signal,
  );
  const tokens = total(embedded.tokens);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  const text = `{"object":"list","model":${JSON.stringify(model)},"data":${data},"usage":${JSON.stringify(usage)}}`;
  return jsonText(text, { ...ignoredHeader(table, body), ...truncatedHeader(embedded.truncated, 'input') });
}
