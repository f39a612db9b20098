import { expect, test } from 'vitest';
import { tokensText } from './moonshine-tokens.ts';

const pieces = (text: string): readonly (readonly [string, number])[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [base64 = '', id] = line.split(' ');
      return [Buffer.from(base64, 'base64').toString('latin1'), Number(id)] as const;
    });

test('every token has its bytes and its number', () => {
  const found = pieces(tokensText(['<unk>', '▁Hello', '<0x0A>', '<0xFF>', 'é']));
  expect(found.slice(0, 5)).toEqual([
    ['<unk>', 0],
    [' Hello', 1],
    ['\n', 2],
    ['\xff', 3],
    ['\xc3\xa9', 4],
  ]);
});

test('those that are never spoken stand behind', () => {
  const found = pieces(tokensText(['a']));
  expect(found).toHaveLength(769);
  expect(found[1]).toEqual(['<<ST_0>>', 1]);
  expect(found.at(-1)).toEqual(['<<ST_767>>', 768]);
});
