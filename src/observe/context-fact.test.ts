import { expect, test } from 'vitest';
import { contextFact } from './context-fact.ts';

test.each([
  ['as it was wanted', { wanted: 16384, given: false, trained: 131072, actual: 16384 }, 'context 16384'],
  [
    'lowered to the training, because nobody asked for more',
    { wanted: 16384, given: false, trained: 2048, actual: 2048 },
    'context 2048 (lowered from 16384 to what the model was trained for; --contextsize stretches it)',
  ],
  [
    'smaller than it could be, because somebody asked for it',
    { wanted: 1024, given: true, trained: 2048, actual: 1024 },
    'context 1024 (as --contextsize asks; the model was trained for 2048)',
  ],
  [
    'stretched, because somebody asked for it',
    { wanted: 4096, given: true, trained: 2048, actual: 4096 },
    'context 4096',
  ],
  [
    'lowered by the engine although somebody asked for more',
    { wanted: 65536, given: true, trained: 131072, actual: 32768 },
    'context 32768 (lowered from 65536 by the engine)',
  ],
])('a context that is %s', (_, sizes, expected) => {
  expect(contextFact(sizes)).toBe(expected);
});
