import { expect, test } from 'vitest';
import { inSlices } from '../core/slices.ts';
import { pageText } from './page-text.ts';

const textOf = (html: string) => inSlices(pageText(html));

test('a page is what a reader sees of it', async () => {
  const html = `<html><head><style>p { color: red }</style></head><body>
    <nav><ul><li>Home</li><li>About</li></ul></nav>
    <h1>Light&shy;houses</h1><p>A <b>red</b> light<wbr>house
       stands&nbsp;here.</p><p>It blinks.</p><!-- not yet --><script>track()</script>
    <table><tr><td>1</td><td>2</td></tr></table></body></html>`;
  expect(await textOf(html)).toBe('Home About Lighthouses A red lighthouse stands here. It blinks. 1 2');
});

test('words that tags part are two, and words that only look different are one', async () => {
  expect(await textOf('a<br>b<div>c</div>d<i>e</i><span>f</span>')).toBe('a b c def');
});

test('of a page without end only the beginning is read', async () => {
  expect((await textOf('word '.repeat(600_000))).length).toBeLessThanOrEqual(1_000_000);
  expect((await textOf('<p>a</p>'.repeat(400_000))).length).toBeLessThanOrEqual(1_000_000);
});

test('others are let in while a long page is read', () => {
  expect([...pageText('<p>a</p>'.repeat(20_000))].length).toBeGreaterThan(50);
});
