import { expect, test } from 'vitest';
import { type Memory, type MemoryLibrary, memoryBlock } from '../../core/memories.ts';
import { type Message, plainText, text } from '../messages.ts';
import type { ChatRequest } from '../request.ts';
import { withMemories } from './recall.ts';

const user = (words: string): Message => ({ role: 'user', content: text(words) });
const assistant = (words: string): Message => ({ role: 'assistant', content: text(words) });

function chat(...messages: Message[]): ChatRequest {
  return { conversation: { messages, media: [], tools: [] } } as unknown as ChatRequest;
}

/** Finds its facts for messages that name them. */
function remembering(...facts: string[]) {
  const kept = new Map<string, string>();
  const asked: string[] = [];
  const find: MemoryLibrary['find'] = async (query) => {
    asked.push(query.text);
    return facts.flatMap((fact) => (query.text.includes(fact.split(' ')[0] ?? '') ? [{ text: fact } as Memory] : []));
  };
  const recall = async (request: ChatRequest, owner = 'Ann'): Promise<readonly string[]> => {
    const store = {
      get: (key: string) => kept.get(key),
      set: (key: string, block: string) => void kept.set(key, block),
    };
    const made = await withMemories(request, { library: { find } as MemoryLibrary, cache: store, owner });
    return made.conversation.messages.map(({ content }) => plainText(content));
  };
  return { recall, asked, kept };
}

test('recall: what fits is put at the end of the last message', async () => {
  const { recall } = remembering('Rex is a dog.', 'Tea is liked.');
  expect(await recall(chat(user('Hello.'), assistant('Hi.'), user('Where is Rex?')))).toEqual([
    'Hello.',
    'Hi.',
    'Where is Rex?\n\n[Remembered from earlier chats, to be used only where it helps:\n- Rex is a dog.]',
  ]);
});

test('recall: a message keeps what it got, so that the next turn begins with the same prompt', async () => {
  const { recall, asked } = remembering('Rex is a dog.');
  const first = await recall(chat(user('Where is Rex?')));
  const second = await recall(chat(user('Where is Rex?'), assistant('Outside.'), user('Thanks.')));
  expect(second).toEqual([...first, 'Outside.', 'Thanks.']);
  expect(asked).toEqual(['Where is Rex?', 'Thanks.']);
});

test('recall: a message without memories stays without them when it is sent again', async () => {
  const facts = remembering('Rex is a dog.');
  await facts.recall(chat(user('Hello.')));
  const later = remembering('Hello is a word.');
  for (const [key, block] of facts.kept) later.kept.set(key, block);
  expect(await later.recall(chat(user('Hello.')))).toEqual(['Hello.']);
});

test('recall: results of tools after the message change nothing', async () => {
  const { recall } = remembering('Rex is a dog.');
  const [first] = await recall(chat(user('Where is Rex?')));
  const [again] = await recall(chat(user('Where is Rex?'), assistant(''), { role: 'tool', content: text('Rex') }));
  expect(again).toBe(first);
});

test('recall: people whose conversations begin alike do not share what was added', async () => {
  const facts = remembering('Rex is a dog.');
  await facts.recall(chat(user('Rex?')), 'Ann');
  const other = remembering();
  for (const [key, block] of facts.kept) other.kept.set(key, block);
  expect(await other.recall(chat(user('Rex?')), 'Bob')).toEqual(['Rex?']);
});

test('recall: a conversation without a message of the user is not changed', async () => {
  const { recall, asked } = remembering('Rex is a dog.');
  expect(await recall(chat({ role: 'system', content: text('Be brief.') }))).toEqual(['Be brief.']);
  expect(asked).toEqual([]);
});

test('recall: a message whose client put memories there gets no others', async () => {
  const { recall, asked } = remembering('Rex is a dog.');
  const own = `Rex?${memoryBlock([{ text: 'Mine.' }])}`;
  expect(await recall(chat(user(own)))).toEqual([own]);
  expect(asked).toEqual([]);
});

test('recall: no more than fits, each memory in one line', () => {
  expect(memoryBlock([])).toBe('');
  expect(memoryBlock([{ text: 'one\ntwo' }])).toContain('\n- one two]');
  const many = memoryBlock(Array.from({ length: 50 }, (_, index) => ({ text: `${index} ${'x'.repeat(200)}` })));
  expect(many.length).toBeLessThan(3200);
});
