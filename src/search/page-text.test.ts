import { describe, expect, test } from 'vitest';
import { inSlices } from '../core/slices.ts';
import { pageText, passageAround as slicedPassage } from './page-text.ts';

const textOf = (html: string) => inSlices(pageText(html));

test('pageText: the visible text', async () => {
  const html = `<html><head><style>p { color: red }</style></head><body>
    <nav><ul><li>Home</li><li>About</li></ul></nav>
    <h1>Light&shy;houses</h1><p>A <b>red</b> light<wbr>house
       stands&nbsp;here.</p><p>It blinks.</p><!-- not yet --><script>track()</script>
    <table><tr><td>1</td><td>2</td></tr></table></body></html>`;
  expect(await textOf(html)).toBe('Home About Lighthouses A red lighthouse stands here. It blinks. 1 2');
});

test('pageText: block tags separate words, inline tags do not', async () => {
  expect(await textOf('a<br>b<div>c</div>d<i>e</i><span>f</span>')).toBe('a b c def');
});

test('pageText: reads only the beginning of an endless page', async () => {
  expect((await textOf('word '.repeat(600_000))).length).toBeLessThanOrEqual(1_000_000);
  expect((await textOf('<p>a</p>'.repeat(400_000))).length).toBeLessThanOrEqual(1_000_000);
});

test('pageText: yields on a long page', () => {
  expect([...pageText('<p>a</p>'.repeat(20_000))].length).toBeGreaterThan(50);
});

const passageAround = (text: string, wanted: string) => inSlices(slicedPassage(text, wanted));

const snippet = 'the light is seen from afar at night';
const long = (letter: string, count: number) => letter.repeat(count);

describe('passageAround', () => {
  test('returns 200 characters before and 800 after the snippet', async () => {
    const text = `${long('b', 300)}${snippet}${long('a', 900)}`;
    expect(await passageAround(text, snippet)).toBe(`${long('b', 200)}${snippet}${long('a', 800)}`);
  });

  test('returns less at the start or end of the page', async () => {
    expect(await passageAround(`x ${snippet} y`, snippet)).toBe(`x ${snippet} y`);
    expect(await passageAround(snippet, snippet)).toBe(snippet);
  });

  test('ignores white space differences', async () => {
    expect(await passageAround(`a ${snippet} b`, ` the light\n is seen   from afar at night `)).toBe(`a ${snippet} b`);
  });

  test('finds the longest excerpt of a joined snippet', async () => {
    const joined = `Jan 1, 2020 ... ${snippet} … and a short one`;
    expect(await passageAround(`a ${snippet} b`, joined)).toBe(`a ${snippet} b`);
  });

  test.each([
    ['the snippet is not in the page', 'another page altogether', snippet],
    ['there is no snippet', `a ${snippet}`, ''],
    ['only a few letters of it would be', 'a short page', 'short ... something else that is not there'],
    ['the page is empty', '', snippet],
  ])('empty if %s', async (_, text, wanted) => {
    expect(await passageAround(text, wanted)).toBe('');
  });

  test('linear time on hostile pages', async () => {
    const text = long('a', 1_000_000);
    expect(await passageAround(text, `${long('a', 999)}b`)).toBe('');
    expect(await passageAround(`${text}b`, `${long('a', 500)}b`)).toHaveLength(200 + 501);
  });
});
