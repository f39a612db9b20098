import { describe, expect, test } from 'vitest';
import type { Native } from '../../llama/worker/native/native.ts';
import type { Vocabulary } from '../../llama/worker/text/vocabulary.ts';
import { begin, end, letters, spelled } from '../testing/letters.ts';
import { PairReader, pairMarks, TemplateReader } from './pairs.ts';

const marks = { before: [begin], between: [end], after: [end] };

describe('a query and a document', () => {
  const pair = async (query: string, document: string, truncate = true, maxTokens = 12) => {
    const { tokens, truncated } = await new PairReader(query, letters, marks, { maxTokens, truncate }).pair(
      document,
      'documents[2]',
    );
    return [spelled(tokens), truncated];
  };

  test('stand behind each other, with marks around and between', async () => {
    expect(await pair('who', 'me')).toEqual(['<who>me>', false]);
  });

  test('the document loses its end where both are too long', async () => {
    expect(await pair('who', 'abcdefghijkl')).toEqual(['<who>abcdef>', true]);
  });

  test('is refused instead where that is wanted', async () => {
    await expect(pair('who', 'abcdefghijkl', false)).rejects.toMatchObject({
      details: { field: 'documents[2]', tokens: 18, mostTokens: 12 },
    });
  });

  test('a query that leaves no room is refused by its name', async () => {
    await expect(pair('a long question', 'x')).rejects.toMatchObject({ details: { field: 'query' } });
  });

  test('the query is read once for all documents', async () => {
    let reads = 0;
    const counting = {
      ...letters,
      tokenizeAside: (...asked: Parameters<typeof letters.tokenizeAside>) => {
        if (asked[0] === 'who') reads += 1;
        return letters.tokenizeAside(...asked);
      },
    };
    const reader = new PairReader('who', counting, marks, { maxTokens: 50, truncate: true });
    for (const document of ['a', 'b', 'c']) await reader.pair(document, 'x');
    expect(reads).toBe(1);
  });
});

describe('a template', () => {
  const pair = async (document: string, truncate = true, maxTokens = 20) => {
    const limits = { maxTokens, truncate };
    const reader = new TemplateReader('who', letters, 'Q: {query} D: {document} A:', limits);
    const { tokens, truncated } = await reader.pair(document, 'documents[0]');
    return [spelled(tokens), truncated];
  };

  test('says how they are put together', async () => {
    expect(await pair('me')).toEqual(['Q: who D: me A:', false]);
  });

  test('is kept whole when the document is cut', async () => {
    expect(await pair('abcdefghijklmnop')).toEqual(['Q: who D: abcdefg A:', true]);
  });

  test('takes a document that looks like a template for what it is', async () => {
    expect(await pair('{query}$&', true, 40)).toEqual(['Q: who D: {query}$& A:', false]);
  });

  test('refuses what is too long by its name', async () => {
    await expect(pair('abcdefghijklmnop', false)).rejects.toMatchObject({ details: { field: 'documents[0]' } });
    await expect(pair('abcdef', true, 10)).rejects.toMatchObject({ details: { field: 'query' } });
  });

  test('is cut further where tokens become more when they meet', async () => {
    const growing = {
      ...letters,
      tokenizeAside: async (...asked: Parameters<typeof letters.tokenizeAside>) => {
        const tokens = await letters.tokenizeAside(...asked);
        return tokens.length > 12 ? Int32Array.from([...tokens, 7, 7]) : tokens;
      },
    };
    const reader = new TemplateReader('q', growing, '{query}{document}', { maxTokens: 20, truncate: true });
    const { tokens, truncated } = await reader.pair('x'.repeat(40), 'd');
    expect(truncated).toBe(true);
    expect(tokens.length).toBeLessThanOrEqual(20);
  });
});

describe('the marks of a vocabulary', () => {
  const marksOf = (own: { eos?: number; separator?: number; bos?: boolean; end?: boolean; between?: boolean }) =>
    pairMarks(
      {
        tokenSeparator: () => own.separator ?? 3,
        tokenEos: () => own.eos ?? 2,
        addsBos: () => own.bos ?? true,
        addsEos: () => own.end ?? true,
        addsSeparator: () => own.between ?? true,
      } as unknown as Native,
      { pointer: 0n, bos: 1 } as unknown as Vocabulary,
    );

  test.each([
    [{}, { before: [1], between: [2, 3], after: [2] }],
    [{ eos: -1 }, { before: [1], between: [3, 3], after: [3] }],
    [{ end: false }, { before: [1], between: [3], after: [] }],
    [
      { bos: false, between: false },
      { before: [], between: [2], after: [2] },
    ],
    [
      { eos: -1, separator: -1 },
      { before: [1], between: [], after: [] },
    ],
  ])('%j', (own, expected) => expect(marksOf(own)).toEqual(expected));
});
