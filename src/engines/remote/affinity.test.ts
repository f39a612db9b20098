import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Message, text } from '../../chat/messages.ts';
import { chatAffinity, textAffinity } from './affinity.ts';

const user = (words: string): Message => ({ role: 'user', content: text(words) });
const assistant = (words: string): Message => ({ role: 'assistant', content: text(words) });
const system = (words: string): Message => ({ role: 'system', content: text(words) });
const chat = (...messages: readonly Message[]) => chatAffinity({ messages, media: [], tools: [] });

describe('a conversation', () => {
  test('has the same affinity in all its turns', () => {
    const turn = fc.tuple(fc.string(), fc.string());
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.array(turn), (rules, first, turns) => {
        const later = turns.flatMap(([answer, question]) => [assistant(answer), user(question)]);
        expect(chat(system(rules), user(first), ...later)).toBe(chat(system(rules), user(first)));
      }),
    );
  });

  test('has another one than a conversation that begins in another way', () => {
    expect(chat(system('Be kind.'), user('Hi'))).not.toBe(chat(system('Be kind.'), user('Hello')));
    expect(chat(system('Be kind.'), user('Hi'))).not.toBe(chat(system('Be short.'), user('Hi')));
    expect(chat(user('Hi'))).not.toBe(chat(system('Hi')));
    const tools = [{ name: 'get_weather', parameters: {} }];
    expect(chatAffinity({ messages: [user('Hi')], media: [], tools })).not.toBe(chat(user('Hi')));
  });

  test('may have no user, or nothing at all', () => {
    expect(chat(assistant('Well'), assistant('then'))).toBe(chat(assistant('Well')));
    expect(chat()).toEqual(expect.any(String));
  });
});

describe('a text that grows', () => {
  const of = (prompt: string, memory = '') => textAffinity({ prompt, memory, promptTokens: undefined });

  test('changes its affinity only when it has doubled, and never once it is long', () => {
    const story = Array.from({ length: 2000 }, (_, number) => `word${number} `).join('');
    const seen = Array.from({ length: 100 }, (_, step) => of(story.slice(0, 256 + step * 100)));
    expect(new Set(seen).size).toBeLessThanOrEqual(5);
    expect(of(story.slice(0, 9000))).toBe(of(story));
  });

  test('is known by its memory as by its prompt', () => {
    expect(of('then', 'first ')).toBe(of('first then'));
    expect(of('b')).not.toBe(of('c'));
  });

  test('may be tokens', () => {
    const of = (promptTokens: readonly number[]) => textAffinity({ prompt: '', memory: '', promptTokens });
    expect(of([1, 2])).toBe(of([1, 2]));
    expect(of([1, 2])).not.toBe(of([12]));
  });
});
