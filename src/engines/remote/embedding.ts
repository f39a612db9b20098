import type { EmbeddingEngine, EmbeddingInput, EmbeddingRequest, RankRequest } from '../../core/embedding.ts';
import { AppError } from '../../core/errors.ts';
import type { SentFields } from '../../core/sent-fields.ts';
import { cosine } from '../../core/vectors.ts';
import { type BackendFacts, type CallOptions, callBackend, RemoteTaskEngine, withBackend } from './backend-pool.ts';
import { RemoteFailure } from './failure.ts';
import { listAt, numberAt, objectAt, textAt } from './json.ts';

/** Batch limit; some backends reject more. */
const maxInputs = 256;

/** Backends do not report their pooling; this is what the reply states. */
const pooling = 'mean' as const;

type CallContext = Pick<CallOptions, 'signal' | 'sent'>;

/** Embeddings from remote backends, by `POST /v1/embeddings`. */
export class RemoteEmbedding
  extends RemoteTaskEngine<{ readonly model: string | undefined }>
  implements EmbeddingEngine
{
  #facts: ReturnType<EmbeddingEngine['facts']>;

  facts() {
    return this.#facts;
  }

  async embed(
    { inputs, truncate, pooling: requestedPooling }: EmbeddingRequest,
    signal: AbortSignal,
    sent?: SentFields,
  ) {
    if (requestedPooling !== undefined) {
      const instead = 'the remote backend chooses the pooling';
      throw new AppError('unsupported', { feature: `pooling ${requestedPooling}`, instead });
    }
    const vectors: (readonly Float32Array[])[] = Array.from({ length: inputs.length });
    const tokens: number[] = Array.from({ length: inputs.length }, () => 0);
    for (const indexes of batches(inputs)) {
      const batch = indexes.map((index) => inputs[index] as EmbeddingInput);
      const embedded = await this.#batch(batch, truncate, { signal, sent });
      const lengths = batch.map(({ length }) => length);
      const shares = shared(embedded.tokens, lengths);
      for (const [position, index] of indexes.entries()) {
        vectors[index] = [embedded.vectors[position] as Float32Array];
        tokens[index] = shares[position] ?? 0;
      }
    }
    return { vectors, tokens, truncated: [], pooling };
  }

  /** Uses `/v1/rerank` if the backend has it, otherwise the cosine similarity of embeddings. */
  async rank(request: RankRequest, signal: AbortSignal, sent?: SentFields) {
    try {
      return await this.#reranked(request, { signal, sent });
    } catch (error) {
      if (!(error instanceof RemoteFailure) || error.type !== 'failed') throw error;
    }
    const { vectors, tokens } = await this.embed(
      { inputs: [request.query, ...request.documents], truncate: request.truncate },
      signal,
      sent,
    );
    const [query, ...documents] = vectors.map(([vector]) => vector ?? new Float32Array());
    const scores = documents.map((document) => cosine(query ?? new Float32Array(), document));
    return { scores, tokens: tokens.reduce((sum, count) => sum + count, 0), truncated: [] };
  }

  async #reranked({ query, documents }: RankRequest, call: CallContext) {
    const requestFor = ({ model: { id } }: BackendFacts) => ({
      path: '/v1/rerank',
      body: { model: id, query, documents },
    });
    const options = { model: this.deps.model, affinity: query, ...call };
    // A backend without this path fails, and then embeddings are compared.
    const { answer, facts } = await callBackend(this.pool, requestFor, options, withBackend);
    const { results, usage } = objectAt(answer);
    const scores = documents.map(() => Number.NaN);
    for (const result of listAt(results).map(objectAt)) {
      const index = numberAt(result.index);
      if (index !== undefined && index in scores) scores[index] = numberAt(result.relevance_score) ?? Number.NaN;
    }
    if (scores.some(Number.isNaN)) throw new RemoteFailure('failed', facts.host, 'it ranked not all documents');
    return { scores, tokens: numberAt(objectAt(usage).total_tokens) ?? 0, truncated: [] };
  }

  async #batch(inputs: readonly EmbeddingInput[], truncate: boolean, call: CallContext) {
    const requestFor = ({ kind, model: { id } }: BackendFacts) => ({
      path: '/v1/embeddings',
      body: {
        model: id,
        input: inputs,
        encoding_format: 'float',
        ...(kind === 'parley' ? { truncate } : {}),
        ...(kind === 'vllm' && truncate ? { truncate_prompt_tokens: -1 } : {}),
      },
    });
    const { capability } = this.pool;
    const options = { model: this.deps.model, affinity: String(inputs[0]).slice(0, 256), ...call };
    const { answer, facts } = await callBackend(this.pool, requestFor, options);
    const { data, usage } = objectAt(answer);
    const vectors: Float32Array[] = Array.from({ length: inputs.length });
    for (const [position, entry] of listAt(data).map(objectAt).entries()) {
      vectors[numberAt(entry.index) ?? position] = vectorOf(entry.embedding);
    }
    const [first] = vectors;
    if (!first?.length || vectors.length !== inputs.length || vectors.some((one) => one?.length !== first.length)) {
      throw new AppError('engine-failed', { capability, reason: `${facts.host} gave no vectors that fit` });
    }
    this.#facts = {
      dimensions: first.length,
      maxTokens: facts.model.contextSize ?? 0,
      pooling,
      architecture: '',
      parameters: 0,
      sizeBytes: 0,
    };
    return { vectors, tokens: numberAt(objectAt(usage).prompt_tokens) ?? 0 };
  }
}

/** A list of numbers, or base64 from backends that ignore `encoding_format`. */
function vectorOf(value: unknown): Float32Array {
  const encoded = textAt(value);
  if (encoded === undefined) return Float32Array.from(listAt(value) as readonly number[]);
  const bytes = Buffer.from(encoded, 'base64');
  return Float32Array.from({ length: bytes.length >> 2 }, (_, index) => bytes.readFloatLE(index * 4));
}

/** Indexes of the inputs per batch: texts and token lists are sent separately. */
function batches(inputs: readonly EmbeddingInput[]): readonly (readonly number[])[] {
  const result: number[][] = [];
  for (const isText of [true, false]) {
    const group = [...inputs.keys()].filter((index) => (typeof inputs[index] === 'string') === isText);
    for (let start = 0; start < group.length; start += maxInputs) result.push(group.slice(start, start + maxInputs));
  }
  return result;
}

/** Backends report only the sum of tokens; it is divided by the lengths of the inputs. */
export function shared(total: number, lengths: readonly number[]): readonly number[] {
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  let [length, counted] = [0, 0];
  return lengths.map((own) => {
    length += own;
    const before = counted;
    counted = whole === 0 ? 0 : Math.round((total * length) / whole);
    return counted - before;
  });
}
