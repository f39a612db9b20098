import { describe, expect, test } from 'vitest';
import { PatternError } from './errors.ts';
import { parsePattern, patternLimits } from './parse.ts';

function trouble(pattern: string): string {
  try {
    parsePattern(pattern);
    return 'none';
  } catch (error) {
    return error instanceof PatternError ? `${error.place ?? '-'}: ${error.message}` : `unexpected: ${error}`;
  }
}

describe('parsePattern: rejects with a position', () => {
  test.each([
    ['(', '1: the pattern has a group without an end'],
    ['ab)c', '3: the pattern closes a group that it did not open'],
    ['(?=a)', '2: the pattern uses a look-ahead, which is not supported here'],
    ['(?<!a)', '2: the pattern uses a look-behind, which is not supported here'],
    ['(a)\\1', '5: the pattern uses a back-reference, which is not supported here'],
    ['\\k<x>', '2: the pattern uses a back-reference, which is not supported here'],
    ['a**', '3: the pattern has two quantifiers in a row'],
    ['*a', '1: the pattern has a quantifier with nothing before it'],
    ['^*', '2: the pattern has a quantifier after an anchor'],
    ['a{3,1}', '6: the pattern has a quantifier out of order'],
    ['a{x}', '2: the pattern has a brace that is no quantifier; write \\{ for the character'],
    ['{"name"', '1: the pattern has a brace that is no quantifier; write \\{ for the character'],
    ['[b-a]', '4: the pattern has a range of characters that is out of order'],
    ['[a', '2: the pattern ends in the middle of something'],
    ['ab\\', '3: the pattern ends in the middle of something'],
    ['\\q', '2: the pattern uses \\q, which is not supported here'],
    ['\\01', '2: the pattern uses an octal escape, which is not supported here'],
    ['\\xg1', '2: the pattern has a broken escape'],
    ['\\ud800', '6: the pattern uses half of a surrogate pair, which is not supported here'],
    ['\\u{110000}', '10: the pattern has a broken escape'],
  ])('%s', (pattern, message) => expect(trouble(pattern)).toBe(message));

  test('rejects patterns that are too long or too deep', () => {
    expect(trouble('a'.repeat(patternLimits.length))).toBe('none');
    expect(trouble('a'.repeat(patternLimits.length + 1))).toBe('-: the pattern is longer than 2000 characters');
    expect(trouble('('.repeat(900) + ')'.repeat(900))).toBe('65: the pattern is nested deeper than 64 groups');
  });
});

describe('parsePattern', () => {
  const set = (character: string) => ({ type: 'set', set: [[character.charCodeAt(0), character.charCodeAt(0)]] });

  test('numbers groups by their opening brackets', () => {
    expect(parsePattern('(a(?:b))(?<n>c)')).toEqual({
      type: 'sequence',
      items: [
        {
          type: 'group',
          number: 1,
          item: { type: 'sequence', items: [set('a'), { type: 'sequence', items: [set('b')] }] },
        },
        { type: 'group', number: 2, name: 'n', item: { type: 'sequence', items: [set('c')] } },
      ],
    });
  });

  test('reads greedy and lazy quantifiers', () => {
    const repeat = (pattern: string) => {
      const parsed = parsePattern(pattern);
      return parsed.type === 'sequence' ? parsed.items[0] : parsed;
    };
    expect(repeat('a*')).toEqual({ type: 'repeat', item: set('a'), minimum: 0, maximum: undefined, greedy: true });
    expect(repeat('a+?')).toEqual({ type: 'repeat', item: set('a'), minimum: 1, maximum: undefined, greedy: false });
    expect(repeat('a{2,5}')).toEqual({ type: 'repeat', item: set('a'), minimum: 2, maximum: 5, greedy: true });
    expect(repeat('a{2,}')).toMatchObject({ minimum: 2, maximum: undefined });
  });

  test('reads escapes and classes as sets', () => {
    expect(parsePattern('\\x41')).toEqual({ type: 'sequence', items: [set('A')] });
    expect(parsePattern('[a\\-z-]')).toEqual({
      type: 'sequence',
      items: [
        {
          type: 'set',
          set: [
            [45, 45],
            [97, 97],
            [122, 122],
          ],
        },
      ],
    });
    expect(parsePattern('[\\b]')).toEqual({ type: 'sequence', items: [set('\b')] });
    expect(parsePattern('\\u{1F600}')).toEqual({
      type: 'sequence',
      items: [{ type: 'set', set: [[0x1f600, 0x1f600]] }],
    });
  });

  test('reads anchors and boundaries', () => {
    expect(parsePattern('^\\b\\B$')).toEqual({
      type: 'sequence',
      items: [
        { type: 'start' },
        { type: 'boundary', negated: false },
        { type: 'boundary', negated: true },
        { type: 'end' },
      ],
    });
  });
});
