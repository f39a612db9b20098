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

test('suffix: uses the infill tokens of the model file', async () => {
  expect(await prompts({ suffix: '): pass' })).toEqual(['<P>def f(<S>): pass<M>']);
});

test('suffix: finds infill tokens in the vocabulary if the model file has none', async () => {
  const known = ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'];
  const tokenize = async (words: string) => (known.includes(words) ? [1] : [1, 2]);
  expect(await prompts({ suffix: ')' }, { tokenize })).toEqual(['<fim_prefix>def f(<fim_suffix>)<fim_middle>']);
});

test('suffix: applies to each of several prompts', async () => {
  expect(await prompts({ prompt: ['a', 'b'], suffix: 'z' })).toEqual(['<P>a<S>z<M>', '<P>b<S>z<M>']);
});

test('suffix: works with an empty prompt', async () => {
  expect(await prompts({ prompt: '', suffix: 'z' })).toEqual(['<P><S>z<M>']);
});

test.each([undefined, null, ''])('suffix %o: no infill', async (suffix) => {
  expect(await prompts({ suffix })).toEqual(['def f(']);
});

test('suffix with echo: the echo is the text before the gap, without infill tokens', async () => {
  expect((await decode({ suffix: ')', echo: true })).echoes).toEqual(['def f(']);
});

test('suffix with prompt_logprobs: covers the whole infill prompt', async () => {
  const { requests } = await decode({ suffix: ')', prompt_logprobs: 1 });
  expect(requests[0]).toMatchObject({ prompt: '<P>def f(<S>)<M>', promptLogprobs: 1 });
});

describe('suffix is rejected', () => {
  test('if the model has no infill tokens', async () => {
    await expect(decode({ suffix: ')' }, {})).rejects.toThrow('this model has no marks for a gap in a text');
  });

  test('with model-missing if there is no model', async () => {
    const none = { state: () => ({ type: 'none' }) as const, tokenize: async () => [] };
    await expect(decode({ suffix: ')' }, none)).rejects.toMatchObject({ code: 'model-missing' });
  });

  test('with a prompt of token numbers', async () => {
    await expect(decode({ prompt: [72, 105], suffix: ')' })).rejects.toThrow('suffix');
  });

  test('with echo and logprobs', async () => {
    await expect(decode({ suffix: ')', echo: true, logprobs: 0 })).rejects.toThrow('echo and logprobs');
  });

  test('if it is not a string', async () => {
    await expect(decode({ suffix: 5 })).rejects.toThrow('suffix must be a string');
  });
});
