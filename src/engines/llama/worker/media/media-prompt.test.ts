import { describe, expect, test } from 'vitest';
import { chunk, readImage } from '../testing/media.ts';
import {
  findSpans,
  markTokens,
  mediumIds,
  mediumTokens,
  mentionAll,
  placeMedia,
  type ReadMedium,
} from './media-prompt.ts';

const [first, second] = [readImage(chunk(-10, 2)), readImage(Int32Array.of(99), chunk(-20, 3))];
const sound: ReadMedium = { kind: 'audio', parts: [chunk(-30, 1)] };
const texts = (prompt: string, memory = '') => ({ prompt, memory });

describe('mentionAll', () => {
  test('announces unmentioned media before the memory', () =>
    expect(mentionAll(texts('See (Attached Image 2)!', 'Memory'), [first, second, sound])).toEqual({
      prompt: 'See (Attached Image 2)!',
      memory: 'Attached Media:\n(Attached Image 1)(Attached Audio 1)Memory',
    }));
  test('no change without media', () => {
    const mentioned = texts('(Attached Image 1)', '(Attached Audio 1)');
    expect(mentionAll(mentioned, [first, sound])).toBe(mentioned);
    expect(mentionAll(mentioned, [])).toBe(mentioned);
  });
});

describe('placeMedia: placeholders', () => {
  const cut = (prompt: string, ...media: ReadMedium[]) => placeMedia(texts(prompt), media).prompt;
  test('become media, each followed by two line breaks', () =>
    expect(cut('a\n(Attached Image 1)\nb (Attached Image 2)', first, second)).toEqual([
      'a\n',
      first,
      '\n\nb ',
      second,
      '\n\n',
    ]));
  test('are text if repeated', () =>
    expect(cut('(Attached Image 1) and (Attached Image 1)', first)).toEqual([
      '',
      first,
      '\n\n and (Attached Image 1)',
    ]));
  test('are text for media that were not sent', () =>
    expect(cut('see (Attached Image 3)', first)).toEqual(['see (Attached Image 3)']));
  test('count audio and pictures separately', () =>
    expect(cut('(Attached Audio 1)(Attached Image 1)', first, sound)).toEqual(['', sound, '\n\n', first, '\n\n']));
  test('with a number beyond their kind count all pictures, then all audio', () =>
    expect(cut('(Attached Image 2)', sound, first)).toEqual(['', sound, '\n\n']));
  test('in the memory come before those of the prompt', () =>
    expect(placeMedia(texts('(Attached Image 1)', '(Attached Image 1)'), [first])).toEqual({
      memory: ['', first, '\n\n'],
      prompt: ['(Attached Image 1)'],
    }));
});

test('markTokens: joins text and media, with the spans of the media', async () => {
  const tokenize = async (text: string) => Int32Array.from(text, () => 1);
  expect(await markTokens(['ab', second, 'c', first, ''], tokenize)).toEqual({
    tokens: Int32Array.of(1, 1, 99, -20, -21, -22, 1, -10, -11),
    media: [
      { start: 2, end: 6 },
      { start: 7, end: 9 },
    ],
  });
});

const tiles = readImage(Int32Array.of(7), chunk(-10, 3), Int32Array.of(8), chunk(-20, 2));

test('mediumTokens: marks, and the ids of the chunks in their positions', () => {
  expect([...mediumTokens(tiles)]).toEqual([7, -10, -11, -12, 8, -20, -21]);
});

test('findSpans: finds every occurrence of the chunks', () => {
  const tokens = Int32Array.of(1, -20, -21, 2, ...mediumTokens(tiles), 3);
  expect(findSpans(tokens, [tiles]).map(({ start, chunk: { ids } }) => [start, ids[0]])).toEqual([
    [1, -20],
    [5, -10],
    [9, -20],
  ]);
  expect(findSpans(Int32Array.of(1, 2), [tiles])).toEqual([]);
});

test('findSpans: ignores an incomplete span', () => {
  expect(findSpans(Int32Array.of(-10, -11, 5), [tiles])).toEqual([]);
});

test('mediumIds: equal for equal content only, and below −1', () => {
  const ids = mediumIds('a picture', 2000);
  expect(mediumIds('a picture', 2000)).toEqual(ids);
  expect(ids.every((id) => id < -1)).toBe(true);
  const other = mediumIds('another', 2000);
  expect(ids.filter((id, index) => id === other[index])).toHaveLength(0);
});
