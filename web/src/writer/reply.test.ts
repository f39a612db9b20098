import { describe, expect, test } from 'vitest';
import { choicesOf, storyReplies, textWithToken } from './reply.ts';

const { empty, withEvent } = storyReplies;
const event = (token: string, finish_reason: string | null = null, more: object = {}): string =>
  JSON.stringify({ token, finish_reason, ...more });

describe('storyReplies', () => {
  test('adds the tokens of a stream until its finish reason', () => {
    const events = [event('Once'), event(' more'), event('', 'stop', { warnings: ['careful'] })];
    expect(events.reduce(withEvent, empty)).toEqual({
      text: 'Once more',
      finish: 'stop',
      failed: undefined,
      warnings: ['careful'],
    });
    expect(withEvent(empty, event('Once')).finish).toBeUndefined();
  });

  test('keeps the text before an error, with its message', () => {
    const failed = [event('a'), event('', 'error', { error: { message: 'Out of memory.' } })].reduce(withEvent, empty);
    expect(failed).toMatchObject({ text: 'a', finish: 'error', failed: 'Out of memory.' });
    expect(withEvent(empty, event('', 'error')).failed).toMatch(/^The server could not finish/);
  });
});

describe('choicesOf', () => {
  const token = (text: string) => ({ token: text, logprob: Math.log(0.5), top_logprobs: [{ token: 'x', logprob: 0 }] });

  test('returns tokens with alternatives as probabilities', () => {
    expect(choicesOf({ content: [token('Hi')] }, 'Hi')).toEqual([
      { text: 'Hi', probability: 0.5, others: [{ text: 'x', probability: 1 }] },
    ]);
  });

  test('leaves out the tokens of a stop sequence after the reply', () => {
    expect(choicesOf({ content: [token('Hi'), token('.'), token('\n'), token('You')] }, 'Hi.')).toHaveLength(2);
  });

  test('returns nothing without logprobs', () => {
    expect(choicesOf(null, 'Hi')).toEqual([]);
    expect(choicesOf(undefined, 'Hi')).toEqual([]);
    expect(choicesOf({}, 'Hi')).toEqual([]);
  });
});

describe('textWithToken', () => {
  const choices = [' The', ' fox', ' ran', '.'].map((text) => ({ text, probability: 1, others: [] }));
  test.each([
    ['Once. The fox ran.', 1, ' cat', 'Once. The cat'],
    ['Once. The fox ran.', 0, ' A', 'Once. A'],
    ['The fox ran.', 2, ' slept', 'The fox slept'],
    ['The fox ran.', 0, ' A', 'A'],
    ['Given words The fox ran.', 3, '!', 'Given words The fox ran!'],
  ])('in %j at %i: %j makes %j', (text, at, instead, expected) => {
    expect(textWithToken(text, choices, at, instead)).toBe(expected);
  });
});
