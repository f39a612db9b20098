import { describe, expect, test } from 'vitest';
import { WhisperTokenizer } from './tokenizer.ts';

/** A few tokens as a vocabulary writes them: `Ġ` is a space, `Ã¼` are the bytes of `ü`. */
const tokenizer = new WhisperTokenizer({
  vocabulary: {
    Ġ: 0,
    t: 1,
    h: 2,
    e: 3,
    Ġt: 4,
    he: 5,
    Ġthe: 6,
    Ã: 7,
    '¼': 8,
    "'": 9,
    s: 10,
    "'s": 11,
    '1': 12,
    '!': 13,
  },
  added: { '<|en|>': 100, '<|notimestamps|>': 101 },
  merges: "#version: 0.2\nĠ t\nh e\nĠt he\n' s\n",
});

describe('WhisperTokenizer.encode', () => {
  test('joins the pairs in the order of the merges', () => {
    expect(tokenizer.encode(' the')).toEqual([6]);
    expect(tokenizer.encode('the')).toEqual([1, 5]);
    expect(tokenizer.encode(' teh')).toEqual([4, 3, 2]);
  });

  test('splits at words, endings, numbers and signs', () => {
    expect(tokenizer.encode(" the's")).toEqual([6, 11]);
    expect(tokenizer.encode(' the1!')).toEqual([6, 12, 13]);
  });

  test('encodes other characters by their bytes, and leaves unknown bytes out', () => {
    expect(tokenizer.encode('ü')).toEqual([7, 8]);
    expect(tokenizer.encode('猫')).toEqual([]);
    expect(tokenizer.encode('')).toEqual([]);
  });

  test('a word of any length takes little time', () => {
    expect(tokenizer.encode('t'.repeat(100_000))).toHaveLength(100_000);
  });
});

describe('WhisperTokenizer.decode', () => {
  test('joins bytes to characters', () => {
    expect(tokenizer.decode([6, 0, 7, 8, 11])).toBe(" the ü's");
    expect(tokenizer.decode([7])).toBe('\ufffd');
  });

  test('special and unknown tokens have no text', () => {
    expect(tokenizer.decode([100, 1, 101, 9999])).toBe('t');
  });
});

test('WhisperTokenizer.special: finds tokens by name, and names a missing one', () => {
  expect(tokenizer.special('en')).toBe(100);
  expect(() => tokenizer.special('xx')).toThrow('the model has no token <|xx|>');
});
