import { expect, test } from 'vitest';
import { fillMarks } from './vocabulary.ts';

const names = ['<pre>', '<suf>', '<mid>', '<rep>', '<sep>', 'two words'];

/** A vocabulary of these names, where a text with a space is two tokens. */
function vocabulary(ids: { pre?: number; suf?: number; mid?: number; rep?: number; sep?: number }) {
  return {
    size: names.length,
    pointer: 0n as never,
    native: {
      tokenGapPrefix: () => ids.pre ?? -1,
      tokenGapSuffix: () => ids.suf ?? -1,
      tokenGapMiddle: () => ids.mid ?? -1,
      tokenRepository: () => ids.rep ?? -1,
      tokenFile: () => ids.sep ?? -1,
    },
    detokenize: (tokens: ArrayLike<number>) => names[tokens[0] as number] ?? '',
    tokenize: (text: string) => Int32Array.from(text.includes(' ') ? [0, 1] : [names.indexOf(text)]),
  };
}

test('fillMarks: texts of the marks in the model file', () => {
  expect(fillMarks(vocabulary({ pre: 0, suf: 1, mid: 2, rep: 3, sep: 4 }))).toEqual({
    prefix: '<pre>',
    suffix: '<suf>',
    middle: '<mid>',
    repository: '<rep>',
    file: '<sep>',
  });
});

test('fillMarks: repository and file marks are optional', () => {
  const marks = fillMarks(vocabulary({ pre: 0, suf: 1, mid: 2 }));
  expect(marks).toMatchObject({ prefix: '<pre>', suffix: '<suf>', middle: '<mid>' });
  expect([marks?.repository, marks?.file]).toEqual([undefined, undefined]);
});

test.each([
  ['no marks', {}],
  ['no prefix', { suf: 1, mid: 2 }],
  ['no suffix', { pre: 0, mid: 2 }],
  ['no middle', { pre: 0, suf: 1 }],
  ['a number beyond the vocabulary', { pre: 0, suf: 1, mid: 99 }],
  ['a mark that is not read as itself', { pre: 0, suf: 1, mid: 5 }],
])('fillMarks: undefined for a file with %s', (_, ids) => {
  expect(fillMarks(vocabulary(ids))).toBeUndefined();
});
