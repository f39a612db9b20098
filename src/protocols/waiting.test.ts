import { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { APIError } from 'openai';
import { expect, test } from 'vitest';
import { dialects, later, messages, model, openai, post, world } from './testing/waiting-world.ts';

test.each(Object.entries(dialects))('%s that waits reports its queue status, and parses as before', async (_, ask) => {
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

test('messages: sends comments only before message_start', async () => {
  const all = await world();
  const other = all.occupy();
  const reply = dialects['a message']?.(all);
  await all.waiting(1);
  await all.beginStream();
  await all.run();
  await Promise.all([other, reply]);
  expect(await all.received()).toMatch(/^: queue position 1, about 5 s\n\n(?:: .*\n\n)*event: message_start\n/);
});

test('Ollama: no status lines while it waits', async () => {
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
])('%s that is refused after its wait has the error in its last frame', async (_, path, body, expected) => {
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

test('an error within the first second of the wait keeps its status', async () => {
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

test('responses: queued until its turn', async () => {
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

const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };
const functions = [{ type: 'function', function: tool }];
const silent: [string, object][] = [
  ['/v1/chat/completions', { messages, stream: true, tools: functions }],
  ['/v1/responses', { input: 'Hi', stream: true, tools: [{ type: 'function', ...tool }] }],
  ['/v1/messages', { messages, max_tokens: 9, stream: true, tools: [{ name: 'look', input_schema: tool.parameters }] }],
  ['/api/chat', { model, messages, tools: functions }],
];

test.each(silent)('%s with tools: sends bytes every 5 s while nothing is generated', async (path, body) => {
  const all = await world();
  const request = fetch(`${all.base}${path}`, { method: 'POST', body: JSON.stringify(body) });
  const passes = async (): Promise<void> => {
    while (!all.time.waiting().includes(5000)) await later();
    all.time.pass(5000);
  };
  await passes();
  const reader = (await request).body?.getReader();
  const read = async () => new TextDecoder().decode((await reader?.read())?.value);
  const first = await read();
  await passes();
  const second = await read();
  for (const filler of [first, second]) expect(filler).toMatch(/^(?:: |\s|event: ping\n)/);
  await reader?.cancel();
});
