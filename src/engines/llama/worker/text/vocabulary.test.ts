import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { anyCharacter } from '../../../../core/testing/any-character.ts';
import { Candidates } from '../../../../sampling/candidates.ts';
import { GrammarCache, type RequestGrammar } from '../grammar.ts';
import type { Loaded } from '../load/model.ts';
import type { Native } from '../native/native.ts';
import { findReasoning } from '../prepare.ts';
import { loadEmbedded } from '../testing/embedded.ts';
import { cutAtMarks, cuttingMarks, Vocabulary } from './vocabulary.ts';

let loaded: Loaded;
let vocabulary: Vocabulary;
beforeAll(async () => {
  loaded = await loadEmbedded();
  vocabulary = loaded.vocabulary;
});

describe('Vocabulary', () => {
  test('tokenizes any text and back', () => {
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: anyCharacter }), fc.string());
    fc.assert(
      fc.property(text, (given) => {
        // Lone surrogates cannot be encoded in UTF-8, and control characters of the model are not text.
        const whole = Buffer.from(given).toString();
        const tokens = vocabulary.tokenize(whole, { addSpecial: false, parseSpecial: false });
        expect(vocabulary.detokenize(tokens, true)).toBe(whole);
      }),
    );
  });

  test('tokenizeAside: same tokens for a long text, without blocking the event loop', async () => {
    const book = 'The bear went home. Then it slept; '.repeat(4000);
    let turns = 0;
    const count = () => {
      turns += 1;
      setImmediate(count).unref();
    };
    setImmediate(count).unref();
    const tokens = await vocabulary.tokenizeAside(book, { addSpecial: true });
    expect(turns).toBeGreaterThan(1);
    expect(tokens).toEqual(vocabulary.tokenize(book, { addSpecial: true }));
  });

  test('tokenizeAside: same tokens with any special tokens in a long text', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.constantFrom('<|im_start|>', '<|im_end|>', '</s>', '<s>', '<|im', ' ', '\n', 'user', 'Hé', '🙂', '<'),
          {
            minLength: 40,
            maxLength: 60,
          },
        ),
        fc.boolean(),
        async (words, addSpecial) => {
          const text = words.join('').repeat(200);
          const whole = vocabulary.tokenize(text, { addSpecial });
          const aside = await vocabulary.tokenizeAside(text, { addSpecial });
          // Much faster than comparing them entry by entry.
          expect(aside.join()).toBe(whole.join());
        },
      ),
      { numRuns: 6 },
    ));

  test('tokenizes a chat of very many turns', async () => {
    const turns = 50_000;
    const tokens = await vocabulary.tokenizeAside('<|im_start|>a<|im_end|>'.repeat(turns), { addSpecial: false });
    expect(tokens.length).toBeGreaterThanOrEqual(3 * turns);
    expect(tokens.filter((token) => vocabulary.isControl(token))).toHaveLength(2 * turns);
  });

  test('parses special tokens in a text, or leaves them as text', () => {
    expect(vocabulary.tokenize('<|im_end|>', { addSpecial: false })).toHaveLength(1);
    expect(vocabulary.tokenize('<|im_end|>', { addSpecial: false, parseSpecial: false }).length).toBeGreaterThan(1);
  });

  test('renders special tokens only with renderSpecial', () => {
    const tokens = vocabulary.tokenize('Hi<|im_end|>', { addSpecial: false });
    expect(vocabulary.detokenize(tokens, false)).toBe('Hi');
    expect(vocabulary.detokenize(tokens, true)).toBe('Hi<|im_end|>');
  });

  test('piece: text of a token, or bytes of a partial character', () => {
    const [end = -1] = vocabulary.tokenize('<|im_end|>', { addSpecial: false });
    expect(vocabulary.piece(end)).toBe('<|im_end|>');
    const text = 'Hi ꙮ';
    const pieces = Array.from(vocabulary.tokenize(text, { addSpecial: false }), (token) => vocabulary.piece(token));
    expect(pieces.some((piece) => typeof piece !== 'string')).toBe(true);
    expect(Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString()).toBe(text);
    expect(vocabulary.piece(-1)).toBe('');
    expect(vocabulary.piece(vocabulary.size)).toBe('');
  });

  test('specialTokens: texts of BOS and EOS', () => {
    const { bos, eos } = vocabulary.specialTokens;
    expect(eos).not.toBe('');
    for (const text of [bos, eos].filter((each) => each !== '')) {
      expect(vocabulary.tokenize(text, { addSpecial: false })).toHaveLength(1);
    }
  });

  test('knows its end tokens', () => {
    const [end = -1] = vocabulary.tokenize('<|im_end|>', { addSpecial: false });
    expect(vocabulary.isEnd(end)).toBe(true);
    expect(vocabulary.endTokens).toContain(end);
    expect(vocabulary.isEnd(vocabulary.tokenize('a', { addSpecial: false })[0] ?? -1)).toBe(false);
  });

  test('ids that are not tokens have no text', () => {
    for (const token of [-1, vocabulary.size, 2 ** 31 - 1]) expect(vocabulary.bytes(token, true)).toHaveLength(0);
  });

  test('has as many texts as tokens', () => {
    expect(vocabulary.texts()).toHaveLength(vocabulary.size);
    expect(vocabulary.texts()).toBe(vocabulary.texts());
  });

  test('no reasoning budget without thinking tags', () => {
    const plain = { tokenize: (text: string) => Int32Array.from(Buffer.from(text)) } as unknown as Vocabulary;
    expect(findReasoning(plain)).toBeUndefined();
  });
});

