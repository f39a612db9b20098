import { expect, test } from 'vitest';
import { chooseAdapter, loadAdapter } from '../chat/adapters/load.ts';
import { noTemplate } from '../chat/prompt.ts';
import { defaultSettings, type Settings } from '../config/flags.ts';
import type { GenerationRequest } from '../core/request.ts';
import { fixedTextSource } from '../core/text-service.ts';
import { fakeEmbeddingSource, fakeEngine } from '../engines/testing/fake-engine.ts';
import type { ClientKey } from '../http/call.ts';
import { asked } from '../protocols/testing/asked.ts';
import { freshFolders } from '../store/testing/folder.ts';
import { createApp } from './app.ts';
import { openMemories } from './memories.ts';

const freshFolder = freshFolders();

/** A whole server with a scripted model, which says what it is told to. */
async function served(own: Partial<Settings> = {}, reply = 'Hello') {
  const prompts: string[] = [];
  const requests: GenerationRequest[] = [];
  const script = (request: GenerationRequest) => {
    prompts.push(request.prompt);
    requests.push(request);
    return { pieces: [reply] };
  };
  const app = createApp({
    settings: { ...defaultSettings, memory: true, ...own },
    source: fixedTextSource(fakeEngine({ script, pace: (next) => next() })),
    format: {
      adapter: chooseAdapter(await loadAdapter('ChatML', async () => undefined), undefined),
      templateText: undefined,
      template: async () => undefined,
      templateUse: noTemplate,
    },
    product: { name: 'Parley', version: '1.2.3' },
    clients: { memories: openMemories(() => undefined, freshFolder()) },
    taskSources: { embedding: fakeEmbeddingSource },
    observer: {},
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  });
  const ask = (method: string, path: string, body: unknown = '', key?: ClientKey) =>
    asked(app.endpoints, method, path, body, key ? { key } : {});
  return { ask, prompts, requests };
}

const path = '/api/extra/memories';
const keyOf = (name: string): ClientKey => ({ name, scopes: ['chat'], weight: 1, shared: false });
const fact = 'The dog is called Rex.';
const pinned = { text: fact, pinned: true };
const messages = [{ role: 'user', content: 'Who is my dog?' }];

test.each<[string, object]>([
  ['/v1/chat/completions', { messages }],
  ['/v1/responses', { input: 'Who is my dog?' }],
  ['/v1/messages', { messages, max_tokens: 10 }],
  ['/api/chat', { messages, stream: false }],
])('--memory: %s knows what is remembered', async (endpoint, body) => {
  const { ask, prompts } = await served();
  await ask('POST', path, pinned);
  expect((await ask('POST', endpoint, body)).status).toBe(200);
  expect(prompts.at(-1)).toContain(`Who is my dog?\n\n[Remembered from earlier chats`);
  expect(prompts.at(-1)).toContain(fact);
});

test('--memory: without the flag no prompt has any', async () => {
  const { ask, prompts } = await served({ memory: false });
  await ask('POST', path, pinned);
  await ask('POST', '/v1/chat/completions', { messages });
  expect(prompts.at(-1)).not.toContain('Rex');
});

test('memories: each key has its own, in its chats too', async () => {
  const { ask, prompts } = await served();
  const { json: added } = await ask('POST', path, pinned, keyOf('ann'));
  expect((await ask('GET', path, '', keyOf('bob'))).json).toEqual({ memories: [] });
  expect((await ask('POST', `${path}/${added.id}`, { text: 'Mine.' }, keyOf('bob'))).status).toBe(404);
  expect((await ask('DELETE', `${path}/${added.id}`, '', keyOf('bob'))).status).toBe(404);
  await ask('POST', '/v1/chat/completions', { messages }, keyOf('bob'));
  expect(prompts.at(-1)).not.toContain('Rex');
  await ask('POST', '/v1/chat/completions', { messages }, keyOf('ann'));
  expect(prompts.at(-1)).toContain('Rex');
});

test('memories: are listed, changed, found and deleted over HTTP', async () => {
  const { ask } = await served();
  const { json: added } = await ask('POST', path, { text: fact, character: 'Ada' });
  expect(added).toMatchObject({ text: fact, character: 'Ada', pinned: false });
  expect((await ask('POST', `${path}/${added.id}`, { pinned: true, character: null })).json).toMatchObject({
    pinned: true,
    character: null,
  });
  expect((await ask('GET', path)).json.memories).toHaveLength(1);
  expect((await ask('POST', `${path}/search`, { text: 'Anything' })).json.memories).toMatchObject([{ text: fact }]);
  expect((await ask('DELETE', `${path}/${added.id}`)).json).toEqual({ deleted: true });
  expect((await ask('GET', path)).json).toEqual({ memories: [] });
  expect((await ask('POST', path, { text: '' })).status).toBe(400);
});

test('suggest: facts that the model finds in a chat, without those that are known; nothing is kept', async () => {
  const { ask, prompts } = await served({}, JSON.stringify({ facts: [fact, 'Likes tea.', ' '] }));
  await ask('POST', path, { text: fact });
  const { json } = await ask('POST', `${path}/suggest`, {
    messages: [...messages, { role: 'assistant', content: 'Rex' }],
  });
  expect(json).toEqual({ suggestions: ['Likes tea.'] });
  expect(prompts.at(-1)).toContain('user: Who is my dog?\n\nassistant: Rex');
  expect((await ask('GET', path)).json.memories).toHaveLength(1);
});

test('suggest: a reply that is no list, and a chat without words, suggest nothing', async () => {
  const { ask, prompts } = await served({}, '{"facts": ["cut o');
  expect((await ask('POST', `${path}/suggest`, { messages })).json).toEqual({ suggestions: [] });
  expect(prompts).toHaveLength(1);
  expect((await ask('POST', `${path}/suggest`, { messages: [{ role: 'system', content: 'x' }] })).json).toEqual({
    suggestions: [],
  });
  expect(prompts).toHaveLength(1);
});

test.each<[string, object, string]>([
  ['/v1/messages/count_tokens', { messages }, 'input_tokens'],
  ['/v1/responses/input_tokens', { input: 'Who is my dog?' }, 'input_tokens'],
  ['/v1/chat/completions/input_tokens', { messages }, 'input_tokens'],
])('--memory: %s counts what is remembered', async (endpoint, body, field) => {
  const { ask } = await served();
  const count = async () => Number((await ask('POST', endpoint, { model: 'any', ...body })).json[field]);
  const before = await count();
  await ask('POST', path, pinned);
  expect(await count()).toBeGreaterThan(before + fact.split(' ').length);
  expect(await count()).toBe(await count());
});
