import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Blocks, blocksOf } from './blocks.ts';
import { lex } from './syntax.ts';

const text = `# Title

A paragraph
of two lines.

- one

- two
  more

1. first
2. second

| a | b |
|---|---|
| 1 | 2 |

\`\`\`js
let a = 1;

let b = 2;
\`\`\`

$$
x^2
$$

> quoted

The end.`;

describe('blocksOf', () => {
  test('splits a text into blocks without losing any of it', () => {
    const { list } = blocksOf(text, lex);
    expect(list.join('')).toBe(text);
    expect(list.map((block) => block.trim().split('\n')[0])).toEqual([
      '# Title',
      'A paragraph',
      '- one',
      '1. first',
      '| a | b |',
      '```js',
      '$$',
      '> quoted',
      'The end.',
    ]);
  });

  test('returns the same blocks for a text that grew letter by letter', () => {
    let blocks: Blocks | undefined;
    for (let end = 1; end <= text.length; end += 1) blocks = blocksOf(text.slice(0, end), lex, blocks);
    expect(blocks?.list).toEqual(blocksOf(text, lex).list);
  });

  test('parses a growing text only from its last block on', () => {
    const read: string[] = [];
    const watched = (part: string) => {
      read.push(part);
      return lex(part);
    };
    const first = blocksOf('One.\n\nTwo.', watched);
    const second = blocksOf('One.\n\nTwo. More.\n\nThree', watched, first);
    expect(second.list).toEqual(['One.\n\n', 'Two. More.\n\n', 'Three']);
    expect(read).toEqual(['One.\n\nTwo.', 'Two. More.\n\nThree']);
    expect(second.list[0]).toBe(first.list[0]);
  });

  test('parses a replaced text from the start', () => {
    const first = blocksOf('One.\n\nTwo.\n\nThree.', lex);
    expect(blocksOf('Other.\n\nText.', lex, first).list).toEqual(['Other.\n\n', 'Text.']);
    expect(blocksOf('', lex, first).list).toEqual([]);
  });

  test('normalizes line ends', () => {
    expect(blocksOf('a\r\n\r\nb\rc', lex).list.join('')).toBe('a\n\nb\nc');
  });

  test('loses nothing of any text', () => {
    const piece = fc.constantFrom(
      'a',
      ' ',
      '\n',
      '\n\n',
      '- ',
      '```',
      '|',
      '# ',
      '> ',
      '$$',
      '1. ',
      '**',
      '<b>',
      '\t',
      '---',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        let blocks: Blocks | undefined;
        let grown = '';
        for (const more of pieces) {
          grown += more;
          blocks = blocksOf(grown, lex, blocks);
          expect(blocks.settled + (blocks.list.at(-1) ?? '')).toBe(blocks.list.join(''));
          expect(blocks.list.join('').replace(/\s/g, '')).toBe(grown.replace(/\s/g, ''));
        }
      }),
    );
  });
});
