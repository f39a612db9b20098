import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EmbeddingInput } from '../../../core/embedding.ts';
import type { Native } from '../../llama/worker/native/native.ts';
import type { Vocabulary } from '../../llama/worker/text/vocabulary.ts';
import { begin, end, letters, spelled } from '../testing/letters.ts';
import { cutBefore, pairMarks, pairReader, readInput, templateReader } from './inputs.ts';

const marks = { before: [begin], between: [end], after: [end] };

describe('pairReader', () => {
  const pair = async (query: string, document: string, truncate = true, maxTokens = 12) => {
    const { tokens, truncated } = await pairReader(query, letters, marks, { maxTokens, truncate })(
      document,
      'documents[2]',
    );
    return [spelled(tokens), truncated];
  };

  test('joins query and document with marks', async () => {
    expect(await pair('who', 'me')).toEqual(['<who>me>', false]);
  });

  test('truncates the document', async () => {
    expect(await pair('who', 'abcdefghijkl')).toEqual(['<who>abcdef>', true]);
  });

  test('rejects a long document without truncate', async () => {
    await expect(pair('who', 'abcdefghijkl', false)).rejects.toMatchObject({
      details: { field: 'documents[2]', tokens: 18, maxTokens: 12 },
    });
  });

  test('rejects a query without space for a document by field name', async () => {
    await expect(pair('a long question', 'x')).rejects.toMatchObject({ details: { field: 'query' } });
  });

  test('tokenizes the query once', async () => {
    let reads = 0;
    const counting = {
      ...letters,
      tokenizeAside: (...queryText: Parameters<typeof letters.tokenizeAside>) => {
        if (queryText[0] === 'who') reads += 1;
        return letters.tokenizeAside(...queryText);
      },
    };
    const reader = pairReader('who', counting, marks, { maxTokens: 50, truncate: true });
    for (const document of ['a', 'b', 'c']) await reader(document, 'x');
    expect(reads).toBe(1);
  });
});

describe('templateReader', () => {
  const pair = async (document: string, truncate = true, maxTokens = 20) => {
    const limits = { maxTokens, truncate };
    const reader = templateReader('who', letters, 'Q: {query} D: {document} A:', limits);
    const { tokens, truncated } = await reader(document, 'documents[0]');
    return [spelled(tokens), truncated];
  };

  test('fills the template', async () => {
    expect(await pair('me')).toEqual(['Q: who D: me A:', false]);
  });

  test('truncates the document only', async () => {
    expect(await pair('abcdefghijklmnop')).toEqual(['Q: who D: abcdefg A:', true]);
  });

  test('does not expand placeholders of the document', async () => {
    expect(await pair('{query}$&', true, 40)).toEqual(['Q: who D: {query}$& A:', false]);
  });

  test('rejects long inputs by field name', async () => {
    await expect(pair('abcdefghijklmnop', false)).rejects.toMatchObject({ details: { field: 'documents[0]' } });
    await expect(pair('abcdef', true, 10)).rejects.toMatchObject({ details: { field: 'query' } });
  });

  test('truncates further if joined texts have more tokens', async () => {
    const growing = {
      ...letters,
      tokenizeAside: async (...queryText: Parameters<typeof letters.tokenizeAside>) => {
        const tokens = await letters.tokenizeAside(...queryText);
        return tokens.length > 12 ? Int32Array.from([...tokens, 7, 7]) : tokens;
      },
    };
    const reader = templateReader('q', growing, '{query}{document}', { maxTokens: 20, truncate: true });
    const { tokens, truncated } = await reader('x'.repeat(40), 'd');
    expect(truncated).toBe(true);
    expect(tokens.length).toBeLessThanOrEqual(20);
  });
});

describe('pairMarks', () => {
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

const read = (input: EmbeddingInput, truncate: boolean, maxTokens = 8) =>
  readInput(input, 'input[3]', letters, { maxTokens, truncate });

describe('readInput: text', () => {
  test('has the special tokens of the model', async () => {
    const { tokens, truncated } = await read('abc', false);
    expect([spelled(tokens), truncated]).toEqual(['<abc>', false]);
  });

  test('of the maximum length is not truncated', async () => {
    expect(await read('abcdef', false)).toMatchObject({ tokens: { length: 8 }, truncated: false });
  });

  test('rejects a longer one with field name and length', async () => {
    await expect(read('abcdefg', false)).rejects.toMatchObject({
      code: 'input-too-long',
      details: { field: 'input[3]', tokens: 9, maxTokens: 8 },
    });
  });

  test('truncates before the end token', async () => {
    const { tokens, truncated } = await read('abcdefghij', true);
    expect([spelled(tokens), truncated]).toEqual(['<abcdef>', true]);
  });

  test('rejects a text without tokens', async () => {
    const bare = { ...letters, tokenizeAside: async () => new Int32Array(0) };
    await expect(readInput('', 'input', bare, { maxTokens: 8, truncate: true })).rejects.toThrow(
      'input must be something that has at least one token',
    );
  });
});

describe('readInput: tokens', () => {
  test('are kept as they are', async () => {
    expect(Array.from((await read([5, 6, 999], false)).tokens)).toEqual([5, 6, 999]);
  });

  test('are truncated at the end', async () => {
    const { tokens, truncated } = await read([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], true);
    expect([Array.from(tokens), truncated]).toEqual([[1, 2, 3, 4, 5, 6, 7, 8], true]);
  });

  test.each([[[1000]], [[-1]], [[1.5]], [[1, Number.NaN]]])('rejects %j', async (tokens) => {
    await expect(read(tokens, true)).rejects.toThrow('input[3] must be made of token numbers of this model');
  });

  test('rejects an empty list', async () => {
    await expect(read([], true)).rejects.toThrow('at least one token');
  });
});

test('cutBefore: has the maximum length, the old start and the end tokens', () => {
  const tokens = fc.array(fc.integer({ min: 10, max: 99 }), { minLength: 1, maxLength: 40 });
  const ending = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 });
  fc.assert(
    fc.property(tokens, ending, fc.integer({ min: 1, max: 39 }), (text, marks, most) => {
      fc.pre(text.length > most);
      const cut = Array.from(cutBefore(Int32Array.from(text), Int32Array.from(marks), most));
      expect(cut).toHaveLength(most);
      const kept = Math.max(0, most - marks.length);
      expect(cut.slice(0, kept)).toEqual(text.slice(0, kept));
      expect(cut.slice(kept)).toEqual(marks.slice(0, most - kept));
    }),
  );
});
