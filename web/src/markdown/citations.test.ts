import { expect, test } from 'vitest';
import { citedNumbers, validNumbers } from './citations.ts';
import { htmlOf } from './syntax.ts';

const cites = (text: string): string[] =>
  [...htmlOf(text).matchAll(/data-cite="([^"]*)"/g)].map(([, list = '']) => list);

test('citation: numbers in brackets become placeholders that keep what was written', () => {
  expect(htmlOf('Tea is hot [2].')).toBe('<p>Tea is hot <sup class="citation" data-cite="2">[2]</sup>.</p>\n');
  expect(cites('a[1][2] and **b [1, 3]**\n\n- c [4]\n\n| x |\n|-|\n| d [5] |')).toEqual(['1', '2', '1, 3', '4', '5']);
});

test.each([
  'a [1](https://a.example) link',
  'a [1][note] reference',
  '[1]: https://a.example',
  'of a list [1]\n\n[1]: https://a.example',
  '`code[1]`',
  '```\ncode[1]\n```',
  '[a1] [-1] [1.5] [12345]',
  'a footnote[^1]\n\n[^1]: Note',
])('citation: %j has none', (text) => {
  expect(cites(text)).toEqual([]);
});

test('validNumbers: only sources that exist, each once', () => {
  expect(validNumbers('1, 3,1, 9,0', 3)).toEqual([1, 3]);
});

test('citedNumbers: reads marks outside of code', () => {
  const text = 'One [2]. `x[1]`\n\n```js\na[3]\n```\nTwo [4, 5][9]';
  expect([...citedNumbers(text, 5)]).toEqual([2, 4, 5]);
  expect([...citedNumbers('```\nopen [1]', 5)]).toEqual([]);
});
