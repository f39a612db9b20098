import { expect, test } from 'vitest';
import { spokenParts, spokenText } from './spoken-text.ts';

test.each([
  ['Plain words.', 'Plain words.'],
  ['# Title\n\nA **bold** and *soft* `word`.', 'Title\nA bold and soft word.'],
  ['Look:\n```js\nlet a = 1;\n```\nDone.', 'Look:\n (code) \nDone.'],
  ['Still written:\n```js\nlet a', 'Still written:\n (code)'],
  ['See [the page](https://example.com/x).', 'See the page.'],
  ['- one\n- two\n1. three', 'one\ntwo\nthree'],
  ['> quoted', 'quoted'],
  ['2 * 3 * 4 = 24', '2 * 3 * 4 = 24'],
  ['snake_case_name', 'snake_case_name'],
])('spokenText: %j becomes %j', (markdown, spoken) => {
  expect(spokenText(markdown)).toBe(spoken);
});

test('spokenText: reads tables row by row', () => {
  expect(spokenText('| a | b |\n|---|---|\n| 1 | 2 |')).toBe(',  a ,  b , \n,  1 ,  2 ,');
});

test('spokenParts: speech and narration without marks, and without the punctuation between them', () => {
  const markdown = '*She looks up.* “I **did** it”, she says. “See [this](https://example.com)!”\n\n```js\n"x"\n```';
  expect(spokenParts(markdown, 'speech')).toEqual([
    { kind: 'narration', text: 'She looks up.' },
    { kind: 'speech', text: '“I did it”' },
    { kind: 'narration', text: 'she says.' },
    { kind: 'speech', text: '“See this!”' },
    { kind: 'narration', text: '(code)' },
  ]);
});

test('spokenParts: nothing of a text without words', () => {
  expect(spokenParts('…', 'narration')).toEqual([]);
});
