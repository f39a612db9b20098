import { expect, test } from 'vitest';
import { PatternError, patternReasons, sentenceOf } from './errors.ts';

test('PatternError: is English, and its reason can be said in another language', () => {
  const german = {
    ...patternReasons,
    lookBehind: 'das Muster verwendet einen Lookbehind',
    flag: (flag: string | number) => `das Muster hat das Flag ${flag}`,
  };
  const errors = [new PatternError('lookBehind', { place: 2 }), new PatternError('flag', { detail: 'y' })];
  expect(errors.map(({ message }) => message)).toEqual([
    'the pattern uses a look-behind, which is not supported here',
    'the pattern has the flag y, which is not supported here',
  ]);
  expect(errors.map(({ reason, detail }) => sentenceOf(german, reason, detail))).toEqual([
    ...['das Muster verwendet einen Lookbehind', 'das Muster hat das Flag y'],
  ]);
});
