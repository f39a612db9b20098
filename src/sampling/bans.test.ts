import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BanStep, PhraseBans, splitBans } from './bans.ts';
import { vocabularyOf } from './testing/candidates.ts';

/** Feeds texts as tokens 100, 101, …; returns the steps that release text or rewind. */
function feed(bans: PhraseBans, texts: readonly string[], first = 100): BanStep[] {
  return texts
    .map((text, index) => bans.accept(first + index, text))
    .filter((step) => step.type === 'rewind' || step.end > step.start);
}

test('PhraseBans: releases text after the delay', () => {
  const bans = new PhraseBans(['never mind'], 2);
  expect(feed(bans, ['a', 'b', 'c', 'd'])).toEqual([
    { type: 'release', start: 0, end: 1, text: 'a' },
    { type: 'release', start: 1, end: 2, text: 'b' },
  ]);
  expect(bans.flush()).toEqual({ type: 'release', start: 2, end: 4, text: 'cd' });
});

test('PhraseBans: rewinds to the token in which the phrase starts, ignoring case', () => {
  const bans = new PhraseBans(['never mind'], 5);
  expect(feed(bans, ['Oh', ' NEV', 'er', ' Mind'])).toEqual([{ type: 'rewind', position: 1, token: 101 }]);
  expect(bans.forbidden).toEqual([101]);
  expect(feed(bans, [' well'], 7)).toEqual([]);
  expect(bans.forbidden).toEqual([]);
  expect(bans.flush()).toMatchObject({ end: 2, text: 'Oh well' });
});

test('PhraseBans: bans at one position add up, later ones are dropped', () => {
  const bans = new PhraseBans(['xy', 'az', 'ab'], 9);
  feed(bans, ['a', 'x', 'y'], 1);
  expect(bans.forbidden).toEqual([2]);
  feed(bans, ['x', 'y'], 20);
  expect(bans.forbidden).toEqual([2, 20]);
  expect(feed(bans, ['z'], 30)).toEqual([{ type: 'rewind', position: 0, token: 1 }]);
  expect(bans.forbidden).toEqual([1]);
  feed(bans, ['q'], 40);
  expect(bans.forbidden).toEqual([]);
});

test('PhraseBans: a character of several tokens begins in the first', () => {
  const bans = new PhraseBans(['😀!'], 9);
  expect(feed(bans, ['a', '', '', '😀', '!'])).toEqual([{ type: 'rewind', position: 1, token: 101 }]);
});

test('PhraseBans: keeps a token without text before ASCII', () => {
  const bans = new PhraseBans(['no'], 9);
  expect(feed(bans, ['a', '', 'no'])).toEqual([{ type: 'rewind', position: 2, token: 102 }]);
});

test('PhraseBans: case folding does not shift positions', () => {
  const bans = new PhraseBans(['ΟΔΟΣ'], 9);
  expect(feed(bans, ['İİ', 'x', 'ΟΔΟ', 'Σ'])).toEqual([{ type: 'rewind', position: 2, token: 102 }]);
});

test('PhraseBans: finds a phrase of more tokens than the delay', () => {
  const bans = new PhraseBans(['abcdef'], 2);
  expect(feed(bans, [...'zabcdef'])).toEqual([
    { type: 'release', start: 0, end: 1, text: 'z' },
    { type: 'rewind', position: 1, token: 101 },
  ]);
});

test('PhraseBans: released text is complete, in order and without the phrases', () => {
  const pieces = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba', 'c', '', 'A'), { maxLength: 60 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 0, max: 6 }), (texts, delay) => {
      const bans = new PhraseBans(['abba', 'cc'], delay);
      const output: string[] = [];
      let shown = '';
      let released = 0;
      const take = (step: BanStep): void => {
        if (step.type === 'rewind') {
          expect(step.position).toBeGreaterThanOrEqual(released);
          output.length = step.position;
          return;
        }
        expect(step.start).toBe(released);
        released = step.end;
        shown += step.text;
      };
      texts.forEach((text, token) => {
        output.push(text);
        take(bans.accept(token, text));
      });
      take(bans.flush());
      expect(shown).toBe(output.join(''));
      expect(shown.toLowerCase()).not.toMatch(/abba|cc/);
    }),
  );
});

test('PhraseBans: linear time with many partial matches of long phrases', () => {
  const phrases = Array.from({ length: 700 }, (_, index) => `${'a'.repeat(60)}${index}.`);
  const bans = new PhraseBans([...phrases, `${'a'.repeat(5000)}b`], 1300);
  const steps = feed(bans, new Array(20_000).fill('aaaa'));
  expect(steps.every(({ type }) => type === 'release')).toBe(true);
  expect(bans.accept(1, 'b')).toMatchObject({ type: 'rewind', position: 20_000 - 1250 });
});

test('PhraseBans: a phrase that began in released text is cut at the first held token', () => {
  const bans = new PhraseBans(['xbc', 'bd'], 1);
  feed(bans, ['x', 'b', 'd'], 1);
  expect(bans.forbidden).toEqual([2]);
  expect(feed(bans, ['q', 'q'], 10)).toEqual([
    { type: 'release', start: 0, end: 1, text: 'x' },
    { type: 'release', start: 1, end: 2, text: 'q' },
  ]);
});

const vocabulary = vocabularyOf(['a', 'b', 'cat', ' Cat', 'scatter', ' ', 'incomprehensible', '']);

test('splitBans: a short single-token entry bans every token that contains it, ignoring case', () => {
  expect(splitBans(['CAT'.toLowerCase()], vocabulary)).toEqual({
    tokens: Int32Array.of(2, 3, 4),
    phrases: [],
    delay: 0,
    dropped: 0,
  });
});

test('splitBans: several tokens or 12 bytes make a phrase; the longest sets the delay', () => {
  const { tokens, phrases, delay } = splitBans(['a b a', 'ab', 'incomprehensible', '', 'b'], vocabulary);
  expect([...tokens]).toEqual([1, 6]);
  expect(phrases).toEqual(['a b a', 'ab', 'incomprehensible']);
  expect(delay).toBe(5 + 3);
});

test('splitBans: counts entries beyond 768 as dropped', () => {
  const { phrases, dropped } = splitBans(new Array(770).fill('ab'), vocabulary);
  expect([phrases.length, dropped]).toEqual([768, 2]);
});

test('splitBans: searches hundreds of short entries in one pass', () => {
  const entries = Array.from({ length: 600 }, (_, index) => String.fromCharCode(0x4e00 + index));
  const pieces = Array.from({ length: 5000 }, (_, index) => `x${String.fromCharCode(0x4e00 + index)}y`);
  const { tokens } = splitBans(entries, { ...vocabularyOf(pieces), tokenize: () => [0] });
  expect([...tokens]).toEqual(Array.from({ length: 600 }, (_, index) => index));
});
