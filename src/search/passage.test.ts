import { describe, expect, test } from 'vitest';
import { inSlices } from '../core/slices.ts';
import { passageAround as slicedPassage } from './passage.ts';

const passageAround = (text: string, wanted: string) => inSlices(slicedPassage(text, wanted));

const snippet = 'the light is seen from afar at night';
const long = (letter: string, count: number) => letter.repeat(count);

describe('what stands around a snippet', () => {
  test('is two hundred characters before it and eight hundred behind', async () => {
    const text = `${long('b', 300)}${snippet}${long('a', 900)}`;
    expect(await passageAround(text, snippet)).toBe(`${long('b', 200)}${snippet}${long('a', 800)}`);
  });

  test('is less where the page begins or ends', async () => {
    expect(await passageAround(`x ${snippet} y`, snippet)).toBe(`x ${snippet} y`);
    expect(await passageAround(snippet, snippet)).toBe(snippet);
  });

  test('is found however the snippet is spaced', async () => {
    expect(await passageAround(`a ${snippet} b`, ` the light\n is seen   from afar at night `)).toBe(`a ${snippet} b`);
  });

  test('is found by the longest piece where the snippet is put together from several', async () => {
    const joined = `Jan 1, 2020 ... ${snippet} … and a short one`;
    expect(await passageAround(`a ${snippet} b`, joined)).toBe(`a ${snippet} b`);
  });

  test.each([
    ['the snippet is not in the page', 'another page altogether', snippet],
    ['there is no snippet', `a ${snippet}`, ''],
    ['only a few letters of it would be', 'a short page', 'short ... something else that is not there'],
    ['the page is empty', '', snippet],
  ])('is nothing where %s', async (_, text, wanted) => {
    expect(await passageAround(text, wanted)).toBe('');
  });

  test('is found at once in a page that was made to be slow', async () => {
    const text = long('a', 1_000_000);
    expect(await passageAround(text, `${long('a', 999)}b`)).toBe('');
    expect(await passageAround(`${text}b`, `${long('a', 500)}b`)).toHaveLength(200 + 501);
  });
});
