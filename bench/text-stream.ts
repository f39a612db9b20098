import { request } from 'node:http';
import type { Contender } from './contender.ts';
import { nonsense } from './nonsense.ts';

/** What a client saw of one streamed answer; moments in milliseconds of `performance.now`. */
export interface StreamedText {
  readonly askedAt: number;
  /** One for each event with text: the tokens, but for those that only together make a character. */
  readonly arrivals: readonly number[];
  readonly endedAt: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly tokens: number;
}

/** How tokens are chosen, in the names of every server that may be measured. */
export type SamplingFields = Readonly<Record<string, number>>;

/** The most likely tokens. */
export const greedy: SamplingFields = { temperature: 0, top_k: 1, repeat_penalty: 1, rep_pen: 1 };

/** Fields that make a server generate exactly the requested number of tokens; each server has its own name for it. */
const toTheEnd = { ban_eos_token: true, ignore_eos: true, stream: true, stream_options: { include_usage: true } };

export function streamCompletion(
  server: Contender,
  prompt: string,
  tokens: number,
  sampling: SamplingFields = greedy,
): Promise<StreamedText> {
  return streamText(server, '/v1/completions', { ...sampling, ...toTheEnd, prompt, max_tokens: tokens });
}

/** When the tokens of a completion come until the signal, which ends it. The list grows meanwhile. */
export function arrivalsUntil(server: Contender, prompt: string, tokens: number, stop: AbortSignal) {
  const { host, port } = server;
  const body = JSON.stringify({ model: 'bench', ...greedy, ...toTheEnd, prompt, max_tokens: tokens });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const reader = new EventReader();
  const ended = new Promise<void>((resolve, reject) => {
    const failed = (error: Error) => (stop.aborted ? resolve() : reject(error));
    const options = { host, port, path: '/v1/completions', method: 'POST', headers, agent: false, signal: stop };
    const outgoing = request(options, (response) => {
      response.setEncoding('utf8');
      response.on('data', (piece: string) => reader.read(piece, performance.now()));
      response.on('error', failed);
      response.on('end', resolve);
    });
    outgoing.on('error', failed);
    outgoing.end(body);
  });
  return { arrivals: reader.arrivals as readonly number[], ended };
}

/** How many words of nonsense make about so many tokens; that is the model's affair. */
export async function wordsFor(server: Contender, tokens: number): Promise<number> {
  const words = 100;
  const { promptTokens } = await streamCompletion(server, nonsense(9, words), 20);
  return Math.floor((tokens * words) / promptTokens);
}

/** Streams the answer to a request of any of the text APIs. */
export function streamText(
  { host, port }: Contender,
  path: string,
  fields: object,
  moreHeaders: Readonly<Record<string, string>> = {},
): Promise<StreamedText> {
  const body = JSON.stringify({ model: 'bench', ...fields });
  const headers = { ...moreHeaders, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const askedAt = performance.now();
  const reader = new EventReader();
  return new Promise((resolve, reject) => {
    const outgoing = request({ host, port, path, method: 'POST', headers, agent: false }, (response) => {
      response.setEncoding('utf8');
      response.on('data', (piece: string) => reader.read(piece, performance.now()));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode} ${reader.rest}`));
        else if (!reader.usage || reader.arrivals.length === 0) reject(new Error(`${path}: the answer broke off`));
        else resolve({ askedAt, arrivals: reader.arrivals, endedAt: performance.now(), ...reader.usage });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

interface Usage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly tokens: number;
}

/** Finds the events in pieces that may begin and end anywhere. */
export class EventReader {
  readonly arrivals: number[] = [];
  usage: Usage | undefined;
  rest = '';

  read(piece: string, now: number): void {
    const frames = (this.rest + piece).split('\n\n');
    this.rest = frames.pop() ?? '';
    for (const frame of frames) this.#frame(frame, now);
  }

  #frame(frame: string, now: number): void {
    const start = frame.indexOf('data: {');
    if (start !== 0 && frame[start - 1] !== '\n') return;
    const event = JSON.parse(frame.slice(start + 'data: '.length)) as WireEvent;
    if (hasText(event)) this.arrivals.push(now);
    const usage = event.usage ?? event.message?.usage ?? event.response?.usage;
    if (usage) this.usage = usageOf(usage, this.usage);
  }
}

function hasText({ choices, type, delta, content_block }: WireEvent): boolean {
  const [choice] = choices ?? [];
  const { content, reasoning_content, tool_calls } = choice?.delta ?? {};
  if (choice?.text || content || reasoning_content || tool_calls) return true;
  if (type === 'content_block_delta' || content_block?.type === 'tool_use') return true;
  return type?.startsWith('response.') === true && typeof delta === 'string';
}

/** Messages counts what came from the cache apart, and tells the prompt at the start, the reply at the end. */
function usageOf(wire: WireUsage, before: Usage | undefined): Usage {
  const cachedTokens =
    wire.cache_read_input_tokens ??
    (wire.prompt_tokens_details ?? wire.input_tokens_details)?.cached_tokens ??
    before?.cachedTokens ??
    0;
  const apart = (wire.cache_read_input_tokens ?? 0) + (wire.cache_creation_input_tokens ?? 0);
  const prompt = wire.prompt_tokens ?? (wire.input_tokens === undefined ? undefined : wire.input_tokens + apart);
  return {
    promptTokens: prompt ?? before?.promptTokens ?? 0,
    cachedTokens,
    tokens: wire.completion_tokens ?? wire.output_tokens ?? 0,
  };
}

interface WireEvent {
  readonly type?: string;
  readonly delta?: unknown;
  readonly content_block?: { readonly type: string };
  readonly choices?: readonly {
    readonly text?: string;
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly unknown[];
    };
  }[];
  readonly usage?: WireUsage | null;
  readonly message?: { readonly usage?: WireUsage };
  readonly response?: { readonly usage?: WireUsage | null };
}

interface CachedTokens {
  readonly cached_tokens?: number;
}

interface WireUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly prompt_tokens_details?: CachedTokens | null;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly input_tokens_details?: CachedTokens | null;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
}
