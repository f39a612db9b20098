import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CompactionInput,
  type CompactionPlan,
  clearedResult,
  compactedPrefix,
  cutsOf,
  joinUserTurns,
  planCompaction,
} from './compaction-plan.ts';
import { type Message, plainText, text } from './messages.ts';

const user = (words: string): Message => ({ role: 'user', content: text(words) });
const assistant = (words: string): Message => ({ role: 'assistant', content: text(words) });
const call = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  content: [],
  toolCalls: ids.map((id) => ({ id, name: 'read', json: '{}' })),
});
const result = (callId: string, words: string): Message => ({ role: 'tool', content: text(words), callId });

const placeholder = 10;
const summary = 50;
const sizeOf = (message: Message): number => (isSummary(message) ? summary : plainText(message.content).length);
const isSummary = ({ content }: Message): boolean => plainText(content).includes('<summary>');

function inputFor(messages: readonly Message[], budget: number): CompactionInput {
  return { messages, sizes: messages.map(sizeOf), budget, placeholder, summary };
}

const applied = (messages: readonly Message[], plan: CompactionPlan): readonly Message[] =>
  joinUserTurns(compactedPrefix(messages, plan, 'S'), messages.slice(plan.end));

/** A turn: a question, calls with their results, an answer. */
const turns = fc.array(
  fc.record({
    asked: fc.integer({ min: 1, max: 200 }),
    calls: fc.array(fc.record({ count: fc.integer({ min: 1, max: 3 }), size: fc.integer({ min: 1, max: 400 }) }), {
      maxLength: 4,
    }),
    answered: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
    system: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
);

const conversations = turns.map((all): readonly Message[] => {
  let id = 0;
  const messages = all.flatMap(({ asked, calls, answered, system }, turn): Message[] => [
    ...(system ? [{ role: 'system', content: text(`system ${turn}`) } as const] : []),
    user(`u${turn}`.padEnd(asked, '.')),
    ...calls.flatMap(({ count, size }) => {
      const ids = Array.from({ length: count }, () => `c${id++}`);
      return [call(...ids), ...ids.map((each) => result(each, `r${each}`.padEnd(size, '.')))];
    }),
    ...(answered === undefined ? [] : [assistant(`a${turn}`.padEnd(answered, '.'))]),
  ]);
  return messages;
});

const property = (check: (messages: readonly Message[], budget: number) => void): void =>
  fc.assert(fc.property(conversations, fc.integer({ min: 60, max: 3000 }), check), { seed: 37, numRuns: 400 });

describe('planCompaction', () => {
  test('returns nothing for a conversation that fits', () =>
    property((messages) => {
      expect(planCompaction(inputFor(messages, 1_000_000))).toBeUndefined();
    }));

  test('never separates a call from its result', () =>
    property((messages, budget) => {
      const plan = planCompaction(inputFor(messages, budget));
      if (!plan) return;
      const after = applied(messages, plan);
      const calls = after.flatMap((each) =>
        each.role === 'assistant' ? (each.toolCalls ?? []).map(({ id }) => id) : [],
      );
      const results = after.flatMap((each) => (each.role === 'tool' ? [each.callId] : []));
      expect(results).toEqual(calls);
      const ends = [...cutsOf(messages), messages.length];
      expect(ends).toContain(plan.end);
    }));

  test('keeps system messages, the last user message and the last message', () =>
    property((messages, budget) => {
      const plan = planCompaction(inputFor(messages, budget));
      if (!plan) return;
      const words = applied(messages, plan).map(({ content }) => plainText(content));
      const kept = messages.filter(({ role }) => role === 'system');
      const lastUser = messages.findLast(({ role }) => role === 'user') as Message;
      for (const each of [...kept, lastUser, messages.at(-1) as Message]) {
        expect(words.some((word) => word.includes(plainText(each.content)))).toBe(true);
      }
    }));

  test('keeps the first user message unless it is long', () =>
    property((messages, budget) => {
      const first = messages.find(({ role }) => role === 'user') as Message;
      const plan = planCompaction(inputFor(messages, budget));
      if (!plan || sizeOf(first) > budget / 4) return;
      expect(applied(messages, plan).some(({ content }) => plainText(content).includes(plainText(first.content)))).toBe(
        true,
      );
    }));

  test('is idempotent: what fits after compaction is left alone', () =>
    property((messages, budget) => {
      const plan = planCompaction(inputFor(messages, budget));
      if (!plan) return;
      const after = applied(messages, plan);
      const sizes = after.map(sizeOfJoined);
      if (sizes.reduce((all, size) => all + size, 0) > budget) return;
      expect(planCompaction({ ...inputFor(after, budget), sizes })).toBeUndefined();
    }));

  test('is monotone: a larger budget clears and summarises no more', () =>
    property((messages, budget) => {
      const small = planCompaction(inputFor(messages, budget));
      const large = planCompaction(inputFor(messages, budget + 100));
      const gone = (plan: CompactionPlan | undefined) => plan?.summarise ?? [];
      expect(gone(small).length === 0 && gone(large).length > 0).toBe(false);
      if (gone(small).length === 0)
        expect(small?.clear ?? []).toEqual(expect.arrayContaining([...(large?.clear ?? [])]));
      else expect(Math.max(...gone(small), -1)).toBeGreaterThanOrEqual(Math.max(...gone(large), -1));
    }));

  test('clears the oldest results first, and keeps the last three', () => {
    const messages = [user('go'), ...'abcde'.split('').flatMap((id) => [call(id), result(id, id.repeat(100))])];
    const one = planCompaction(inputFor(messages, 450));
    expect(one).toEqual({ end: 3, clear: [2], summarise: [], size: 412 });
    const shown = applied(messages, one as CompactionPlan).map(({ content }) => plainText(content));
    expect(shown.slice(0, 5)).toEqual(['go', '', clearedResult, '', 'b'.repeat(100)]);
    expect(planCompaction(inputFor(messages, 350))?.clear).toEqual([2, 4]);
  });

  test('summarises the middle when clearing is not enough', () => {
    const messages = [
      user('first'),
      assistant('a'.repeat(300)),
      user('second'),
      assistant('b'.repeat(300)),
      user('third'),
      assistant('c'.repeat(100)),
      user('last'),
    ];
    const plan = planCompaction(inputFor(messages, 200)) as CompactionPlan;
    expect(plan).toEqual({ end: 4, clear: [], summarise: [1, 2, 3], size: 164 });
    const after = applied(messages, plan);
    expect(after.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(plainText((after[0] as Message).content)).toMatch(/^first\n\n[\s\S]*<summary>\nS\n<\/summary>\n\nthird$/);
  });

  test('inside one long turn: keeps the question and the last call with its result', () => {
    const messages = [
      user('question'),
      ...'abcd'.split('').flatMap((id) => [assistant(id.repeat(200)), call(id), result(id, id.repeat(60))]),
    ];
    const plan = planCompaction(inputFor(messages, 150)) as CompactionPlan;
    const after = applied(messages, plan);
    expect(after.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(plainText((after[0] as Message).content)).toMatch(/^question\n\n/);
  });
});

/** The summary is part of a user turn. */
function sizeOfJoined(message: Message): number {
  if (!isSummary(message)) return sizeOf(message);
  return summary + plainText(message.content).replace(/(\n\n)?The earlier part[\s\S]*<\/summary>(\n\n)?/, '').length;
}

test('cutsOf: calls without ids, repeated ids and unanswered calls', () => {
  const bare: Message = { role: 'tool', content: text('r') };
  expect(cutsOf([user('a'), call('x'), bare, user('b')])).toEqual([1, 3]);
  expect(cutsOf([call('x'), result('x', 'r'), call('x'), result('x', 'r')])).toEqual([2]);
  expect(cutsOf([call('x'), user('late'), result('x', 'r'), call('lost'), user('b')])).toEqual([3, 4]);
});
