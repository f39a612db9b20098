import { describe, expect, test } from 'vitest';
import type { TextService } from '../../../core/text-service.ts';
import { dialectParts, readyState, scriptedText } from '../../testing/doubles.ts';
import { decodeCompletion } from './decode.ts';

const marks = { prefix: '<P>', suffix: '<S>', middle: '<M>' };

function decode(body: object, own: Partial<TextService> = { state: () => readyState({ fillMarks: marks }) }) {
  const { text } = scriptedText([], own);
  const parts = { ...dialectParts({ text }), replacePlaceholders: <Texts>(texts: Texts) => texts };
  return decodeCompletion({ prompt: 'def f(', ...body }, parts);
}

const prompts = async (...args: Parameters<typeof decode>) =>
  (await decode(...args)).requests.map(({ prompt }) => prompt);

test('the gap is marked as the file of the model says', async () => {
  expect(await prompts({ suffix: '): pass' })).toEqual(['<P>def f(<S>): pass<M>']);
});

test('a model whose file names no marks may have them in its vocabulary', async () => {
  const known = ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'];
  const tokenize = async (words: string) => (known.includes(words) ? [1] : [1, 2]);
  expect(await prompts({ suffix: ')' }, { tokenize })).toEqual(['<fim_prefix>def f(<fim_suffix>)<fim_middle>']);
});

test('each of several prompts has the same text behind its gap', async () => {
  expect(await prompts({ prompt: ['a', 'b'], suffix: 'z' })).toEqual(['<P>a<S>z<M>', '<P>b<S>z<M>']);
});

test('nothing may stand before the gap', async () => {
  expect(await prompts({ prompt: '', suffix: 'z' })).toEqual(['<P><S>z<M>']);
});

test.each([undefined, null, ''])('%o behind the gap is no gap', async (suffix) => {
  expect(await prompts({ suffix })).toEqual(['def f(']);
});

test('an echo is the text before the gap, without marks', async () => {
  expect((await decode({ suffix: ')', echo: true })).echoes).toEqual(['def f(']);
});

test('the figures of the prompt are those of all that the model read', async () => {
  const { requests } = await decode({ suffix: ')', prompt_logprobs: 1 });
  expect(requests[0]).toMatchObject({ prompt: '<P>def f(<S>)<M>', promptLogprobs: 1 });
});

describe('a gap is refused', () => {
  test('by a model without marks', async () => {
    await expect(decode({ suffix: ')' }, {})).rejects.toThrow('this model has no marks for a gap in a text');
  });

  test('without a model as what it is', async () => {
    const none = { state: () => ({ type: 'none' }) as const, tokenize: async () => [] };
    await expect(decode({ suffix: ')' }, none)).rejects.toMatchObject({ code: 'model-missing' });
  });

  test('beside token numbers', async () => {
    await expect(decode({ prompt: [72, 105], suffix: ')' })).rejects.toThrow('suffix');
  });

  test('beside an echo with figures', async () => {
    await expect(decode({ suffix: ')', echo: true, logprobs: 0 })).rejects.toThrow('echo and logprobs');
  });

  test('where it is no text', async () => {
    await expect(decode({ suffix: 5 })).rejects.toThrow('suffix must be a string');
  });
});
