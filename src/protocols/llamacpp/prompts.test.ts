import { expect, test } from 'vitest';
import { readyState, scriptedText, seeing } from '../testing/doubles.ts';
import { decodePrompts, promptText, readPieces } from './prompts.ts';

const png = 'iVBORw0KGgo=';
const pieces = (value: unknown) => decodePrompts(value, readyState()).map((prompt) => prompt.pieces);

test.each([
  ['Hi', [['Hi']]],
  [[1, 2], [[1, 2]]],
  [['a', 1, 'b'], [['a', 1, 'b']]],
  [
    ['a', 'b'],
    [['a'], ['b']],
  ],
  [
    ['a', [1, 2]],
    [['a'], [1, 2]],
  ],
  [
    [[1], ['a', 2]],
    [[1], ['a', 2]],
  ],
  [{ prompt_string: 'Hi' }, [['Hi']]],
  [
    ['a', { prompt_string: 'Hi' }],
    [['a'], ['Hi']],
  ],
])('%j is the prompts %j', (value, expected) => {
  expect(pieces(value)).toEqual(expected);
});

test.each([
  [undefined],
  [null],
  [5],
  [true],
  [[]],
  [[true]],
  [[1, null]],
  [[-1]],
  [[1.5]],
  [{}],
  [{ prompt_string: 5 }],
])('%j is no prompt', (value) => {
  expect(() => pieces(value)).toThrow(/must be/);
});

test('a text among its pieces is named by its field', () => {
  expect(readPieces(['a', 5], 'content')).toEqual(['a', 5]);
  expect(() => readPieces({}, 'content')).toThrow('content must be a text, or an array of texts and token numbers.');
});

test('token numbers become their text, and the token that begins a text is left out', async () => {
  const { text } = scriptedText([]);
  expect(await promptText(['Hi'], text)).toBe('Hi');
  expect(await promptText([72, 105], text)).toBe('Hi');
  expect(await promptText([1, 72, 105], text)).toBe('Hi');
  expect(await promptText([72, 1], text)).toBe('H\u0001');
  expect(await promptText(['a', 72, 105, 'b', 72], text)).toBe('aHibH');
});

test('neighbouring numbers are read together: a character may lie in several of them', async () => {
  const asked: (readonly number[])[] = [];
  const { text } = scriptedText([], {
    detokenize: async (tokens) => {
      asked.push(tokens);
      return '?';
    },
  });
  await promptText([5, 6, 'x', 7], text);
  expect(asked).toEqual([[5, 6], [7]]);
});

test('each mark is the place of one medium', () => {
  const prompt = { prompt_string: 'See <__media__>.', multimodal_data: [png] };
  const [decoded] = decodePrompts(prompt, seeing());
  expect(decoded?.media).toMatchObject([{ kind: 'image', base64: png }]);
  expect(decoded?.pieces.join('')).not.toContain('<__media__>');
  for (const prompt_string of ['none', 'two <__media__> <__media__>']) {
    expect(() => decodePrompts({ ...prompt, prompt_string }, seeing())).toThrow('once for each of the 1 media');
  }
  expect(() => decodePrompts(prompt, readyState())).toThrow('--mmproj');
  expect(() => decodePrompts({ ...prompt, multimodal_data: png }, seeing())).toThrow('an array of base64 strings');
});
