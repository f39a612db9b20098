import { expect, test } from 'vitest';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { emptyChat, leafOf, pathOf, withTurn } from '../conversations/tree.ts';
import { fakePage } from '../testing/page.ts';

const question: Turn = { id: 'q', parent: null, role: 'user', text: 'Hi', at: 1 };
const reply: Turn = { id: 'r', parent: 'q', role: 'assistant', text: 'Hello', at: 2 };
const answered = withTurn(withTurn(emptyChat('c', 1), question), reply);

async function opened(chat?: Chat) {
  const page = fakePage({
    'v1/chat/completions': () =>
      new Response('data: {"choices":[{"delta":{"content":"Done."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
  });
  if (chat) page.records('chats').set(chat.id, chat);
  const { chatRecords } = await import('../conversations/library.svelte.ts');
  await chatRecords.load();
  const { loadScripts } = await import('../replies/message-texts.svelte.ts');
  await loadScripts(undefined);
  const actions = await import('./actions.ts');
  const texts = (id = 'c') => pathOf(chatRecords.find(id) as Chat).map(({ text }) => text);
  const done = (id = 'c') => expect.poll(() => leafOf(chatRecords.find(id) as Chat)?.finish).toBe('stop');
  return { page, chatRecords, texts, done, ...actions };
}

test('send: starts a chat with the first message and opens it', async () => {
  const { chatRecords, texts, done, send } = await opened();
  send(undefined, { text: 'Hi there' });
  const [chat] = chatRecords.all;
  await done(chat?.id);
  expect(chat?.title).toBe('Hi there');
  expect(texts(chat?.id)).toEqual(['Hi there', 'Done.']);
  expect(location.hash).toBe(`#/chat/${chat?.id}`);
});

test('retry: adds another version of the reply', async () => {
  const { chatRecords, texts, done, retry } = await opened(answered);
  retry('c', reply);
  await done();
  expect(texts()).toEqual(['Hi', 'Done.']);
  expect(Object.keys(chatRecords.find('c')?.turns ?? {})).toHaveLength(3);
});

test('undo: after retry, the version before it is shown again', async () => {
  const { chatRecords, texts, retry } = await opened(answered);
  const shown = () => leafOf(chatRecords.find('c') as Chat) as Turn;
  const versions: string[] = [];
  for (let times = 0; times < 3; times += 1) {
    versions.push(shown().id);
    retry('c', shown());
    await expect.poll(() => versions.includes(shown().id) || shown().finish !== 'stop').toBe(false);
  }
  while (versions.length > 0) {
    chatRecords.undo('c');
    expect(shown().id).toBe(versions.pop());
  }
  expect(texts()).toEqual(['Hi', 'Hello']);
});

test('retry: replaces a reply that failed without text', async () => {
  const failed: Turn = { ...reply, text: '', failed: 'The queue is full.' };
  const { chatRecords, texts, done, retry } = await opened(withTurn(withTurn(emptyChat('c', 1), question), failed));
  retry('c', failed);
  await done();
  expect(texts()).toEqual(['Hi', 'Done.']);
  expect(Object.keys(chatRecords.find('c')?.turns ?? {})).toHaveLength(2);
});

test('sendInstead: adds a version of the message with its own reply', async () => {
  const { texts, done, sendInstead } = await opened(answered);
  sendInstead('c', question, 'Good day');
  await done();
  expect(texts()).toEqual(['Good day', 'Done.']);
});

test('deleteItems: offers to undo the deletion of a chat', async () => {
  const { chatRecords } = await opened(answered);
  const { notices } = await import('../ui/notices.svelte.ts');
  const { deleteItems } = await import('../library/actions.ts');
  const { itemOfChat } = await import('../library/items.ts');
  await deleteItems([itemOfChat(chatRecords.find('c') as Chat)], undefined);
  expect(chatRecords.all).toEqual([]);
  notices.list[0]?.action?.run();
  expect(chatRecords.find('c')).toMatchObject({ id: 'c' });
});
