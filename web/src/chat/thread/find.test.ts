import { describe, expect, test } from 'vitest';
import { hitsOf, maxHits, needleOf } from './find.ts';

const turn = (id: string, text: string) => ({ id, text });

describe('hitsOf', () => {
  test('finds all places in all messages, in any case', () => {
    const turns = [turn('a', 'A fox. The FOX!'), turn('b', 'None.'), turn('c', 'Foxes')];
    expect(hitsOf(turns, 'fox')).toEqual([
      { turn: 'a', offset: 2 },
      { turn: 'a', offset: 11 },
      { turn: 'c', offset: 0 },
    ]);
  });

  test('ignores marks of emphasis in the message and the query', () => {
    expect(hitsOf([turn('a', 'so *very* **long** ago')], 'very long ago')).toHaveLength(1);
    expect(hitsOf([turn('a', 'so very long')], '*very*')).toHaveLength(1);
    expect(hitsOf([turn('a', 'use snake_case here')], 'snake_case')).toHaveLength(1);
    expect(hitsOf([turn('a', 'def __init__(self)')], '__init__')).toHaveLength(1);
  });

  test('keeps exact positions in long messages', () => {
    const text = `${'**x** '.repeat(2000)}needle`;
    expect(hitsOf([turn('a', text)], 'Needle')).toEqual([{ turn: 'a', offset: text.indexOf('needle') }]);
  });

  test('is empty for an empty query and limited for short ones', () => {
    expect(hitsOf([turn('a', 'text')], ' ')).toEqual([]);
    expect(hitsOf([turn('a', 'e'.repeat(20_000))], 'e')).toHaveLength(maxHits);
  });
});

test('needleOf: keeps a query that consists of marks', () => {
  expect(needleOf('**')).toBe('**');
  expect(needleOf('*Hi*')).toBe('hi');
});
