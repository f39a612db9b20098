import { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { APIError } from 'openai';
import { expect, test } from 'vitest';
import type { TextState } from '../core/text-service.ts';
import { dialects, later, messages, model, openai, post, world } from './testing/waiting-world.ts';

const loading = (progress: number): TextState => ({ type: 'loading', name: 'mini', progress });
const failed: TextState = { type: 'failed', name: 'mini', reason: 'no memory' };

/** The same world, with a model that is not there yet. */
async function loadingWorld() {
  const all = await world();
  const ready = all.engine.state();
  all.engine.become(loading(0));
  return {
    ...all,
    progress: (fraction: number) => {
      all.engine.become(loading(fraction));
      all.time.pass(1000);
    },
    async finish() {
      all.engine.become(ready);
      await all.run();
    },
    notices: async () => (await all.received()).match(/^: .*$/gm),
  };
}

test.each(Object.entries(dialects))('%s whose model is loading reports the progress', async (_, ask) => {
  const all = await loadingWorld();
  const reply = ask(all);
  await all.beginStream();
  all.progress(0.42);
  // Nothing new, and so nothing is said.
  all.progress(0.424);
  all.progress(0.9);
  await all.finish();
  expect(await reply).toBe('Hello');
  expect(await all.notices()).toEqual([': loading mini, 0 %', ': loading mini, 42 %', ': loading mini, 90 %']);
});

test.each(Object.entries(dialects))(
  '%s that waits for its turn and then for its model reports both',
  async (_, ask) => {
    const all = await world();
    const ready = all.engine.state();
    const other = all.occupy();
    const reply = ask(all);
    await all.waiting(1);
    await all.beginStream();
    all.engine.become(loading(0.1));
    await all.run(0);
    await other;
    await later();
    all.time.pass(1000);
    all.engine.become(ready);
    await all.run();
    expect(await reply).toBe('Hello');
    expect((await all.received()).match(/^: .*$/gm)).toEqual([': queue position 1, about 5 s', ': loading mini, 10 %']);
  },
);

test('a wait that begins after the first check is reported by the next', async () => {
  const all = await world();
  const ready = all.engine.state();
  const other = all.occupy();
  const reply = dialects['a chat completion']?.(all);
  await all.waiting(1);
  // Its turn comes within the first second, and the model is gone then.
  all.engine.become(loading(0));
  await all.run(0);
  await other;
  await all.beginStream();
  all.engine.become(ready);
  await all.run();
  expect(await reply).toBe('Hello');
  expect(await all.received()).toContain(': loading mini, 0 %\n\n');
});

test('messages: sends comments only while its model loads', async () => {
  const all = await loadingWorld();
  const reply = dialects['a message']?.(all);
  await all.beginStream();
  await all.finish();
  await reply;
  expect(await all.received()).toMatch(/^: loading mini, 0 %\n\n(?:: .*\n\n)*event: message_start\n/);
});

test('responses: queued until the model is loaded', async () => {
  const all = await loadingWorld();
  const types: string[] = [];
  const stream = openai(all).responses.stream({ model, input: 'Hi' });
  stream.on('event', (event) => {
    types.push('response' in event ? `${event.type} ${event.response.status}` : event.type);
  });
  await all.beginStream();
  all.time.pass(30_000);
  await all.finish();
  await stream.finalResponse();
  expect(types.slice(0, 4)).toEqual([
    'response.created queued',
    'response.queued queued',
    'response.queued queued',
    'response.in_progress in_progress',
  ]);
});

test.each(['/api/generate', '/api/chat'])('Ollama: no status lines on %s', async (path) => {
  const all = await loadingWorld();
  const reply = post(all, path, { model, prompt: 'Hi', messages });
  for (let turn = 0; turn < 20; turn += 1) await later();
  expect(all.time.waiting()).not.toContain(1000);
  await all.finish();
  const lines = (await reply).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line)).at(-1)).toMatchObject({ done: true });
});

test.each([
  ['/v1/chat/completions', { messages }],
  ['/v1/completions', { prompt: 'Hi' }],
  ['/v1/responses', { input: 'Hi' }],
  ['/v1/messages', { messages, max_tokens: 9 }],
  ['/api/v1/generate', { prompt: 'Hi' }],
  ['/completion', { prompt: 'Hi' }],
])('%s without a stream sends nothing until the reply is complete', async (path, body) => {
  const all = await loadingWorld();
  const reply = post(all, path, { model, ...body });
  for (let turn = 0; turn < 20; turn += 1) await later();
  expect(all.time.waiting()).not.toContain(1000);
  await all.finish();
  expect(JSON.parse(await reply)).toBeTypeOf('object');
});

test.each([
  ['a chat completion', APIError],
  ['a completion', APIError],
  ['a message', AnthropicError],
] as const)('%s whose model fails during the wait fails in its stream', async (name, known) => {
  const all = await loadingWorld();
  const reply = dialects[name]?.(all).catch((error: unknown) => error);
  await all.beginStream();
  all.engine.become(failed);
  const error = await reply;
  expect(error).toBeInstanceOf(known);
  expect((error as Error).message).toMatch(/mini could not be loaded: no memory/);
  expect((error as { status?: number }).status).toBeUndefined();
});

test.each([
  ['a native text', '/api/extra/generate/stream', { prompt: 'Hi' }, '"finish_reason": "error"'],
  ['a text of llama.cpp', '/completion', { prompt: 'Hi', stream: true }, '"error":{'],
  ['a response', '/v1/responses', { input: 'Hi', stream: true }, 'event: response.failed'],
])('%s whose model fails during the wait has the error in its last frame', async (_, path, body, expected) => {
  const all = await loadingWorld();
  const reply = post(all, path, body);
  await all.beginStream();
  all.engine.become(failed);
  expect(await reply).toContain(expected);
});

test('a load that fails within the first second keeps its status', async () => {
  const all = await loadingWorld();
  const { chat } = openai(all);
  const reply = chat.completions.create({ model, messages, stream: true }).catch((error: unknown) => error);
  while (!all.time.waiting().includes(1000)) await later();
  all.engine.become(failed);
  expect(await reply).toMatchObject({ status: 503, message: expect.stringContaining('no memory') });
});
