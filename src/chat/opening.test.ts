import { expect, test } from 'vitest';
import { type Message, text } from './messages.ts';
import { withOpening } from './opening.ts';
import type { ChatRequest } from './request.ts';
import type { ChatService } from './service.ts';

const user = (words: string): Message => ({ role: 'user', content: text(words) });
const system = (words: string): Message => ({ role: 'system', content: text(words) });

function requestSeen(messages: readonly Message[], templateVariables = {}): ChatRequest | undefined {
  let seen: ChatRequest | undefined;
  const countTokens = async (request: ChatRequest): Promise<number> => {
    seen = request;
    return 0;
  };
  const chat = { countTokens } as unknown as ChatService;
  const opening = { systemPrompt: 'Be brief.', messages: [user('first')], variables: { a: 1, b: 1 } };
  const request = { conversation: { messages, media: [], tools: [] }, templateVariables } as unknown as ChatRequest;
  void withOpening(chat, opening).countTokens(request);
  return seen;
}

test('withOpening: adds the system prompt and the messages before a conversation', () => {
  expect(requestSeen([user('Hi')])?.conversation.messages).toEqual([system('Be brief.'), user('first'), user('Hi')]);
});

test('withOpening: a system prompt of the request stays first, instead of the other', () => {
  expect(requestSeen([system('Own.'), user('Hi')])?.conversation.messages).toEqual([
    system('Own.'),
    user('first'),
    user('Hi'),
  ]);
});

test('withOpening: variables of the request win', () => {
  expect(requestSeen([], { b: 2 })?.templateVariables).toEqual({ a: 1, b: 2 });
});
