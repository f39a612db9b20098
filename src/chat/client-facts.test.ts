import { expect, test } from 'vitest';
import { clientFacts } from './client-facts.ts';
import { type Message, text } from './messages.ts';

const system = (...blocks: string[]): Message => ({ role: 'system', content: blocks.flatMap(text) });
const user = (...blocks: string[]): Message => ({ role: 'user', content: blocks.flatMap(text) });
const assistant = (words: string): Message => ({ role: 'assistant', content: text(words) });

test('clientFacts: beginnings of the leading system blocks and of the last block of the user', () => {
  const messages = [system('cc_version=1', 'a'.repeat(1000)), user('reminder', 'question'), system('later')];
  expect(clientFacts({ messages: messages.slice(0, 2) })).toEqual({
    system: ['cc_version=1', 'a'.repeat(400)],
    lastText: 'question',
  });
});

test('clientFacts: no last text unless the user has the last message', () => {
  expect(clientFacts({ messages: [user('question'), assistant('answer')] })).toEqual({ system: [] });
  expect(clientFacts({ messages: [system('only')] })).toEqual({ system: ['only'] });
});
