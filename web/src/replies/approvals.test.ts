import { expect, test } from 'vitest';
import type { Chat, ToolCall, Turn } from '../conversations/conversation.ts';
import { emptyChat, leafOf, pathOf, withTurn } from '../conversations/tree.ts';
import { fakePage } from '../testing/page.ts';

const completions = 'v1/chat/completions';
const roll: ToolCall = { id: 'k1', name: 'roll', arguments: '{"sides":6}' };
const chatWith = (...calls: readonly ToolCall[]): Chat => {
  const question: Turn = { id: 'q', parent: null, role: 'user', text: 'Roll', at: 1 };
  const reply: Turn = { id: 'r', parent: 'q', role: 'assistant', text: '', at: 2, calls };
  return withTurn(withTurn(emptyChat('c', 1), question), reply);
};

async function opened(chat: Chat) {
  const page = fakePage({
    mcp: () => ({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'a six' }] } }),
    [completions]: () =>
      new Response('data: {"choices":[{"delta":{"content":"Done."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
  });
  page.records('chats').set('c', chat);
  const { chatRecords } = await import('../conversations/library.svelte.ts');
  await chatRecords.load();
  const approvals = await import('./approvals.svelte.ts');
  const path = () => pathOf(chatRecords.find('c') as Chat);
  const answered = () => expect.poll(() => leafOf(chatRecords.find('c') as Chat)?.text).toBe('Done.');
  return { page, chatRecords, path, answered, ...approvals };
}

test('approve: calls the tool and requests a reply to its result', async () => {
  const { page, path, answered, approve } = await opened(chatWith(roll));
  await approve('c', roll);
  await answered();
  expect(page.requestsTo('mcp')[0]?.body).toMatchObject({
    method: 'tools/call',
    params: { name: 'roll', arguments: { sides: 6 } },
  });
  expect(path().at(-2)).toMatchObject({ role: 'tool', text: 'a six', callId: 'k1', toolName: 'roll' });
});

test('approve: requests no reply while another call is open', async () => {
  const { page, path, approve } = await opened(chatWith(roll, { ...roll, id: 'k2' }));
  await approve('c', roll);
  expect(path().at(-1)).toMatchObject({ role: 'tool', callId: 'k1' });
  expect(page.requestsTo(completions)).toEqual([]);
});

test('approve: does not call the tool if the arguments are not JSON', async () => {
  const broken = { ...roll, arguments: '{"sides":' };
  const { page, path, answered, approve } = await opened(chatWith(broken));
  await approve('c', broken);
  await answered();
  expect(page.requestsTo('mcp')).toEqual([]);
  expect(path().at(-2)?.text).toMatch(/^Error: .*JSON/);
});

test('deny: tells the model that the call was not allowed', async () => {
  const { page, path, answered, deny } = await opened(chatWith(roll));
  deny('c', roll);
  await answered();
  expect(page.requestsTo('mcp')).toEqual([]);
  expect(path().at(-2)?.text).toMatch(/not allow/);
});

test('trust: also runs the other open calls of the tool without asking', async () => {
  const { page, chatRecords, answered, trust } = await opened(chatWith(roll, { ...roll, id: 'k2' }));
  await trust('c', roll);
  await answered();
  expect(chatRecords.find('c')?.trusted).toEqual(['roll']);
  expect(page.requestsTo('mcp')).toHaveLength(2);
});

test('approve: drops the result if another branch is shown meanwhile', async () => {
  const { page, chatRecords, path, approve } = await opened(chatWith(roll));
  const { change } = await import('../conversations/library.svelte.ts');
  const other: Turn = { id: 'r2', parent: 'q', role: 'assistant', text: 'Another', at: 3 };
  const done = approve('c', roll);
  change('c', (chat) => withTurn(chat, other));
  await done;
  expect(path().map(({ id }) => id)).toEqual(['q', 'r2']);
  expect(Object.keys(chatRecords.find('c')?.turns ?? {})).toHaveLength(3);
  expect(page.requestsTo(completions)).toEqual([]);
});
