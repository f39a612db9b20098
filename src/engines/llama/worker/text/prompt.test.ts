import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clampReply, type MarkedTokens, planPrompt } from './prompt.ts';

const numbers = (count: number, first = 1) => Int32Array.from({ length: count }, (_, index) => first + index);
const text = (tokens: Int32Array): MarkedTokens => ({ tokens, media: [] });
const plain = { memory: text(numbers(0)), negativeLength: 0, bos: undefined };

describe('planPrompt: trim', () => {
  test('keeps a prompt that fits', () => {
    const plan = planPrompt(
      { ...plain, prompt: text(numbers(10)) },
      { contextSize: 100, maxTokens: 20, overflow: 'trim' },
    );
    expect([...plan.tokens]).toEqual([...numbers(10)]);
    expect(plan).toMatchObject({ maxTokens: 20, dropped: 0 });
  });

  test('drops the beginning of a long prompt and keeps the BOS token in front', () => {
    const plan = planPrompt(
      { ...plain, prompt: text(numbers(100)), bos: 999 },
      { contextSize: 100, maxTokens: 30, overflow: 'trim' },
    );
    expect(plan.tokens.length).toBe(70);
    expect([...plan.tokens.subarray(0, 2)]).toEqual([999, 32]);
    expect(plan.tokens.at(-1)).toBe(100);
    expect(plan.dropped).toBe(31);
  });

  test('keeps the memory while the prompt is shortened', () => {
    const parts = { ...plain, prompt: text(numbers(100)), memory: text(numbers(10, 500)), bos: 999 };
    const plan = planPrompt(parts, { contextSize: 100, maxTokens: 30, overflow: 'trim' });
    expect([...plan.tokens.subarray(0, 12)]).toEqual([999, ...numbers(10, 500), plan.tokens[11]]);
    expect(plan.tokens.length + 30 + 1).toBe(100);
    expect(plan.tokens.at(-1)).toBe(100);
  });

  test('trims a memory larger than the context too', () => {
    const parts = { ...plain, prompt: text(numbers(5)), memory: text(numbers(300, 500)) };
    const plan = planPrompt(parts, { contextSize: 100, maxTokens: 30, overflow: 'trim' });
    expect(plan.tokens.length).toBeLessThanOrEqual(70);
    expect(plan.tokens.includes(799)).toBe(true);
  });

  test('prompt and reply always fit, with room for the reply', () => {
    const size = fc.integer({ min: 0, max: 400 });
    fc.assert(
      fc.property(
        size,
        size,
        fc.integer({ min: 16, max: 300 }),
        fc.integer({ min: 1, max: 10_000 }),
        (a, b, c, max) => {
          const parts = { ...plain, prompt: text(numbers(a)), memory: text(numbers(b)), bos: 7 };
          const plan = planPrompt(parts, { contextSize: c, maxTokens: max, overflow: 'trim' });
          expect(plan.maxTokens).toBeGreaterThanOrEqual(1);
          expect(plan.tokens.length + plan.maxTokens).toBeLessThanOrEqual(c);
          expect(plan.tokens.length - 1 + plan.dropped).toBe(a + b);
        },
      ),
    );
  });
});

describe('planPrompt: pictures in a prompt that is too long', () => {
  const limits = { contextSize: 100, maxTokens: 30, overflow: 'trim' } as const;
  const picture = { start: 20, end: 40 };
  const withPicture = (length: number): MarkedTokens => ({ tokens: numbers(length), media: [picture] });
  test.each([
    ['before one', 80, 11],
    ['at its beginning', 90, 21],
    ['inside one', 91, 41],
    ['at its end', 110, 41],
  ])('cut %s', (_, length, first) =>
    expect(planPrompt({ ...plain, prompt: withPicture(length) }, limits).tokens[0]).toBe(first),
  );

  test('a second cut, for the memory, leaves them whole', () => {
    const parts = { ...plain, prompt: withPicture(85), memory: text(numbers(10, 500)) };
    const plan = planPrompt(parts, limits);
    expect([...plan.tokens.subarray(0, 11)]).toEqual([...numbers(10, 500), 41]);
    expect(plan.dropped).toBe(40);
  });

  test('in the memory are cut like those in the prompt', () => {
    const plan = planPrompt({ ...plain, prompt: text(numbers(5)), memory: withPicture(90) }, limits);
    expect(plan.tokens[0]).toBe(41);
  });

  test('leave less room for the reply', () => {
    const room = (media: MarkedTokens['media']) =>
      planPrompt({ ...plain, prompt: { tokens: numbers(20), media } }, { ...limits, maxTokens: 999 }).maxTokens;
    expect([room([]), room([{ start: 0, end: 10 }])]).toEqual([80, 65]);
  });
});

describe('planPrompt: refuse', () => {
  const limits = { contextSize: 50, maxTokens: 40, overflow: 'refuse' } as const;
  test('keeps a prompt that fits; the reply gets the rest', () => {
    expect(planPrompt({ ...plain, prompt: text(numbers(20)) }, limits)).toMatchObject({ maxTokens: 30, dropped: 0 });
  });
  test('rejects a prompt without room for a reply, with its figures', () => {
    expect(() => planPrompt({ ...plain, prompt: text(numbers(50)) }, limits)).toThrow(
      'The prompt has 50 tokens, and the context of 50 must have room for a reply too.',
    );
  });
});

test.each([
  [2000, 1000, 100, 800],
  [2000, 1000, 250, 650],
  [100, 1000, 900, 100],
])('clampReply: a reply of %i in a context of %i after a prompt of %i becomes %i', (max, context, prompt, expected) => {
  expect(clampReply(max, context, prompt)).toBe(expected);
});

describe('planPrompt: maxTokens 0', () => {
  test.each(['trim', 'refuse'] as const)('stays 0 (%s)', (overflow) => {
    const plan = planPrompt({ ...plain, prompt: text(numbers(10)) }, { contextSize: 100, maxTokens: 0, overflow });
    expect(plan).toMatchObject({ maxTokens: 0, dropped: 0 });
  });

  test('leaves the whole context to the prompt', () => {
    const parts = { ...plain, prompt: text(numbers(99)), bos: 7 };
    const plan = planPrompt(parts, { contextSize: 100, maxTokens: 0, overflow: 'refuse' });
    expect(plan.tokens.length).toBe(100);
  });

  test('does not make a prompt fit that has no room at all', () => {
    const parts = { ...plain, prompt: text(numbers(100)), bos: 7 };
    expect(() => planPrompt(parts, { contextSize: 100, maxTokens: 0, overflow: 'refuse' })).toThrow();
  });
});

describe('planPrompt: front', () => {
  const front = (own: object, overflow: 'trim' | 'refuse', count = 10) =>
    planPrompt({ ...plain, prompt: text(numbers(count)), ...own }, { contextSize: 100, maxTokens: 20, overflow }).front;

  test.each(['trim', 'refuse'] as const)('counts BOS and memory (%s)', (overflow) => {
    expect(front({}, overflow)).toBe(0);
    expect(front({ bos: 7 }, overflow)).toBe(1);
    expect(front({ bos: 7, memory: text(numbers(5)) }, overflow)).toBe(6);
    expect(front({ memory: text(numbers(5)) }, overflow)).toBe(5);
  });

  test('counts what is left after trimming', () => {
    expect(front({ bos: 7 }, 'trim', 500)).toBe(1);
    expect(front({ bos: 7, memory: text(numbers(5)) }, 'trim', 500)).toBe(6);
  });
});
