import { expect, test } from 'vitest';
import type { Chat, Turn } from '../../conversations/conversation.ts';
import { branchesOf, emptyChat, pathOf, withTurn } from '../../conversations/tree.ts';
import { fakePage, fakeStream } from '../../testing/page.ts';

const completions = 'v1/chat/completions';
const question: Turn = { id: 'q', parent: null, role: 'user', text: 'Hi', at: 1 };
const chunk = (content: string, finish_reason: string | null = null) => ({
  choices: [{ delta: { content }, finish_reason }],
});

async function opened() {
  const streams = [fakeStream(), fakeStream()];
  let requests = 0;
  const page = fakePage({
    [completions]: (_: never, signal: AbortSignal | undefined) => streams[requests++ % 2]?.response(signal),
  });
  page.records('chats').set('c', withTurn(emptyChat('c', 1), question));
  const { change, chatRecords } = await import('../../conversations/library.svelte.ts');
  await chatRecords.load();
  const chat = () => chatRecords.find('c') as Chat;
  const compare = await import('./compare.svelte.ts');
  const replies = await import('../../replies/replies.svelte.ts');
  const queue = await import('../../replies/queue.svelte.ts');
  await import('../../roleplay/rounds.svelte.ts');
  const candidates = [
    { label: 'Cold', generation: { samplers: { sampling: { temperature: 0.1 }, replyLength: 20 } } },
    { label: 'Big', generation: { model: 'big', prompt: { systemPrompt: 'Be brief.', stopSequences: ['END'] } } },
  ];
  const finish = () => {
    for (const [index, stream] of streams.entries()) {
      stream.send(chunk(`Reply ${index}`, 'stop'));
      stream.end();
    }
  };
  return { page, streams, chat, candidates, finish, change, chatRecords, ...compare, ...replies, ...queue };
}

test('compare: each candidate gets the same message with its own model and settings, at the same time', async () => {
  const { page, streams, chat, candidates, finish, compare, liveTurn } = await opened();
  const done = compare('c', '', candidates, false);
  await expect.poll(() => page.requestsTo(completions)).toHaveLength(2);
  const [cold, big] = page.requestsTo(completions).map(({ body }) => body);
  expect(cold).toMatchObject({ temperature: 0.1, max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] });
  expect(cold).not.toHaveProperty('model');
  expect(big).toMatchObject({ model: 'big', stop: ['END'], messages: [{ role: 'system', content: 'Be brief.' }, {}] });
  const shown = chat().comparison?.candidates ?? [];
  expect(shown.map(({ label }) => label)).toEqual(['Cold', 'Big']);
  for (const stream of streams) stream.send(chunk('So'));
  await expect.poll(() => shown.map(({ id }) => liveTurn(id)?.reply.text)).toEqual(['So', 'So']);
  finish();
  await done;
  expect(shown.map(({ id }) => chat().turns[id]?.text)).toEqual(['SoReply 0', 'SoReply 1']);
  expect(pathOf(chat()).at(-1)?.id).toBe(shown[0]?.id);
});

test('chooseReply: the chosen one is the message, the others are its versions, and the choice is counted', async () => {
  const { chat, candidates, finish, compare, chooseReply, compared } = await opened();
  const done = compare('c', 'And now?', candidates, false);
  await expect.poll(() => chat().comparison?.candidates.length).toBe(2);
  finish();
  await done;
  const second = chat().comparison?.candidates[1]?.id ?? '';
  chooseReply('c', second);
  expect(chat().comparison).toBeUndefined();
  expect(pathOf(chat()).map(({ text }) => text)).toEqual(['Hi', 'And now?', 'Reply 1']);
  expect(branchesOf(chat()).get(chat().turns[second]?.parent ?? null)).toHaveLength(2);
  expect(compared.tally).toEqual({ Cold: { wins: 0, total: 1 }, Big: { wins: 1, total: 1 } });
});

test.each([
  ['the last message', ''],
  ['a new message', 'And now?'],
])('undo: after compare of %s, the chat is as before it', async (_, text) => {
  const { chat, candidates, finish, compare, chooseReply, change, chatRecords } = await opened();
  const reply: Turn = { id: 'r', parent: 'q', role: 'assistant', text: 'Hello', at: 2 };
  change('c', (now) => withTurn(now, reply), { undoable: true });
  const done = compare('c', text, candidates, false);
  await expect.poll(() => chat().comparison?.candidates.length).toBe(2);
  finish();
  await done;
  const [, second] = chat().comparison?.candidates ?? [];
  chatRecords.undo('c');
  expect(pathOf(chat()).map(({ id }) => id)).toEqual(['q', 'r']);
  expect(Object.keys(chat().turns)).toEqual(['q', 'r']);
  expect(chat().comparison).toBeUndefined();
  chatRecords.redo('c');
  expect(chat().comparison?.candidates).toContainEqual(second);
  chooseReply('c', second?.id ?? '');
  chatRecords.undo('c');
  expect(pathOf(chat()).map(({ id }) => id)).toEqual(['q', 'r']);
});

test('compare: a queued message waits until one is chosen, and Stop ends all replies', async () => {
  const { page, chat, candidates, compare, chooseReply, enqueue, stop, liveReply } = await opened();
  const done = compare('c', '', candidates, true);
  await expect.poll(() => page.requestsTo(completions)).toHaveLength(2);
  enqueue('c', { text: 'Next' });
  await stop('c');
  await done;
  expect(liveReply('c')).toBeUndefined();
  expect(page.requestsTo('api/extra/abort')).toHaveLength(2);
  expect(chat().queued).toHaveLength(1);
  chooseReply('c', chat().comparison?.candidates[0]?.id ?? '');
  expect(chat().queued).toHaveLength(1);
});

test('compare: a queued message waits for the choice, also when all replies are complete', async () => {
  const { page, chat, candidates, finish, compare, chooseReply, enqueue, liveReply } = await opened();
  const done = compare('c', '', candidates, false);
  await expect.poll(() => page.requestsTo(completions)).toHaveLength(2);
  enqueue('c', { text: 'Next' });
  finish();
  await done;
  expect(chat().queued).toHaveLength(1);
  chooseReply('c', chat().comparison?.candidates[0]?.id ?? '');
  expect(chat().queued).toBeUndefined();
  await expect.poll(() => liveReply('c')).toBeUndefined();
});