describe('RequestGrammar with a vocabulary', () => {
  /** The texts of this list that may come next. */
  function allowed(grammar: RequestGrammar, texts: readonly string[]): readonly string[] {
    const ids = texts.map((text) => vocabulary.tokenize(text, { addSpecial: false, parseSpecial: false })[0] as number);
    const candidates = new Candidates(vocabulary.size);
    ids.forEach((id, index) => {
      candidates.ids[index] = id;
      candidates.logits[index] = 1 + index;
    });
    candidates.size = ids.length;
    grammar.keepAllowed(candidates);
    const kept = [...candidates.ids.subarray(0, candidates.size)];
    expect([...candidates.logits.subarray(0, candidates.size)]).toEqual(kept.map((id) => 1 + ids.indexOf(id)));
    return kept.map((id) => texts[ids.indexOf(id)] as string);
  }
  const make = (gbnf: string, retainState = false) => new GrammarCache(vocabulary).take({ gbnf, retainState });
  const take = (grammar: RequestGrammar, text: string) => {
    for (const token of vocabulary.tokenize(text, { addSpecial: false, parseSpecial: false })) grammar.accept(token);
  };

  test('keeps allowed tokens, continues after accepted ones, and restarts on replay', () => {
    const grammar = make('root ::= "a" "b" | "c"');
    expect(allowed(grammar, ['a', 'b', 'c', 'd'])).toEqual(['a', 'c']);
    take(grammar, 'a');
    expect(allowed(grammar, ['a', 'b', 'c'])).toEqual(['b']);
    grammar.replay(vocabulary.tokenize('', { addSpecial: false }));
    expect(allowed(grammar, ['a', 'b', 'c'])).toEqual(['a', 'c']);
  });

  test('replays from the retained state any number of times', () => {
    const grammar = make('root ::= "a" ("b" "c" | "d") "e"', true);
    grammar.begin();
    take(grammar, 'a');
    grammar.begin();
    for (const again of ['b', 'd']) {
      take(grammar, again);
      grammar.replay(new Int32Array(0));
      expect(allowed(grammar, ['a', 'b', 'd', 'e'])).toEqual(['b', 'd']);
    }
    grammar.replay(vocabulary.tokenize('b', { addSpecial: false, parseSpecial: false }));
    expect(allowed(grammar, ['a', 'b', 'c', 'd'])).toEqual(['c']);
  });

  test('ignores end tokens that did not end the text', () => {
    const grammar = make('root ::= "a" "b"');
    const [end] = vocabulary.endTokens;
    const [letter] = vocabulary.tokenize('a', { addSpecial: false, parseSpecial: false });
    grammar.replay(Int32Array.of(end as number, letter as number));
    expect(allowed(grammar, ['a', 'b'])).toEqual(['b']);
  });

  test('may leave no candidate, and handles more candidates than before', () => {
    const grammar = make('root ::= [0-9]+');
    expect(allowed(grammar, ['a', 'b'])).toEqual([]);
    expect(allowed(grammar, ['a', '1', 'b', '2', 'c', '3'])).toEqual(['1', '2', '3']);
  });

  test.each(['root ::= (', 'other ::= "a"', 'root ::= missing'])('rejects %j with a reason', (gbnf) => {
    expect(() => make(gbnf)).toThrow(expect.objectContaining({ code: 'invalid-field' }));
  });
});

