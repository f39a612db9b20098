import { describe, expect, test } from 'vitest';
import { openCode } from './code-block.ts';

describe('openCode', () => {
  test('returns the language and body of an unclosed code block', () => {
    expect(openCode('```ts title\nlet a')).toEqual({ opening: '```ts title\n', language: 'ts', body: 'let a' });
    expect(openCode('~~~\nplain')).toEqual({ opening: '~~~\n', language: '', body: 'plain' });
    expect(openCode('```js\n')?.body).toBe('');
  });

  test('ignores shorter and different fences inside', () => {
    expect(openCode('````md\n```js\na\n```\n')?.body).toBe('```js\na\n```\n');
    expect(openCode('```\n~~~\n')).toBeDefined();
    expect(openCode('```\na ``` b')).toBeDefined();
  });

  test.each(['```js\na\n```', '```js\na\n```\n', '```\na\n   `````  \n', 'words', '', '```js', '- ```js\n  a'])(
    '%j is none',
    (markdown) => {
      expect(openCode(markdown)).toBeUndefined();
    },
  );
});
