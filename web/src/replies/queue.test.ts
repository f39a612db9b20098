import { expect, test } from 'vitest';
import type { Chat, QueuedMessage, Turn } from '../conversations/conversation.ts';
import { emptyChat, leafOf, pathOf, withTurn } from '../conversations/tree.ts';
import { fakePage, fakeStream } from '../testing/page.ts';

const completions = 'v1/chat/completions';
const question: Turn = { id: 'q', parent: null, role: 'user', text: 'Hi', at: 1 };
const asked: Chat = withTurn(emptyChat('c', 1), question);
const chunk = (content: string, finish_reason: string | null = null) => ({
  choices: [{ delta: { content }, finish_reason }],
});
const done = () => new Response(`data: ${JSON.stringify(chunk('Done.', 'stop'))}\n\ndata: [DONE]\n\n`);

/** A page with a running reply, whose stream the test feeds; later replies are complete at once. */
async function running() {
  const stream = fakeStream();
  let requests = 0;
  const page = fakePage({
    [completions]: (_: never, signal: AbortSignal | undefined) => (requests++ === 0 ? stream.response(signal) : done()),
    'v1/chat/completions/input_tokens': () => ({ input_tokens: 10 }),
  });
  page.records('chats').set('c', asked);
  page.records('chats').set('other', withTurn(emptyChat('other', 1), question));
  const { change, chatRecords } = await import('../conversations/library.svelte.ts');
  await chatRecords.load();
  const replies = await import('./replies.svelte.ts');
  const queue = await import('./queue.svelte.ts');
  await import('../roleplay/rounds.svelte.ts');
  const chat = (id = 'c') => chatRecords.find(id) as Chat;
  const texts = () => pathOf(chat()).map(({ text }) => text);
  const first = (id = 'c') => chat(id).queued?.[0] as QueuedMessage;
  const queued = () => (chat().queued ?? []).map(({ text }) => text);
  const reply = replies.requestReply('c', 'q');
  await expect.poll(() => page.requestsTo(completions)).toHaveLength(1);
  const finish = async () => {
    stream.send(chunk('Hello', 'stop'));
    stream.end();
    await reply;
  };
  return { page, stream, chatRecords, change, chat, texts, first, queued, reply, finish, ...replies, ...queue };
}

test('queue: messages are sent one after the other when the reply is done', async () => {
  const { page, chat, texts, queued, finish, enqueue, chatRecords } = await running();
  enqueue('c', { text: 'One', prefill: 'Well' });
  enqueue('c', { text: 'Two' });
  expect(queued()).toEqual(['One', 'Two']);
  await chatRecords.flush('c');
  expect(page.records('chats').get('c')).toMatchObject({ queued: [{ text: 'One' }, { text: 'Two' }] });
  await finish();
  await expect.poll(() => [texts().length, leafOf(chat())?.finish]).toEqual([6, 'stop']);
  expect(texts()).toEqual(['Hi', 'Hello', 'One', 'WellDone.', 'Two', 'Done.']);
  expect(chat().queued).toBeUndefined();
});

test('queue: a stopped reply keeps it, and it is sent on request', async () => {
  const { stream, chat, texts, queued, reply, stop, liveReply, enqueue, sendQueued } = await running();
  enqueue('c', { text: 'One' });
  stream.send(chunk('Half'));
  await expect.poll(() => liveReply('c')?.reply.text).toBe('Half');
  const [first] = chat().queued ?? [];
  expect(first && sendQueued('c', first)).toBe(false);
  await stop('c');
  await reply;
  expect([texts(), queued()]).toEqual([['Hi', 'Half'], ['One']]);
  expect(first && sendQueued('c', first)).toBe(true);
  await expect.poll(() => leafOf(chat())?.finish).toBe('stop');
  expect([texts(), queued()]).toEqual([['Hi', 'Half', 'One', 'Done.'], []]);
});

test('queue: a message that is being edited waits until that is done', async () => {
  const { chat, texts, first, queued, finish, enqueue, editQueued, endEdit } = await running();
  enqueue('c', { text: 'One' });
  editQueued('c', first());
  await finish();
  expect([texts(), queued()]).toEqual([['Hi', 'Hello'], ['One']]);
  endEdit('c', 'First');
  await expect.poll(() => leafOf(chat())?.finish).toBe('stop');
  expect([texts(), queued()]).toEqual([['Hi', 'Hello', 'First', 'Done.'], []]);
});

test('queue: each chat has its own message that is being edited, with what is typed', async () => {
  const { chat, texts, first, queued, finish, enqueue, editQueued, editIn, endEdit } = await running();
  enqueue('c', { text: 'One' });
  enqueue('other', { text: 'Two' });
  editQueued('c', first());
  const edit = editIn(chat());
  if (edit) edit.text = 'First';
  expect(editIn(chat('other'))).toBeUndefined();
  editQueued('other', first('other'));
  endEdit('other', 'Second');
  expect(first('other').text).toBe('Second');
  expect(editIn(chat())).toEqual({ id: first().id, text: 'First' });
  await finish();
  expect([texts(), queued()]).toEqual([['Hi', 'Hello'], ['One']]);
});

test('editIn: nothing, once the message was sent or removed elsewhere', async () => {
  const { chat, first, enqueue, editQueued, editIn, removeQueued } = await running();
  enqueue('c', { text: 'One' });
  editQueued('c', first());
  removeQueued('c', first().id);
  expect(editIn(chat())).toBeUndefined();
});

test('queue: a comparison that is not the end of the chat any more does not hold it up', async () => {
  const { chat, texts, queued, finish, enqueue, change } = await running();
  const reply = (id: string): Turn => ({ id, parent: 'before', role: 'assistant', text: id, at: 1 });
  const candidates = [reply('a'), reply('b')];
  // The question that runs was edited: before, it was another one, with two replies.
  change('c', (now) => ({
    ...[{ ...question, id: 'before' }, ...candidates, question].reduce(withTurn, now),
    comparison: { blind: false, candidates: candidates.map(({ id }) => ({ id, label: id })) },
  }));
  enqueue('c', { text: 'One' });
  await finish();
  await expect.poll(() => [texts().length, leafOf(chat())?.finish]).toEqual([4, 'stop']);
  expect([texts(), queued()]).toEqual([['Hi', 'Hello', 'One', 'Done.'], []]);
});

test('queue: a removed message comes back to its place', async () => {
  const { chat, queued, finish, enqueue, removeQueued } = await running();
  for (const text of ['One', 'Two', 'Three']) enqueue('c', { text });
  const undo = removeQueued('c', chat().queued?.[1]?.id ?? '');
  expect(queued()).toEqual(['One', 'Three']);
  undo();
  expect(queued()).toEqual(['One', 'Two', 'Three']);
  for (const { id } of chat().queued ?? []) removeQueued('c', id);
  await finish();
  expect(chat().queued).toBeUndefined();
});
