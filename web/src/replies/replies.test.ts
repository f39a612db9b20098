import { expect, test } from 'vitest';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { emptyChat, leafOf, withTurn } from '../conversations/tree.ts';
import { fakePage, fakeStream, skipPauses } from '../testing/page.ts';

const completions = 'v1/chat/completions';
const streams = 'api/extra/stream/';
const frame = (event: object, id = 1) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
const question: Turn = { id: 'q', parent: null, role: 'user', text: 'Hi', at: 1 };
const asked: Chat = withTurn(emptyChat('c', 1), question);
const chunk = (content: string, finish_reason: string | null = null) => ({
  choices: [{ delta: { content }, finish_reason }],
});

async function opened(responses: Parameters<typeof fakePage>[0], chat = asked) {
  const page = fakePage(responses);
  page.records('chats').set('c', chat);
  const { chatRecords } = await import('../conversations/library.svelte.ts');
  await chatRecords.load();
  const replies = await import('./replies.svelte.ts');
  const reply = () => leafOf(chatRecords.find('c') as Chat) as Turn;
  return { page, chatRecords, reply, ...replies };
}

test('requestReply: shows the reply while it streams and puts it into the chat at its end', async () => {
  const stream = fakeStream();
  const { page, reply, requestReply, liveReply, onFinished } = await opened({
    [completions]: (_, signal) => stream.response(signal),
  });
  const finished: string[] = [];
  onFinished((_, turnId) => finished.push(turnId));
  const done = requestReply('c', 'q');
  stream.send(chunk('Hel'));
  await expect.poll(() => liveReply('c')?.reply.text).toBe('Hel');
  stream.send(chunk('lo', 'stop'));
  stream.send({ model: 'koboldcpp/mini', choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } });
  stream.send('[DONE]');
  await done;
  expect(liveReply('c')).toBeUndefined();
  expect(reply()).toMatchObject({ role: 'assistant', parent: 'q', text: 'Hello', finish: 'stop', model: 'mini' });
  expect(reply().statistics).toMatchObject({ tokens: 2, promptTokens: 3 });
  expect(reply().pending).toBeUndefined();
  expect(finished).toEqual([reply().id]);
  expect(page.records('chats').get('c')).toMatchObject({ turns: { [reply().id]: { text: 'Hello' } } });
});

test('requestReply: saves the generation key before the request is sent', async () => {
  const { page, requestReply } = await opened({
    [completions]: (body: { genkey: string }) => {
      const { turns } = page.records('chats').get('c') as Chat;
      expect(Object.values(turns).map(({ pending }) => pending?.genkey)).toContain(body.genkey);
      return new Response('data: [DONE]\n\n');
    },
    [streams]: () => new Response(frame(chunk('x', 'stop'))),
  });
  await requestReply('c', 'q');
  expect(page.requestsTo(completions)).toHaveLength(1);
});

test('requestReply: ignores a second request while a reply is running', async () => {
  const stream = fakeStream();
  const { page, requestReply } = await opened({ [completions]: (_, signal) => stream.response(signal) });
  const first = requestReply('c', 'q');
  await requestReply('c', 'q');
  stream.send(chunk('One', 'stop'));
  stream.end();
  await first;
  expect(page.requestsTo(completions)).toHaveLength(1);
});

test('requestReply: keeps the error of a rejected request in the turn', async () => {
  const { reply, requestReply } = await opened({
    [completions]: () => Response.json({ error: { message: 'The queue is full.' } }, { status: 503 }),
  });
  await requestReply('c', 'q');
  expect(reply()).toMatchObject({ text: '', finish: 'error', failed: 'The queue is full.' });
});

test('stop: aborts the generation on the server and keeps the text so far', async () => {
  const stream = fakeStream();
  const { page, reply, requestReply, liveReply, stop } = await opened({
    [completions]: (_, signal) => stream.response(signal),
  });
  const done = requestReply('c', 'q');
  stream.send(chunk('Half a'));
  await expect.poll(() => liveReply('c')?.reply.text).toBe('Half a');
  await stop('c');
  await done;
  expect(reply()).toMatchObject({ text: 'Half a', finish: 'stopped' });
  expect(page.requestsTo('api/extra/abort')[0]?.body).toEqual({
    genkey: page.requestsTo(completions)[0]?.body.genkey,
  });
});