describe('Vocabulary: special tokens around a text', () => {
  const [bos, eos, letter] = [1, 2, 7];

  /** A native library whose tokens are letters, and that adds the given special tokens. */
  function library(adds: { bos: boolean; eos: boolean }): Native {
    const tokenize = (_: bigint, text: Uint8Array, length: number, into: Int32Array, __: number, special: boolean) => {
      const tokens = [
        ...(special && adds.bos ? [bos] : []),
        ...Array.from({ length }, (_each, index) => letter + ((text[index] ?? 0) % 3)),
        ...(special && adds.eos ? [eos] : []),
      ];
      into.set(tokens);
      return tokens.length;
    };
    return {
      vocabularySize: () => 12,
      tokenBos: () => bos,
      tokenEos: () => eos,
      tokenEot: () => -1,
      addsBos: () => adds.bos,
      isEndToken: (_: bigint, token: number) => token === eos,
      tokenAttributes: (_: bigint, token: number) => (token === 11 ? 8 : 0),
      tokenPiece: (_: bigint, token: number, into: Uint8Array) => {
        const text = Buffer.from(token === 11 ? '<mark>' : 'x');
        into.set(text);
        return text.length;
      },
      tokenize,
      tokenizeAside: async (...asked: Parameters<typeof tokenize>) => tokenize(...asked),
    } as unknown as Native;
  }
  const made = (adds: { bos: boolean; eos: boolean }, addEnds: boolean) =>
    new Vocabulary(library(adds), 0n, { addBos: true, addEnds });

  test.each([
    [{ bos: true, eos: true }, [bos], [eos]],
    [{ bos: false, eos: true }, [], [eos]],
    [{ bos: true, eos: false }, [bos], []],
    [{ bos: false, eos: false }, [], []],
  ])('%j: prefix and suffix', (adds, before, after) => {
    const around = made(adds, true).around();
    expect([Array.from(around.before), Array.from(around.after)]).toEqual([before, after]);
  });

  test.each([
    { bos: true, eos: true },
    { bos: false, eos: true },
    { bos: true, eos: false },
  ])('tokenizeAside: special tokens around a text in pieces (%j)', async (adds) => {
    const vocabulary = made(adds, true);
    const text = `${'some words of a book '.repeat(1000)}<mark>${' and more of them'.repeat(2000)}`;
    expect(await vocabulary.tokenizeAside(text, { addSpecial: true })).toEqual(
      vocabulary.tokenize(text, { addSpecial: true }),
    );
  });

  test('a text to continue has no end token', () => {
    expect(Array.from(made({ bos: false, eos: true }, false).tokenize('a', { addSpecial: true }))).not.toContain(eos);
    expect(Array.from(made({ bos: false, eos: true }, true).tokenize('a', { addSpecial: true })).at(-1)).toBe(eos);
  });
});

const special = (text: string, keepsBefore = true) => ({ text, keepsBefore });
const marksOf = (...texts: string[]) => cuttingMarks(texts.map((text) => special(text)));

describe('cuttingMarks', () => {
  test('before a special token', () => {
    expect('a<s>b</s>'.match(marksOf('<s>', '</s>') ?? /$/)).toEqual(['<s>', '</s>']);
  });

  test('not before one that strips the spaces in front of it', () => {
    expect(cuttingMarks([special('<mask>', false)])).toBeUndefined();
  });

  test('not before one that is part of another', () => {
    expect('<<a>'.match(marksOf('<a>', '<<a>') ?? /$/)).toEqual(['<<a>']);
    expect('a<a>b'.match(marksOf('<a>', '<a>b') ?? /$/)).toEqual(['<a>b']);
  });

  test('not before one that another may overlap', () => {
    expect(marksOf('ab', 'bc')?.source).toBe('ab');
    expect(marksOf('aba')).toBeUndefined();
  });

  test('escapes regular expression characters', () => {
    expect('x[/INST]y<|a|>'.match(marksOf('[/INST]', '<|a|>') ?? /$/)).toEqual(['[/INST]', '<|a|>']);
  });

  test('none in a vocabulary that would take too long to search', () => {
    expect(marksOf('<s>', 'x'.repeat(1_000_000))).toBeUndefined();
    expect(marksOf(...Array.from({ length: 30_000 }, (_, index) => `<${index}>`))).toBeUndefined();
  });

  test('none without special tokens', () => {
    expect(cuttingMarks([])).toBeUndefined();
    expect(cuttingMarks([special('')])).toBeUndefined();
  });
});

describe('cutAtMarks', () => {
  const marks = marksOf('<s>', '</s>');

  test('pieces are the whole text, and each but the first starts with a mark', () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('<s>', '</s>', 'a', '<', 's>', '🙂')),
        fc.integer({ min: 1, max: 9 }),
        (words, size) => {
          const text = words.join('');
          const pieces = cutAtMarks(text, marks, size);
          expect(pieces.join('')).toBe(text);
          for (const piece of pieces.slice(1)) expect(piece).toMatch(/^<\/?s>/);
          for (const piece of pieces.slice(0, -1)) expect(piece.length).toBeGreaterThanOrEqual(size);
        },
      ),
    ));

  test('pieces are no longer than necessary', () => {
    const pieces = cutAtMarks('<s>a'.repeat(1000), marks, 100);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(104);
  });

  test('one piece without marks', () => {
    expect(cutAtMarks('abc', undefined, 1)).toEqual(['abc']);
    expect(cutAtMarks('abc', marks, 1)).toEqual(['abc']);
  });
});
