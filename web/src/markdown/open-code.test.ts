import { describe, expect, test } from 'vitest';
import { openCode } from './open-code.ts';

describe('code that is still written', () => {
  test('is known by its fence, with its language', () => {
    expect(openCode('```ts title\nlet a')).toEqual({ opening: '```ts title\n', language: 'ts', body: 'let a' });
    expect(openCode('~~~\nplain')).toEqual({ opening: '~~~\n', language: '', body: 'plain' });
    expect(openCode('```js\n')?.body).toBe('');
  });

  test('may hold shorter fences and other ones', () => {
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
