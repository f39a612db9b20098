import { describe, expect, test } from 'vitest';
import { chunk, readImage } from '../testing/media.ts';
import { markTokens, mentionAll, placeMedia } from './media-prompt.ts';
import type { ReadMedium } from './medium.ts';

const [first, second] = [readImage(chunk(-10, 2)), readImage(Int32Array.of(99), chunk(-20, 3))];
const sound: ReadMedium = { kind: 'audio', parts: [chunk(-30, 1)] };
const texts = (prompt: string, memory = '') => ({ prompt, memory });

describe('media that the texts do not mention', () => {
  test('are announced in front of the memory', () =>
    expect(mentionAll(texts('See (Attached Image 2)!', 'Memory'), [first, second, sound])).toEqual({
      prompt: 'See (Attached Image 2)!',
      memory: 'Attached Media:\n(Attached Image 1)(Attached Audio 1)Memory',
    }));
  test('change nothing where there are none', () => {
    const mentioned = texts('(Attached Image 1)', '(Attached Audio 1)');
    expect(mentionAll(mentioned, [first, sound])).toBe(mentioned);
    expect(mentionAll(mentioned, [])).toBe(mentioned);
  });
});

describe('placeholders', () => {
  const cut = (prompt: string, ...media: ReadMedium[]) => placeMedia(texts(prompt), media).prompt;
  test('become the media, each followed by two line breaks', () =>
    expect(cut('a\n(Attached Image 1)\nb (Attached Image 2)', first, second)).toEqual([
      'a\n',
      first,
      '\n\nb ',
      second,
      '\n\n',
    ]));
  test('that come again are words', () =>
    expect(cut('(Attached Image 1) and (Attached Image 1)', first)).toEqual([
      '',
      first,
      '\n\n and (Attached Image 1)',
    ]));
  test('of media that were not sent are words', () =>
    expect(cut('see (Attached Image 3)', first)).toEqual(['see (Attached Image 3)']));
  test('count sounds apart from pictures', () =>
    expect(cut('(Attached Audio 1)(Attached Image 1)', first, sound)).toEqual(['', sound, '\n\n', first, '\n\n']));
  test('with a number beyond their kind mean a place among all pictures and then all sounds', () =>
    expect(cut('(Attached Image 2)', sound, first)).toEqual(['', sound, '\n\n']));
  test('in the memory come before those of the prompt', () =>
    expect(placeMedia(texts('(Attached Image 1)', '(Attached Image 1)'), [first])).toEqual({
      memory: ['', first, '\n\n'],
      prompt: ['(Attached Image 1)'],
    }));
});

test('text and media become one list, with the places of the media', async () => {
  const tokenize = async (text: string) => Int32Array.from(text, () => 1);
  expect(await markTokens(['ab', second, 'c', first, ''], tokenize)).toEqual({
    tokens: Int32Array.of(1, 1, 99, -20, -21, -22, 1, -10, -11),
    media: [
      { start: 2, end: 6 },
      { start: 7, end: 9 },
    ],
  });
});
