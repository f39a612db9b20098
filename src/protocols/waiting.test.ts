import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import OpenAI, { APIError } from 'openai';
import { expect, test } from 'vitest';
import { turns } from '../chat/adapters/adapter.ts';
import { chatService } from '../chat/service.ts';
import { fold } from '../core/fold.ts';
import { alwaysThere } from '../core/text-source.ts';
import { fakeEngine } from '../engines/fake/engine.ts';
import type { Endpoint } from '../http/call.ts';
import { handTimer, serve } from '../http/testing/world.ts';
import { plainRequest } from '../run/request.ts';
import { Desk } from '../scheduler/desk.ts';
import { Queue } from '../scheduler/queue.ts';
import { textService } from '../scheduler/text.ts';
import { ResponseStore } from '../store/responses.ts';
import { completionEndpoints } from './llamacpp/completion.ts';
import { messagesEndpoints } from './messages/routes.ts';
import { generateEndpoints } from './native/generate.ts';
import { ollamaEndpoints } from './ollama/routes.ts';
import { ollamaParts } from './ollama/testing/parts.ts';
import { openaiEndpoints } from './openai/routes.ts';
import { responsesEndpoints } from './responses/routes.ts';
import { dialectParts } from './testing/doubles.ts';

const { tags } = turns(['<system>', '</system>'], ['<user>', '</user>'], ['<assistant>', '</assistant>']);
const later = () => new Promise((resolve) => setImmediate(resolve));

/** All streaming dialects on a real socket and the real queue; the engine moves when the test says so. */
async function world() {
  const time = handTimer();
  const steps: (() => void)[] = [];
  const engine = fakeEngine({
    script: () => ({ pieces: ['Hel', 'lo'], end: 'end-token' }),
    pace: (go) => steps.push(go),
  });
  const queue = new Queue({ capacity: 1, places: () => 10, now: () => 0 });
  const text = textService({ source: alwaysThere(engine), desk: new Desk(queue, () => 0), randomSeed: () => 1 });
  const chat = chatService({
    text,
    tags,
    tagsWithoutThinking: undefined,
    templateText: undefined,
    template: async () => undefined,
    templateTools: false,
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => 'call_1',
    warn: () => undefined,
  });
  const parts = dialectParts({ text, chat, startTimer: time.startTimer });
  const endpoints: Endpoint[] = [
    ...generateEndpoints({ ...parts, service: text, replacePlaceholders: (texts) => texts }),
    ...openaiEndpoints({ ...parts, replacePlaceholders: (texts) => texts }),
    ...responsesEndpoints({ ...parts, store: new ResponseStore() }),
    ...messagesEndpoints(parts),
    ...completionEndpoints(parts),
    ...ollamaEndpoints({ ...ollamaParts().parts, ...parts }),
  ];
  const { port } = await serve(endpoints, { startTimer: time.startTimer });

  const bytes: Promise<string>[] = [];
  /** Keeps what really came, beside what a client makes of it. */
  const watchedFetch = async (...[url, options]: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(url, options);
    bytes.push(response.clone().text());
    return response;
  };
  const until = async (reached: () => boolean) => {
    while (!reached()) await later();
  };
  return {
    time,
    engine,
    base: `http://127.0.0.1:${port}`,
    fetch: watchedFetch,
    received: async () => (await Promise.all(bytes)).join(''),
    /** Somebody else's generation. */
    occupy: () => fold(text.generate(plainRequest('Hi', 9), { genkey: '', client: 'other', signal: never })),
    waiting: (count: number) => until(() => queue.waiting === count),
    /** Lets the first second of the wait pass, which is timed before and behind the head of the stream. */
    async beginStream() {
      await until(() => time.waiting().includes(1000));
      time.pass(1000);
      await until(() => time.waiting().includes(1000));
    },
    /** Runs the engine until nobody is left, or until so many wait. */
    async run(left?: number) {
      while (left === undefined ? queue.running > 0 : queue.waiting > left) {
        steps.shift()?.();
        await later();
      }
    },
  };
}
type World = Awaited<ReturnType<typeof world>>;

const never = new AbortController().signal;
const messages = [{ role: 'user' as const, content: 'Hi' }];
const model = 'any';

const openai = ({ base, fetch }: World) => new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0, fetch });
const anthropic = ({ base, fetch }: World) => new Anthropic({ baseURL: base, apiKey: 'none', maxRetries: 0, fetch });
const post = async ({ base, fetch }: World, path: string, body: object) => {
  const reply = await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return reply.text();
};
/** What a reader that knows nothing but server-sent events makes of it. */
const data = (bytes: string) => bytes.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
const joined = (bytes: string, field: string) =>
  data(bytes)
    .map((one) => JSON.parse(one)[field] ?? '')
    .join('');

