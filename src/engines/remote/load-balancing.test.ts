import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Message, text } from '../../chat/messages.ts';
import { type Candidate, chatAffinity, choose, shareOf, textAffinity } from './load-balancing.ts';

const idle = (id: string, weight = 1): Candidate => ({ id, weight, running: 0 });
const candidates = fc.uniqueArray(
  fc.record({
    id: fc.string({ minLength: 1, maxLength: 12 }),
    weight: fc.double({ min: 0.1, max: 10, noNaN: true }),
    running: fc.nat({ max: 50 }),
  }),
  { minLength: 1, maxLength: 12, selector: ({ id }) => id },
);

describe('choose', () => {
  test('is undefined without candidates', () => {
    expect(choose([], 'x')).toBeUndefined();
  });

  test('always finds a candidate below its load limit', () => {
    fc.assert(
      fc.property(candidates, fc.string(), (all, affinity) => {
        const chosen = choose(all, affinity);
        const total = all.reduce((sum, { running }) => sum + running, 0);
        const weights = all.reduce((sum, { weight }) => sum + weight, 0);
        expect(all).toContain(chosen);
        expect((chosen?.running ?? 0) + 1).toBeLessThanOrEqual(
          Math.max(1, shareOf(total + 1, (chosen?.weight ?? 0) / weights)),
        );
      }),
    );
  });

  test('does not depend on the order of candidates', () => {
    fc.assert(
      fc.property(candidates, fc.string(), (all, affinity) => {
        expect(choose(all.toReversed(), affinity)).toBe(choose(all, affinity));
      }),
    );
  });

  test('keeps its choice when another candidate goes, without load', () => {
    fc.assert(
      fc.property(candidates, fc.string(), (all, affinity) => {
        const rested = all.map((one) => ({ ...one, running: 0 }));
        const chosen = choose(rested, affinity);
        for (const gone of rested.filter((one) => one !== chosen)) {
          const left = rested.filter((one) => one !== gone);
          expect(choose(left, affinity)).toBe(chosen);
        }
      }),
    );
  });

  test('uses another candidate when the first exceeds its limit', () => {
    const rested = [idle('a'), idle('b'), idle('c')];
    const first = choose(rested, 'some text');
    const busy = rested.map((one) => (one === first ? { ...one, running: 10 } : one));
    expect(choose(busy, 'some text')?.id).not.toBe(first?.id);
    // With the same work for all of them it is worth to go on where the text is known.
    const even = rested.map((one) => ({ ...one, running: 10 }));
    expect(choose(even, 'some text')?.id).toBe(first?.id);
  });

  test('follows the weights', () => {
    const all = [idle('http://a:1', 1), idle('http://b:1', 3)];
    const texts = Array.from({ length: 4000 }, (_, number) => `text ${number}`);
    const heavy = texts.filter((text) => choose(all, text)?.id === 'http://b:1').length;
    expect(heavy / texts.length).toBeGreaterThan(0.7);
    expect(heavy / texts.length).toBeLessThan(0.8);
  });

  test('spreads endless requests by weight for any keys', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 60 }),
        (count, texts) => {
          const running = Array.from({ length: count }, () => 0);
          for (const text of texts) {
            const all = running.map((own, place) => ({ id: `r${place}`, weight: 1, running: own, place }));
            const chosen = choose(all, text);
            if (chosen) running[chosen.place] = (running[chosen.place] ?? 0) + 1;
          }
          expect(Math.max(...running)).toBeLessThanOrEqual(Math.max(1, shareOf(texts.length, 1 / count)));
        },
      ),
    );
  });
});

const user = (words: string): Message => ({ role: 'user', content: text(words) });
const assistant = (words: string): Message => ({ role: 'assistant', content: text(words) });
const system = (words: string): Message => ({ role: 'system', content: text(words) });
const chat = (...messages: readonly Message[]) => chatAffinity({ messages, media: [], tools: [] });

describe('chatAffinity', () => {
  test('is the same for all turns', () => {
    const turn = fc.tuple(fc.string(), fc.string());
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.array(turn), (rules, first, turns) => {
        const later = turns.flatMap(([answer, question]) => [assistant(answer), user(question)]);
        expect(chat(system(rules), user(first), ...later)).toBe(chat(system(rules), user(first)));
      }),
    );
  });

  test('differs for another beginning', () => {
    expect(chat(system('Be kind.'), user('Hi'))).not.toBe(chat(system('Be kind.'), user('Hello')));
    expect(chat(system('Be kind.'), user('Hi'))).not.toBe(chat(system('Be short.'), user('Hi')));
    expect(chat(user('Hi'))).not.toBe(chat(system('Hi')));
    const tools = [{ name: 'get_weather', parameters: {} }];
    expect(chatAffinity({ messages: [user('Hi')], media: [], tools })).not.toBe(chat(user('Hi')));
  });

  test('supports conversations without a user message', () => {
    expect(chat(assistant('Well'), assistant('then'))).toBe(chat(assistant('Well')));
    expect(chat()).toEqual(expect.any(String));
  });
});

describe('textAffinity', () => {
  const of = (prompt: string, memory = '') => textAffinity({ prompt, memory, promptTokens: undefined });

  test('changes only when a text doubles, up to a limit', () => {
    const story = Array.from({ length: 2000 }, (_, number) => `word${number} `).join('');
    const seen = Array.from({ length: 100 }, (_, step) => of(story.slice(0, 256 + step * 100)));
    expect(new Set(seen).size).toBeLessThanOrEqual(5);
    expect(of(story.slice(0, 9000))).toBe(of(story));
  });

  test('depends on memory and prompt', () => {
    expect(of('then', 'first ')).toBe(of('first then'));
    expect(of('b')).not.toBe(of('c'));
  });

  test('supports tokens', () => {
    const of = (promptTokens: readonly number[]) => textAffinity({ prompt: '', memory: '', promptTokens });
    expect(of([1, 2])).toBe(of([1, 2]));
    expect(of([1, 2])).not.toBe(of([12]));
  });
});
