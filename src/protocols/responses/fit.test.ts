import { expect, test } from 'vitest';
import { flatContent, type Message, text } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import { whole } from '../../core/slices.ts';
import { ResponseStore } from '../../store/responses.ts';
import { ownDocuments } from '../documents/library.ts';
import { dialectParts } from '../testing/doubles.ts';
import { decode } from './decode.ts';
import { fitConversation } from './fit.ts';

const say = (role: 'user' | 'system' | 'assistant' | 'tool', words: string): Message => ({
  role,
  content: text(words),
});
const words = ({ conversation }: ChatRequest): string[] =>
  conversation.messages.map(({ content }) => flatContent(content, []));

function request(messages: readonly Message[], truncation = 'auto'): ChatRequest {
  const parts = { ...dialectParts(), store: new ResponseStore().of(''), own: ownDocuments({}, {}) };
  const { request: chat } = whole(decode({ input: 'Hi', truncation, max_output_tokens: 1000 }, parts));
  return { ...chat, conversation: { ...chat.conversation, messages } };
}

/** A test double: every character is a token. */
const counting = () => {
  let counts = 0;
  const countTokens = async (asked: ChatRequest): Promise<number> => {
    counts += 1;
    return words(asked).join('').length;
  };
  return { chat: { countTokens }, counts: () => counts };
};

const talk = [say('system', 'S'.repeat(10)), say('user', 'a'.repeat(30)), say('assistant', 'b'.repeat(30))];

test('fitConversation: one count if all fits, and no cut for a long reply', async () => {
  const { chat, counts } = counting();
  const fitted = await fitConversation(request(talk), chat, 100);
  expect([words(fitted.request).length, fitted.droppedMessages, counts()]).toEqual([3, 0, 1]);
  expect(fitted.request.controls.overflow).toBe('refuse');
});

test('fitConversation: drops the oldest messages, keeps system messages, reserves a quarter', async () => {
  const more = [...talk, say('user', 'c'.repeat(30)), say('assistant', 'd'.repeat(20)), say('user', 'e')];
  const { request: kept, droppedMessages } = await fitConversation(request(more), counting().chat, 100);
  expect(words(kept).map((part) => part[0])).toEqual(['S', 'c', 'd', 'e']);
  expect([droppedMessages, kept.controls.overflow]).toEqual([2, 'refuse']);
});

test('fitConversation: never starts with a tool result', async () => {
  const loop = [say('user', 'a'.repeat(60)), say('assistant', 'b'.repeat(60)), say('tool', 'c'), say('assistant', 'd')];
  const { request: kept } = await fitConversation(request(loop), counting().chat, 60);
  expect(words(kept)).toEqual(['d']);
});

test('fitConversation: leaves what cannot fit to the engine', async () => {
  const { request: kept } = await fitConversation(request([say('user', 'a'.repeat(200))]), counting().chat, 100);
  expect([words(kept).length, kept.controls.overflow]).toEqual([1, 'trim']);
});

test('fitConversation: does not count with truncation disabled', async () => {
  const { chat, counts } = counting();
  const original = request(talk, 'disabled');
  expect((await fitConversation(original, chat, 10)).request).toBe(original);
  expect(counts()).toBe(0);
});

test('fitConversation: drops the media of dropped messages', async () => {
  const image = (base64: string) => ({ kind: 'image', base64 }) as const;
  const shows = (index: number, words: string): Message => ({
    role: 'user',
    content: [{ type: 'medium', index }, ...text(words)],
  });
  const asked = request([shows(0, 'a'.repeat(80)), shows(1, 'b')]);
  const original = { ...asked, conversation: { ...asked.conversation, media: [image('A'), image('B')] } };
  const { request: fitted } = await fitConversation(original, counting().chat, 100);
  expect(fitted.conversation).toMatchObject({ messages: [shows(0, 'b')], media: [image('B')] });
});
