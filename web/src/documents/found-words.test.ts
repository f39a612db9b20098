import { expect, test } from 'vitest';
import { foundWords } from './found-words.ts';

test('foundWords: ranks as ordinals, and the score of the reranker', () => {
  expect(foundWords({ vector: 1, keywords: 22, reranked: 0.934 })).toEqual([
    '1st by meaning',
    '22nd by words',
    'reranked 0.93',
  ]);
  expect(foundWords({ vector: 11 })).toEqual(['11th by meaning']);
  expect(foundWords({ keywords: 13, reranked: 0 })).toEqual(['13th by words', 'reranked 0.00']);
  expect(foundWords({})).toEqual([]);
});
