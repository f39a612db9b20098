import type { ChatRequest } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { TokenizeOptions, TokenPiece } from '../../core/text-service.ts';
import type { BackendPool } from './backend-pool.ts';
import type { Body } from './controls-body.ts';
import { clientError } from './failure.ts';
import { listAt, numberAt, objectAt, textAt } from './json.ts';
import { kinds, type RemoteKind } from './kinds.ts';
import { promptBody } from './request-body.ts';

const patienceMs = 30_000;
/** Each takes a request of its own. */
const mostPieces = 512;

interface Question {
  readonly path: string;
  readonly body: Body;
  readonly read: (answer: unknown) => unknown;
}

/** Tokenization by the backend, which has the vocabulary. */
export class RemoteTokens {
  constructor(
    private readonly pool: BackendPool,
    private readonly model: string | undefined,
  ) {}

  async tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]> {
    const answer = await this.#ask('Counting tokens', (kind, model) => tokenizeQuestion(kind, model, text, options));
    return answer as readonly number[];
  }

  async detokenize(tokens: readonly number[]): Promise<string> {
    if (tokens.length === 0) return '';
    return (await this.#ask('Text of tokens', (kind, model) => detokenizeQuestion(kind, model, tokens))) as string;
  }

  async pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]> {
    if (tokens.length > mostPieces) {
      const instead = `an engine elsewhere is asked for at most ${mostPieces} of them`;
      throw new AppError('unsupported', { feature: 'The text of each of so many tokens', instead });
    }
    const pieces: string[] = [];
    for (const token of tokens) pieces.push(await this.detokenize([token]));
    return pieces;
  }

  /** Counts the tokens of the prompt that the backend renders from the conversation. */
  async count(request: ChatRequest, signal: AbortSignal | undefined): Promise<number> {
    const count = (kind: RemoteKind, model: string) => countQuestion(kind, model, request);
    const answer = await this.#ask('Counting the tokens of a chat', count, signal);
    if (typeof answer === 'number') return answer;
    // This backend only renders the prompt.
    return (await this.tokenize(String(answer), { addSpecial: true })).length;
  }

  /** The rendered prompt, if the backend can return it. */
  async render(request: ChatRequest, signal: AbortSignal | undefined): Promise<string> {
    const question = (kind: RemoteKind) => renderQuestion(kind, request);
    return String(await this.#ask('Showing the prompt', question, signal));
  }

  async #ask(
    feature: string,
    question: (kind: RemoteKind, model: string) => Question | undefined,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const assignment = this.pool.assign(this.model, feature, new Set());
    if (!assignment) throw this.pool.troubleError(this.model);
    const { backend, model, done } = assignment;
    const kind = backend.identity?.kind ?? 'openai';
    try {
      const asked = question(kind, model.id);
      const { host } = backend.address;
      if (!asked) {
        const instead = `the engine at ${host} (${kinds[kind].title}) has no way to ask for it`;
        throw new AppError('unsupported', { feature, instead });
      }
      const options = { milliseconds: patienceMs, ...(signal ? { signal } : {}) };
      const answer = asked.read(await backend.connection.json('POST', asked.path, asked.body, options));
      if (answer !== undefined) return answer;
      throw new AppError('engine-failed', { capability: this.pool.capability, reason: `${host} gave no tokens` });
    } catch (error) {
      throw clientError(error, this.pool.capability);
    } finally {
      done();
    }
  }
}

function numbers(value: unknown): readonly number[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'number') ? value : undefined;
}

function tokenizeQuestion(
  kind: RemoteKind,
  model: string,
  text: string,
  { addSpecial, parseSpecial = true }: TokenizeOptions,
): Question | undefined {
  const read = (answer: unknown) => numbers(objectAt(answer).tokens);
  switch (kind) {
    case 'parley':
    case 'llama-server':
      return { path: '/tokenize', body: { content: text, add_special: addSpecial, parse_special: parseSpecial }, read };
    case 'koboldcpp':
      return {
        path: '/api/extra/tokencount',
        body: { prompt: text, special: addSpecial },
        read: (answer) => numbers(objectAt(answer).ids),
      };
    case 'vllm':
    case 'sglang':
      return { path: '/tokenize', body: { model, prompt: text, add_special_tokens: addSpecial }, read };
    case 'tgi':
      return {
        path: '/tokenize',
        body: { inputs: text, add_special_tokens: addSpecial },
        read: (answer) => numbers(listAt(answer).map((one) => objectAt(one).id)),
      };
    case 'openai':
      return undefined;
  }
}

function detokenizeQuestion(kind: RemoteKind, model: string, tokens: readonly number[]): Question | undefined {
  switch (kind) {
    case 'parley':
    case 'llama-server':
      return { path: '/detokenize', body: { tokens }, read: (answer) => textAt(objectAt(answer).content) };
    case 'koboldcpp':
      return {
        path: '/api/extra/detokenize',
        body: { ids: tokens },
        read: (answer) => textAt(objectAt(answer).result),
      };
    case 'vllm':
    case 'sglang':
      return {
        path: '/detokenize',
        body: { model, tokens },
        read: (answer) => textAt(objectAt(answer).prompt) ?? textAt(objectAt(answer).text),
      };
    default:
      return undefined;
  }
}

function countQuestion(kind: RemoteKind, model: string, request: ChatRequest): Question | undefined {
  const prompt = promptBody(request, { kind });
  if (kind === 'parley') {
    return {
      path: '/v1/chat/completions/input_tokens',
      body: { model, ...prompt },
      read: (answer) => numberAt(objectAt(answer).input_tokens),
    };
  }
  if (kind === 'vllm') {
    return { path: '/tokenize', body: { model, ...prompt }, read: (answer) => numberAt(objectAt(answer).count) };
  }
  return renderQuestion(kind, request);
}

function renderQuestion(kind: RemoteKind, request: ChatRequest): Question | undefined {
  if (kind !== 'llama-server' && kind !== 'parley') return undefined;
  const read = (answer: unknown) => textAt(objectAt(answer).prompt);
  return { path: '/apply-template', body: promptBody(request, { kind }), read };
}
