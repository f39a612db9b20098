import { describe, expect, test } from 'vitest';
import { hardSentences, plainSentences } from './spoken-sentences.ts';
import { heardWords, wordErrors } from './word-errors.ts';

describe('wordErrors', () => {
  test.each([
    ['a b c', 'a b c', 0],
    ['a b c', 'a x c', 1],
    ['a b c', 'a c', 1],
    ['a b c', 'a b b c', 1],
    ['a b c', '', 3],
    ['', 'a b', 2],
    ['the cat sat down', 'a cat sat', 2],
  ])('%j heard as %j has %i', (reference, hypothesis, errors) => {
    const words = (text: string) => text.split(' ').filter(Boolean);
    expect(wordErrors(words(reference), words(hypothesis))).toBe(errors);
  });
});

describe('heardWords', () => {
  test.each([
    ['Hello, World!', 'hello world'],
    ["I don't know.", "i don't know"],
    ['It’s well-known.', "it's well known"],
    ['Mr. Brown', 'mister brown'],
    ['Every one comes to-morrow', 'everyone comes tomorrow'],
    ['the F.B.I. and the FBI', 'the fbi and the fbi'],
    ['at 8 a.m.', 'at eight am'],
    ['one hundred and five', 'one hundred five'],
  ])('%j', (text, words) => {
    expect(heardWords(text).join(' ')).toBe(words);
  });
});

describe('sentences', () => {
  test('are one hundred, sixty of them plain, each once', () => {
    expect(plainSentences).toHaveLength(60);
    expect(hardSentences).toHaveLength(40);
    expect(new Set([...plainSentences, ...hardSentences].map(({ text }) => text)).size).toBe(100);
  });

  test('plain ones have no digits, hard ones tell how they are heard', () => {
    expect(plainSentences.filter(({ text }) => /\d/.test(text))).toEqual([]);
    expect(hardSentences.filter(({ heard }) => heard === undefined || /[\d$%]/.test(heard))).toEqual([]);
  });
});