const dialects: Record<string, (all: World) => Promise<string>> = {
  'a chat completion': async (all) => {
    const stream = openai(all).chat.completions.stream({ model, messages });
    return (await stream.finalChatCompletion()).choices[0]?.message.content ?? '';
  },
  'a completion': async (all) => {
    let words = '';
    const stream = await openai(all).completions.create({ model, prompt: 'Hi', stream: true });
    for await (const chunk of stream) words += chunk.choices[0]?.text ?? '';
    return words;
  },
  'a response': async (all) => (await openai(all).responses.stream({ model, input: 'Hi' }).finalResponse()).output_text,
  'a message': async (all) => {
    const stream = anthropic(all).messages.stream({ model, messages, max_tokens: 9 });
    return stream.finalText();
  },
  'a native text': async (all) =>
    joined(await post(all, '/api/extra/generate/stream', { prompt: 'Hi', max_length: 9 }), 'token'),
  'a text of llama.cpp': async (all) =>
    joined(await post(all, '/completion', { prompt: 'Hi', n_predict: 9, stream: true }), 'content'),
};

test.each(Object.entries(dialects))('%s that waits is told where it stands, and is read as ever', async (_, ask) => {
  const all = await world();
  const others = [all.occupy(), all.occupy()];
  await all.waiting(1);
  const reply = ask(all);
  await all.waiting(2);
  await all.beginStream();
  all.time.pass(1000);
  await all.run(1);
  all.time.pass(1000);
  await all.run();
  expect(await reply).toBe('Hello');
  await Promise.all(others);
  expect((await all.received()).match(/^: queue.*$/gm)).toEqual([
    ': queue position 2, about 10 s',
    ': queue position 1, about 4 s',
  ]);
});

test('a message that waits is also given its ping, as some take a stream of comments for dead', async () => {
  const all = await world();
  const other = all.occupy();
  const reply = dialects['a message']?.(all);
  await all.waiting(1);
  await all.beginStream();
  await all.run();
  await Promise.all([other, reply]);
  expect(await all.received()).toMatch(/^: queue position 1, about 5 s\n\nevent: ping\ndata: {"type":"ping"}\n\n/);
});

test('a line of Ollama has no room for it: its stream stays as it was', async () => {
  const all = await world();
  const other = all.occupy();
  const reply = post(all, '/api/generate', { model, prompt: 'Hi' });
  await all.waiting(1);
  await later();
  expect(all.time.waiting()).not.toContain(1000);
  await all.run();
  await other;
  for (const line of (await reply).trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
});

const failures: [string, string | RegExp, (error: unknown) => unknown][] = [
  ['a chat completion', /mini/, (error) => error instanceof APIError],
  ['a completion', /mini/, (error) => error instanceof APIError],
  ['a message', /mini/, (error) => error instanceof AnthropicError],
];

test.each(failures)('%s that is refused after its wait fails in its stream', async (name, words, known) => {
  const all = await world();
  const other = all.occupy();
  const reply = dialects[name]?.(all).catch((error: unknown) => error);
  await all.waiting(1);
  await all.beginStream();
  all.engine.become({ type: 'failed', name: 'mini', reason: 'no memory' });
  await all.run();
  await other;
  const error = await reply;
  expect(known(error)).toBe(true);
  expect((error as Error).message).toMatch(words);
});

test.each([
  ['a native text', '/api/extra/generate/stream', { prompt: 'Hi' }, '"finish_reason": "error"'],
  ['a text of llama.cpp', '/completion', { prompt: 'Hi', stream: true }, '"error":{'],
  ['a response', '/v1/responses', { input: 'Hi', stream: true }, 'event: response.failed'],
])('%s that is refused after its wait says so in its last frame', async (_, path, body, expected) => {
  const all = await world();
  const other = all.occupy();
  const reply = post(all, path, body);
  await all.waiting(1);
  await all.beginStream();
  all.engine.become({ type: 'failed', name: 'mini', reason: 'no memory' });
  await all.run();
  await other;
  expect(await reply).toContain(expected);
});

test('a refusal within the first second of the wait keeps its status', async () => {
  const all = await world();
  const other = all.occupy();
  const { chat } = openai(all);
  const reply = chat.completions.create({ model, messages, stream: true }).catch((error: unknown) => error);
  await all.waiting(1);
  all.engine.become({ type: 'failed', name: 'mini', reason: 'no memory' });
  await all.run();
  await other;
  expect(await reply).toMatchObject({ status: 503 });
});

test('a response that waits is queued until its turn comes', async () => {
  const all = await world();
  const other = all.occupy();
  const types: string[] = [];
  const stream = openai(all).responses.stream({ model, input: 'Hi' });
  stream.on('event', (event) => {
    types.push('response' in event ? `${event.type} ${event.response.status}` : event.type);
  });
  await all.waiting(1);
  await all.beginStream();
  all.time.pass(30_000);
  await all.run();
  await other;
  await stream.finalResponse();
  expect(types.slice(0, 5)).toEqual([
    'response.created queued',
    'response.queued queued',
    'response.queued queued',
    'response.in_progress in_progress',
    'response.output_item.added',
  ]);
});
