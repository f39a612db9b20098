import { describe, expect, test } from 'vitest';
import { newId } from '../saved/id.ts';
import { beginningWith } from './choices.ts';
import { gaugeOf } from './gauge.ts';
import { joint } from './joint.ts';

describe('what is added to a story', () => {
  test.each([
    ['', 'Once', ''],
    ['The end.', 'Or not.', ' '],
    ['The end. ', 'Or not.', ''],
    ['The end.\n\n', 'Or not.', ''],
    ['The end', ', or not.', ''],
    ['The end.', '\nOr not.', ''],
  ])('after %j, %j is joined with %j', (before, added, expected) => {
    expect(joint(before, added)).toBe(expected);
  });
});

describe('another token', () => {
  const choices = [' The', ' fox', ' ran', '.'].map((text) => ({ text, probability: 1, others: [] }));
  test.each([
    ['Once. The fox ran.', 1, ' cat', 'Once. The cat'],
    ['Once. The fox ran.', 0, ' A', 'Once. A'],
    ['The fox ran.', 2, ' slept', 'The fox slept'],
    ['The fox ran.', 0, ' A', 'A'],
    ['Given words The fox ran.', 3, '!', 'Given words The fox ran!'],
  ])('in %j at %i: %j makes %j', (text, at, instead, expected) => {
    expect(beginningWith(text, choices, at, instead)).toBe(expected);
  });
});

describe('the gauge', () => {
  const parts = { memory: 40, world: 0, note: 0, text: 400 };

  test('shows what is taken and what is kept for the reply', () => {
    const gauge = gaugeOf(parts, { context: 1000, reply: 100, charactersPerToken: 4 });
    expect(gauge?.percent).toBe(21);
    expect(gauge?.sentence).toBe('about 110 of 1,000 tokens, 100 reserved for the reply');
    expect(gauge?.parts.map(({ name, tokens, percent }) => [name, tokens, percent])).toEqual([
      ['memory', 10, 1],
      ['world', 0, 0],
      ['note', 0, 0],
      ['text', 100, 10],
      ['reply', 100, 10],
    ]);
  });

  test('is full and never more', () => {
    const gauge = gaugeOf({ ...parts, text: 8000 }, { context: 1000, reply: 500, charactersPerToken: 4 });
    expect(gauge?.percent).toBe(100);
    expect(gauge?.parts.reduce((sum, { percent }) => sum + percent, 0)).toBeCloseTo(100);
  });

  test('is not there while nobody knows how much the model can read', () => {
    expect(gaugeOf(parts, { context: 0, reply: 100, charactersPerToken: 4 })).toBeUndefined();
  });
});

test('ids are short, fit into an address and are all different', () => {
  const ids = Array.from({ length: 200 }, newId);
  expect(new Set(ids).size).toBe(200);
  for (const id of ids) expect(id).toMatch(/^[a-z0-9]{12}$/);
});
