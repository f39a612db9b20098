import { expect } from 'vitest';
import { neverEnding } from '../live/client.ts';

/** A dialect as a client of it reads errors. */
export interface Dialect {
  readonly name: string;
  readonly path: (stream: boolean) => string;
  /** A generation of `endlessTokens`: its model may not end it. */
  readonly endless: (prompt: string, stream: boolean) => object;
  /** The sentence of an error body; fails if the body has another form. */
  readonly sentence: (body: unknown) => string;
  /** The sentence of the last event of a stream that failed. */
  readonly streamSentence: (text: string) => string;
}

const endlessTokens = 1500;
const message = (content: string) => ({ messages: [{ role: 'user', content }] });
const lastOf = (text: string, pattern: RegExp): string => [...text.matchAll(pattern)].at(-1)?.[1] ?? '';
const jsonIn = (text: string): unknown => {
  expect(text, 'the stream ends with an event').not.toBe('');
  return JSON.parse(text);
};

interface OpenaiError {
  readonly error: { readonly message: string };
}
const openaiSentence = (body: unknown): string => {
  expect(body).toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } });
  return (body as OpenaiError).error.message;
};
const nativeSentence = (body: unknown): string => {
  expect(body).toMatchObject({ detail: { msg: expect.any(String), type: expect.any(String) } });
  return (body as { detail: { msg: string } }).detail.msg;
};
const messagesSentence = (body: unknown): string => {
  expect(body).toMatchObject({ type: 'error', error: { type: expect.any(String), message: expect.any(String) } });
  return (body as OpenaiError).error.message;
};
const ollamaSentence = (body: unknown): string => {
  expect(body).toMatchObject({ error: expect.any(String) });
  return (body as { error: string }).error;
};

export const openai: Dialect = {
  name: 'OpenAI',
  path: () => '/v1/chat/completions',
  endless: (prompt, stream) => ({ ...message(prompt), stream, max_tokens: endlessTokens, ...neverEnding }),
  sentence: openaiSentence,
  streamSentence: (text) => openaiSentence(jsonIn(lastOf(text.replace('data: [DONE]', ''), /^data: (.+)$/gm))),
};
export const messages: Dialect = {
  name: 'Messages',
  path: () => '/v1/messages',
  endless: (prompt, stream) => ({ ...message(prompt), stream, max_tokens: endlessTokens, ...neverEnding }),
  sentence: messagesSentence,
  streamSentence: (text) => messagesSentence(jsonIn(lastOf(text, /^event: error\ndata: (.+)$/gm))),
};
export const ollama: Dialect = {
  name: 'Ollama',
  path: () => '/api/chat',
  endless: (prompt, stream) => ({
    ...message(prompt),
    model: 'any',
    stream,
    options: { num_predict: endlessTokens, ...neverEnding },
  }),
  sentence: ollamaSentence,
  streamSentence: (text) => ollamaSentence(jsonIn(lastOf(text, /^(\{.+)$/gm))),
};
export const native: Dialect = {
  name: 'native',
  path: (stream) => (stream ? '/api/extra/generate/stream' : '/api/v1/generate'),
  endless: (prompt) => ({ prompt, max_length: endlessTokens, ...neverEnding }),
  sentence: nativeSentence,
  streamSentence: (text) => {
    const event = jsonIn(lastOf(text, /^data: (.+)$/gm)) as { error?: { message?: string } };
    expect(event).toMatchObject({ finish_reason: 'error', error: { type: 'server_error' } });
    return event.error?.message ?? '';
  },
};
export const textDialects: readonly Dialect[] = [openai, messages, ollama, native];

/** The forms of errors at other paths. */
export const sentenceOf = {
  openai: openaiSentence,
  messages: messagesSentence,
  ollama: ollamaSentence,
  native: nativeSentence,
};

export interface UnderWay {
  readonly dialect: Dialect;
  readonly stream: boolean;
  /** Resolves with the first bytes of a stream. */
  readonly begun: Promise<void>;
  readonly reply: Promise<{ readonly status: number; readonly text: string }>;
  leave(): void;
}

/** Asks for long replies in every dialect, whole and streamed. */
export function askEverywhere(base: string, prompt: string): readonly UnderWay[] {
  return textDialects.flatMap((dialect) => [false, true].map((stream) => ask(base, dialect, prompt, stream)));
}

export function ask(base: string, dialect: Dialect, prompt: string, stream: boolean): UnderWay {
  const controller = new AbortController();
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const run = async () => {
    const reply = await fetch(`${base}${dialect.path(stream)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(dialect.endless(`${prompt} (${dialect.name}${stream ? ', streamed' : ''})`, stream)),
      signal: controller.signal,
    });
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of reply.body ?? []) {
      text += decoder.decode(piece as Uint8Array, { stream: true });
      begin();
    }
    return { status: reply.status, text };
  };
  const reply = run();
  reply.catch(() => {});
  return { dialect, stream, begun, reply, leave: () => controller.abort() };
}

/** The sentence that a client reads at the end of a request that failed, in its dialect. */
export async function failedWith({ dialect, stream, reply }: UnderWay): Promise<{ status: number; sentence: string }> {
  const { status, text } = await reply;
  const inStream = stream && status === 200;
  if (!inStream) expect(status, `${dialect.name}: ${text.slice(0, 300)}`).toBeGreaterThanOrEqual(400);
  return { status, sentence: inStream ? dialect.streamSentence(text) : dialect.sentence(JSON.parse(text)) };
}
