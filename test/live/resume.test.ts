import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anthropicClient, openaiClient } from '../sdk/clients.ts';
import { neverEnding } from './client.ts';
import { liveServers, program, programEnvironment } from './server.ts';

const startServer = liveServers();
const asking = { 'x-parley-resumable': '1' };
const messages = [{ role: 'user' as const, content: 'Tell me about the sea.' }];
const prompt = 'Once upon a time there was a lighthouse';
const same = { temperature: 0, seed: 7, ...neverEnding };

type Event = Record<string, unknown>;

interface Dialect {
  readonly path: string;
  readonly body: object;
  /** The text of an event. */
  readonly text: (event: Event) => unknown;
}

interface Choice {
  readonly delta?: { readonly content?: string };
  readonly text?: string;
}
const choiceOf = (event: Event): Choice | undefined => (event.choices as readonly Choice[] | undefined)?.[0];
const ollama = { model: 'any', options: { ...same, num_predict: 16 } };

const dialects: Readonly<Record<string, Dialect>> = {
  'OpenAI chat': {
    path: '/v1/chat/completions',
    body: { ...same, messages, max_tokens: 16, stream: true },
    text: (event) => choiceOf(event)?.delta?.content,
  },
  'OpenAI completions': {
    path: '/v1/completions',
    body: { ...same, prompt, max_tokens: 16, stream: true },
    text: (event) => choiceOf(event)?.text,
  },
  Responses: {
    path: '/v1/responses',
    body: { ...same, input: messages[0]?.content, max_output_tokens: 16, stream: true },
    text: ({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''),
  },
  Messages: {
    path: '/v1/messages',
    body: { ...same, model: 'any', messages, max_tokens: 16, stream: true },
    text: ({ delta }) => (delta as { text?: string } | undefined)?.text,
  },
  'Ollama chat': {
    path: '/api/chat',
    body: { ...ollama, messages },
    text: ({ message }) => (message as { content?: string } | undefined)?.content,
  },
  'Ollama generate': { path: '/api/generate', body: { ...ollama, prompt }, text: ({ response }) => response },
  'llama.cpp': {
    path: '/completion',
    body: { ...same, prompt, n_predict: 16, stream: true },
    text: ({ content }) => content,
  },
  native: {
    path: '/api/extra/generate/stream',
    body: { temperature: 0, sampler_seed: 7, prompt, max_length: 16, ...neverEnding },
    text: ({ token }) => token,
  },
};

/** The events of a stream with their numbers, if they have any; an incomplete one at the end is left out. */
function eventsIn(text: string): { readonly id: number; readonly event: Event }[] {
  const isLines = text.startsWith('{');
  const complete = text.slice(0, text.lastIndexOf(isLines ? '\n' : '\n\n') + 1);
  return complete.split(isLines ? '\n' : '\n\n').flatMap((part) => {
    const data = isLines ? part : /^data: (.*)$/m.exec(part)?.[1];
    if (!data || data === '[DONE]') return [];
    const event = JSON.parse(data) as Event;
    return [{ id: Number(isLines ? event.i : /^id: (\d+)$/m.exec(part)?.[1]), event }];
  });
}

const sayingOf = (text: string, dialect: Dialect): string =>
  eventsIn(text)
    .map(({ event }) => dialect.text(event) ?? '')
    .join('');

/** What was read until the stream had this many events; the connection is closed then. */
async function readSome(response: Response, events: number): Promise<string> {
  const decoder = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (eventsIn(text).length < events) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  const isLines = text.startsWith('{');
  return text.slice(0, text.lastIndexOf(isLines ? '\n' : '\n\n') + (isLines ? 1 : 2));
}

describe('resumable streams', () => {
  let base: string;
  beforeAll(async () => {
    ({ base } = await startServer(['--ctx-size', '1024']));
  });
  const send = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(base + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  test.each(Object.keys(dialects))('%s: cut in the middle and taken up, it is the uncut reply', async (name) => {
    const dialect = dialects[name] as Dialect;
    // The prompt is in the cache of both that are compared.
    await (await send(dialect.path, dialect.body)).text();
    const uncut = await (await send(dialect.path, dialect.body)).text();
    const response = await send(dialect.path, dialect.body, asking);
    expect(response.headers.get('x-parley-resumable')).toBe('1');
    const stream = `${base}/api/extra/stream/${response.headers.get('x-request-id')}`;
    const first = await readSome(response, 5);
    const second = await readSome(await fetch(`${stream}?after=${eventsIn(first).at(-1)?.id}`), 5);
    const last = eventsIn(first + second).at(-1)?.id;
    const rest = await fetch(stream, { headers: { 'last-event-id': String(last) } });
    expect(rest.headers.get('content-type')).toBe(response.headers.get('content-type'));
    const all = first + second + (await rest.text());
    expect(sayingOf(all, dialect)).toBe(sayingOf(uncut, dialect));
    expect(sayingOf(all, dialect)).not.toBe('');
    expect(eventsIn(first + second).length).toBeLessThan(eventsIn(all).length);
    const ids = eventsIn(all).map(({ id }) => id);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    // From the beginning it is the same, byte by byte.
    expect(await (await fetch(stream)).text()).toBe(all);
  });

  test('a reply that is not streamed is not resumable', async () => {
    const response = await send('/v1/chat/completions', { messages, max_tokens: 2 }, asking);
    expect(response.headers.get('x-parley-resumable')).toBeNull();
    const stream = `${base}/api/extra/stream/${response.headers.get('x-request-id')}`;
    expect((await fetch(stream)).status).toBe(404);
  });

  test('DELETE stops the generation, and so does its genkey', async () => {
    const long = { messages, max_tokens: 900, stream: true, ...neverEnding, temperature: 0 };
    const stops: readonly ((id: string) => Promise<Response>)[] = [
      (id) => fetch(`${base}/api/extra/stream/${id}`, { method: 'DELETE' }),
      () => send('/api/extra/abort', { genkey: 'KCPP0007' }),
    ];
    for (const stop of stops) {
      const response = await send('/v1/chat/completions', { ...long, genkey: 'KCPP0007' }, asking);
      const id = response.headers.get('x-request-id') ?? '';
      await readSome(response, 3);
      expect(await (await stop(id)).json()).toMatchObject({ success: expect.anything() });
      const text = await (await fetch(`${base}/api/extra/stream/${id}`)).text();
      expect(text).toContain('"finish_reason":"length"');
      expect(text).toMatch(/data: \[DONE\]\n\n$/);
      expect(eventsIn(text).length).toBeLessThan(850);
    }
  });

  test('the official SDKs read a numbered stream unharmed', async () => {
    const request = { model: 'any', messages, max_tokens: 16, temperature: 0, ...neverEnding };
    let text = '';
    const chat = openaiClient(base).chat.completions;
    for await (const chunk of await chat.create({ ...request, stream: true }, { headers: asking }))
      text += chunk.choices[0]?.delta.content ?? '';
    expect(text).not.toBe('');
    const message = await anthropicClient(base).messages.stream(request, { headers: asking }).finalMessage();
    expect(message.stop_reason).toBe('max_tokens');
    expect(message.content).toMatchObject([{ type: 'text', text: expect.stringMatching(/./s) }]);
  });
});

test('resumable streams: belong to the key that started them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-resume-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const keyfile = join(folder, 'keys.json');
  const newKey = async (name: string): Promise<string> => {
    const command = [program, 'keys', 'add', name, '--scopes', 'chat', '--keyfile', keyfile];
    return (
      (await promisify(execFile)(process.execPath, command, { env: programEnvironment() })).stdout.split('\n')[0] ?? ''
    );
  };
  const [mine, other] = [await newKey('mine'), await newKey('other')];
  const { base } = await startServer(['--keyfile', keyfile, '--password', 'secret', '--ctx-size', '1024']);
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const response = await fetch(`${base}/v1/messages`, {
    method: 'POST',
    headers: { ...bearer(mine), ...asking },
    body: JSON.stringify({ messages, max_tokens: 8, stream: true }),
  });
  const text = await response.text();
  const stream = `${base}/api/extra/stream/${response.headers.get('x-request-id')}`;
  const statusOf = async (headers: Record<string, string>, method = 'GET') =>
    (await fetch(stream, { method, headers })).status;
  expect(await statusOf(bearer(other))).toBe(404);
  expect(await statusOf(bearer('secret'))).toBe(404);
  expect(await statusOf(bearer(other), 'DELETE')).toBe(404);
  expect(await statusOf({})).toBe(401);
  expect(await (await fetch(stream, { headers: bearer(mine) })).text()).toBe(text);
});