test('continueReply: sends the text so far and appends to it', async () => {
  const half: Turn = { id: 'r', parent: 'q', role: 'assistant', text: 'Once upon', at: 2 };
  const { page, reply, continueReply } = await opened(
    {
      [completions]: () => new Response(`data: ${JSON.stringify(chunk(' a time', 'stop'))}\n\ndata: [DONE]\n\n`),
    },
    withTurn(asked, half),
  );
  await continueReply('c', 'r');
  expect(reply()).toMatchObject({ id: 'r', text: 'Once upon a time' });
  expect(page.requestsTo(completions)[0]?.body).toMatchObject({
    continue_assistant_turn: true,
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Once upon' },
    ],
  });
});

test('requestReply: polls if streaming is switched off', async () => {
  skipPauses();
  const { page, reply, requestReply } = await opened({
    [completions]: () => new Response('data: a proxy holds it back until its end'),
    [streams]: () => new Response(frame(chunk('Whole', 'stop'))),
  });
  const { settings } = await import('../settings/settings.svelte.ts');
  settings.delivery = 'polling';
  await requestReply('c', 'q');
  expect(reply()).toMatchObject({ text: 'Whole', finish: 'stop' });
  const { genkey } = page.requestsTo(completions)[0]?.body ?? {};
  expect(page.requestsTo(`${streams}${genkey}`).map(({ query }) => query)).toEqual(['?after=0&follow=0']);
});

test('resumeAll: fetches a reply that was running before the page was reloaded', async () => {
  const pending = { genkey: 'K', since: 1, prefix: 'Well, ' };
  const running: Turn = { id: 'r', parent: 'q', role: 'assistant', text: 'Well, ', at: 2, pending };
  const { page, reply, resumeAll, onFinished } = await opened(
    { [streams]: () => new Response(frame(chunk('hello.', 'stop'))) },
    withTurn(asked, running),
  );
  const finished = new Promise<void>((resolve) => onFinished(() => resolve()));
  await resumeAll();
  await finished;
  expect(reply()).toMatchObject({ id: 'r', text: 'Well, hello.', finish: 'stop' });
  expect(page.requestsTo(`${streams}K`)).toHaveLength(1);
});

test('requestReply: stores what has arrived, so that a page that is loaded again shows it without the server', async () => {
  const stream = fakeStream();
  const { page, reply, requestReply, liveReply, stop } = await opened({
    [completions]: (_, signal) => stream.response(signal),
  });
  const stored = () => (page.records('chats').get('c') as Chat).turns[reply().id];
  const done = requestReply('c', 'q');
  stream.send(chunk('Half'));
  await expect.poll(() => liveReply('c')?.reply.text).toBe('Half');
  page.fire('pagehide');
  await expect.poll(() => stored()?.text).toBe('Half');
  skipPauses();
  stream.send(chunk(' a reply'));
  await expect.poll(() => stored()?.text).toBe('Half a reply');
  expect(stored()?.pending).toBeDefined();
  await stop('c');
  await done;
});

test('resumeAll: shows and keeps the stored text while the server is gone', async () => {
  const pending = { genkey: 'K', since: 1, prefix: '' };
  const running: Turn = { id: 'r', parent: 'q', role: 'assistant', text: 'Half a', at: 2, pending };
  const { page, reply, resumeAll, liveReply, stop, onFinished } = await opened(
    { [streams]: () => Response.error() },
    withTurn(asked, running),
  );
  const finished = new Promise<void>((resolve) => onFinished(() => resolve()));
  await resumeAll();
  await expect.poll(() => page.requestsTo(`${streams}K`)).not.toEqual([]);
  expect(liveReply('c')?.reply.text).toBe('Half a');
  await stop('c');
  await finished;
  expect(reply()).toMatchObject({ text: 'Half a', finish: 'stopped' });
});
