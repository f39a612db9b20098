import { describe, expect, test } from 'vitest';
import type { TextState } from '../core/text-service.ts';
import { findMarks, gapPrompt } from './fill-marks.ts';
import { readyState } from './testing/doubles.ts';

const own = { prefix: '<P>', suffix: '<S>', middle: '<M>' };

/** A vocabulary that reads these texts as one token each. */
function vocabulary(known: readonly string[], state: () => TextState = () => readyState()) {
  const asked: string[] = [];
  const tokenize = async (words: string) => {
    asked.push(words);
    return known.includes(words) ? [7] : [7, 8];
  };
  return { text: { state, tokenize }, asked };
}

const triple = (prefix: string, suffix: string, middle: string) => ({ prefix, suffix, middle });

describe('findMarks', () => {
  test('takes the marks of the model file without a search', async () => {
    const { text, asked } = vocabulary(['<fim_prefix>', '<fim_suffix>', '<fim_middle>'], () =>
      readyState({ fillMarks: own }),
    );
    expect(await findMarks(text)).toEqual({ type: 'found', marks: own });
    expect(asked).toEqual([]);
  });

  test.each([
    triple('<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'),
    triple('<fim_prefix>', '<fim_suffix>', '<fim_middle>'),
    triple('<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'),
    triple('▁<PRE>', '▁<SUF>', '▁<MID>'),
  ])('finds marks in the vocabulary: %o', async (marks) => {
    const { text } = vocabulary(Object.values(marks));
    expect(await findMarks(text)).toMatchObject({ type: 'found', marks });
  });

  test('waits for a model that is being loaded', async () => {
    let loaded = false;
    const { text } = vocabulary([], () =>
      loaded ? readyState({ fillMarks: own }) : { type: 'loading', name: 'mini', progress: 0.5 },
    );
    const tokenize = (words: string) => {
      loaded = true;
      return text.tokenize(words);
    };
    expect(await findMarks({ ...text, tokenize })).toEqual({ type: 'found', marks: own });
  });

  test('finds marks of repositories and files', async () => {
    const known = ['<fim_prefix>', '<fim_suffix>', '<fim_middle>', '<repo_name>', '<file_sep>'];
    const search = await findMarks(vocabulary(known).text);
    expect(search).toMatchObject({ marks: { repository: '<repo_name>', file: '<file_sep>' } });
  });

  test('does not mix marks of two model families', async () => {
    const mixed = ['<|fim_prefix|>', '<fim_suffix>', '<fim-middle>'];
    expect(await findMarks(vocabulary(mixed).text)).toEqual({
      type: 'missing',
      sentence: 'Infill is not possible with this model: its vocabulary lacks tokens that belong together.',
    });
  });

  test('names the marks that are missing', async () => {
    expect(await findMarks(vocabulary(['<fim_suffix>']).text)).toMatchObject({
      sentence: 'Infill is not possible with this model: its vocabulary lacks a prefix token, a middle token.',
    });
  });
});

test('gapPrompt: text before the gap first, then text after it', () => {
  expect(gapPrompt(own, 'a', 'z')).toBe('<P>a<S>z<M>');
});
