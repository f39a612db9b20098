import type { ChatRequest } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { TokenizeOptions, TokenPiece } from '../../core/text-service.ts';
import { type BackendPool, onBackend } from './backend-pool.ts';
import { listAt, numberAt, objectAt, textAt } from './json.ts';
import { kinds, type RemoteKind } from './kinds.ts';
import { promptBody } from './request-body.ts';

const timeoutMs = 30_000;
/** One request per token. */
const maxPieces = 512;

type Fields = ReturnType<typeof objectAt>;

interface TokenRequest<Answer> {
  readonly path: string;
  readonly body: object;
  readonly read: (answer: unknown) => Answer | undefined;
}

/** Tokenization by the backend, which has the vocabulary. */
export class RemoteTokens {
  constructor(
    private readonly pool: BackendPool,
    private readonly model: string | undefined,
  ) {}

  tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]> {
    return this.#call('Counting tokens', (kind, model) => tokenizers[kind]?.tokenize(text, options, model));
  }

  async detokenize(tokens: readonly number[]): Promise<string> {
    if (tokens.length === 0) return '';
    return this.#call('Text of tokens', (kind, model) => tokenizers[kind]?.detokenize?.(tokens, model));
  }

  async pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]> {
    if (tokens.length > maxPieces) {
      const instead = `a remote backend is asked for at most ${maxPieces} of them`;
      throw new AppError('unsupported', { feature: 'The text of each of so many tokens', instead });
    }
    const pieces: string[] = [];
    for (const token of tokens) pieces.push(await this.detokenize([token]));
    return pieces;
  }

  /** Counts the tokens of the prompt that the backend renders from the conversation. */
  async count(request: ChatRequest, signal: AbortSignal | undefined): Promise<number> {
    const requestFor = (kind: RemoteKind, model: string) => countRequest(kind, model, request);
    const answer = await this.#call('Counting the tokens of a chat', requestFor, signal);
    if (typeof answer === 'number') return answer;
    // This backend only renders the prompt.
    return (await this.tokenize(answer, { addSpecial: true })).length;
  }

  /** The rendered prompt, if the backend can return it. */
  render(request: ChatRequest, signal: AbortSignal | undefined): Promise<string> {
    return this.#call('Showing the prompt', (kind) => renderRequest(kind, request), signal);
  }

  async #call<Answer>(
    feature: string,
    requestFor: (kind: RemoteKind, model: string) => TokenRequest<Answer> | undefined,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const options = { model: this.model, affinity: feature, signal: signal ?? new AbortController().signal };
    const limits = { milliseconds: timeoutMs, signal: options.signal };
    return onBackend(this.pool, options, async ({ backend: { kind, address, connection }, model }) => {
      const request = requestFor(kind, model.id);
      if (!request) {
        const instead = `the engine at ${address.host} (${kinds[kind].title}) has no way to ask for it`;
        throw new AppError('unsupported', { feature, instead });
      }
      const answer = request.read(await connection.json('POST', request.path, request.body, limits));
      if (answer !== undefined) return answer;
      const reason = `${address.host} gave no tokens`;
      throw new AppError('engine-failed', { capability: this.pool.capability, reason });
    });
  }
}

/** A request whose answer is an object. */
function tokenRequest<Answer>(
  path: string,
  body: object,
  read: (fields: Fields) => Answer | undefined,
): TokenRequest<Answer> {
  return { path, body, read: (answer) => read(objectAt(answer)) };
}

/** Requests of one kind of backend. */
interface Tokenizer {
  tokenize(text: string, options: TokenizeOptions, model: string): TokenRequest<readonly number[]>;
  detokenize?(tokens: readonly number[], model: string): TokenRequest<string>;
}

const numbersAt = (value: unknown): readonly number[] | undefined =>
  Array.isArray(value) && value.every((one) => typeof one === 'number') ? value : undefined;

const llamaServer: Tokenizer = {
  tokenize: (content, { addSpecial, parseSpecial = true }) => {
    const body = { content, add_special: addSpecial, parse_special: parseSpecial };
    return tokenRequest('/tokenize', body, ({ tokens }) => numbersAt(tokens));
  },
  detokenize: (tokens) => tokenRequest('/detokenize', { tokens }, ({ content }) => textAt(content)),
};

const vllm: Tokenizer = {
  tokenize: (prompt, { addSpecial }, model) =>
    tokenRequest('/tokenize', { model, prompt, add_special_tokens: addSpecial }, ({ tokens }) => numbersAt(tokens)),
  detokenize: (tokens, model) =>
    tokenRequest('/detokenize', { model, tokens }, ({ prompt, text }) => textAt(prompt) ?? textAt(text)),
};

const tokenizers: Partial<Record<RemoteKind, Tokenizer>> = {
  parley: llamaServer,
  'llama-server': llamaServer,
  koboldcpp: {
    tokenize: (prompt, { addSpecial }) =>
      tokenRequest('/api/extra/tokencount', { prompt, special: addSpecial }, ({ ids }) => numbersAt(ids)),
    detokenize: (ids) => tokenRequest('/api/extra/detokenize', { ids }, ({ result }) => textAt(result)),
  },
  vllm,
  sglang: vllm,
  tgi: {
    tokenize: (text, { addSpecial }) => ({
      path: '/tokenize',
      body: { inputs: text, add_special_tokens: addSpecial },
      read: (answer) => numbersAt(listAt(answer).map((one) => objectAt(one).id)),
    }),
  },
};

function countRequest(
  kind: RemoteKind,
  model: string,
  request: ChatRequest,
): TokenRequest<number | string> | undefined {
  const body = { model, ...promptBody(request, { kind }) };
  if (kind === 'parley') {
    return tokenRequest('/v1/chat/completions/input_tokens', body, ({ input_tokens: count }) => numberAt(count));
  }
  if (kind === 'vllm') return tokenRequest('/tokenize', body, ({ count }) => numberAt(count));
  return renderRequest(kind, request);
}

function renderRequest(kind: RemoteKind, request: ChatRequest): TokenRequest<string> | undefined {
  if (kind !== 'llama-server' && kind !== 'parley') return undefined;
  return tokenRequest('/apply-template', promptBody(request, { kind }), ({ prompt }) => textAt(prompt));
}
