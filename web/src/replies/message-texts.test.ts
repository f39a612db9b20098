import { expect, test } from 'vitest';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { newScript, type RegexScript } from '../conversations/regex-script.ts';
import { emptyChat, leafOf, pathOf, withTurn } from '../conversations/tree.ts';
import { fakePage } from '../testing/page.ts';

const completions = 'v1/chat/completions';
const question: Turn = { id: 'q', parent: null, role: 'user', text: 'secret', at: 1 };
const reply: Turn = { id: 'r', parent: 'q', role: 'assistant', text: 'a secret', at: 2 };
const answered: Chat = withTurn(withTurn(emptyChat('c', 1), question), reply);
const everyone = { user: true, reply: true } as const;
const script = (fields: Partial<RegexScript>): RegexScript =>
  newScript({ id: 's', name: 'S', find: '/secret/g', ...fields });

async function opened(...scripts: readonly RegexScript[]) {
  const answer = 'data: {"choices":[{"delta":{"content":"no secret"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const page = fakePage({ [completions]: () => new Response(answer) });
  page.records('chats').set('c', answered);
  page.records('scripts').set('general', { id: 'general', changedAt: 1, scripts });
  const { chatRecords } = await import('../conversations/library.svelte.ts');
  await chatRecords.load();
  const chat = () => chatRecords.find('c') as Chat;
  const actions = await import('../chat/actions.ts');
  const texts = await import('./message-texts.svelte.ts');
  const stored = () => pathOf(chat()).map(({ text }) => text);
  const done = () => expect.poll(() => [stored().length, leafOf(chat())?.finish]).toEqual([4, 'stop']);
  const sent = () =>
    ((page.requestsTo(completions)[0]?.body.messages ?? []) as { content: string }[]).map(({ content }) => content);
  return { page, chat, stored, done, sent, ...actions, ...texts };
}

test('scripts that change the message itself are applied to what is sent, received and edited', async () => {
  const script1 = script({ ...everyone, where: 'chat', replace: '***' });
  const { stored, done, sent, send, saveText, chat } = await opened(script1);
  send('c', { text: 'My secret' });
  await done();
  expect(stored()).toEqual(['secret', 'a secret', 'My ***', 'no ***']);
  expect(sent()).toEqual(['secret', 'a secret', 'My ***']);
  saveText('c', chat().turns.q as Turn, 'a secret, too');
  expect(stored()[0]).toBe('a ***, too');
});

test('scripts for what is shown change neither the chat nor what is sent', async () => {
  const { stored, done, sent, send, chat, loadScripts, shownText } = await opened(
    script({ ...everyone, where: 'shown', replace: '***' }),
  );
  await loadScripts(chat());
  expect(shownText(chat(), reply)).toBe('a ***');
  send('c', { text: 'My secret' });
  await done();
  expect([stored()[2], sent()[2]]).toEqual(['My secret', 'My secret']);
});

test('scripts for what is sent change the prompt alone, by depth', async () => {
  const { stored, done, sent, send, chat, shownText } = await opened(
    script({ ...everyone, where: 'sent', replace: '***', minDepth: 1, maxDepth: 1 }),
  );
  send('c', { text: 'My secret' });
  await done();
  expect(sent()).toEqual(['secret', 'a ***', 'My secret']);
  expect(stored()[1]).toBe('a secret');
  expect(shownText(chat(), reply)).toBe('a secret');
});

test('a script that cannot be run leaves the text as it is, and that is said once', async () => {
  const { chat, loadScripts, shownText } = await opened(
    script({ ...everyone, find: '/(?<=a )secret/', replace: '***' }),
    script({ ...everyone, id: 't', replace: 'x' }),
  );
  await loadScripts(chat());
  expect(shownText(chat(), reply)).toBe('a x');
  expect(shownText(chat(), { ...reply })).toBe('a x');
  await new Promise((resolve) => setTimeout(resolve));
  const { notices } = await import('../ui/notices.svelte.ts');
  expect(notices.list.map(({ text }) => text)).toEqual([
    'The regex script S was not used: the pattern uses a look-behind, which is not supported here.',
  ]);
});
