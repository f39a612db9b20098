import { describe, expect, test } from 'vitest';
import type { GrammarTrigger } from '../../core/request.ts';
import { TriggerWatch } from '../../engines/llama/worker/grammar.ts';
import { decodeTriggers } from './decode.ts';

describe('decodeTriggers', () => {
  test.each([
    [
      { type: 0, value: '<x>', token: 7 },
      { type: 'token', token: 7 },
    ],
    [
      { type: 0, value: '<x>' },
      { type: 'word', text: '<x>' },
    ],
    [
      { type: 1, value: 'a.b' },
      { type: 'word', text: 'a.b' },
    ],
    [
      { type: 2, value: 'a(b)' },
      { type: 'pattern', source: 'a(b)' },
    ],
    [
      { type: 3, value: 'a|b' },
      { type: 'pattern', source: '^(?:a|b)$' },
    ],
    [
      { type: 3, value: '^a$' },
      { type: 'pattern', source: '^(?:^a$)$' },
    ],
  ])('reads %j as %j', (trigger, expected) => expect(decodeTriggers([trigger])).toEqual([expected]));
});

describe('decodeTriggers: refuses', () => {
  const refusal = (value: unknown) => {
    try {
      return JSON.stringify(decodeTriggers(value));
    } catch (error) {
      expect(error).toMatchObject({ status: 400, details: { field: 'grammar_triggers' } });
      return (error as Error).message.replace('grammar_triggers must be ', '');
    }
  };
  const pattern = (value: string, type = 2) => refusal([{ type, value }]);

  test.each([
    [undefined, 'given where grammar_lazy is on.'],
    [[], 'given where grammar_lazy is on.'],
    ['a', 'given where grammar_lazy is on.'],
    [['a'], 'an array of {"type", "value"}.'],
    [[{ type: 1 }], 'an array of {"type", "value"}, the value a text.'],
    [[{ type: 1, value: '' }], 'an array of {"type", "value"}, the value a text.'],
    [[{ type: 0, token: 'x' }], 'an array of {"type", "value"}, the value a text.'],
  ])('%j', (value, expected) => expect(refusal(value)).toBe(expected));

  test('an invalid pattern, with the position', () => {
    const begin = 'patterns that can be searched for, but in';
    expect(pattern('(')).toBe(`${begin} "(" at character 1 the pattern has a group without an end.`);
    expect(pattern('a(?=b)')).toBe(
      `${begin} "a(?=b)" at character 3 the pattern uses a look-ahead, which is not supported here.`,
    );
    expect(pattern('(a)\\1', 3)).toBe(
      `${begin} "(a)\\\\1" at character 5 the pattern uses a back-reference, which is not supported here.`,
    );
    expect(pattern('a)(b', 3)).toBe(`${begin} "a)(b" at character 2 the pattern closes a group that it did not open.`);
    expect(pattern('a{9999}')).toContain('the pattern needs more than 2000 steps');
    expect(pattern('a'.repeat(3000))).toContain('aaa…" the pattern is longer than 2000 characters');
  });

  test('too many or too long triggers', () => {
    const many = (count: number) => Array.from({ length: count }, () => ({ type: 1, value: 'a' }));
    expect(refusal(many(65))).toBe('at most 64 triggers.');
    expect(decodeTriggers(many(64))).toHaveLength(64);
    expect(refusal([{ type: 1, value: 'a'.repeat(10_001) }])).toBe('triggers with at most 10000 characters together.');
  });

  test('a word that is too long, also of characters with two escapes', () => {
    const [longest] = decodeTriggers([{ type: 1, value: '*'.repeat(900) }]);
    expect(() => new TriggerWatch([longest as GrammarTrigger])).not.toThrow();
    expect(refusal([{ type: 1, value: '*'.repeat(901) }])).toBe('a word of at most 900 characters.');
  });
});
