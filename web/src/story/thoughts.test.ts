import { expect, test } from 'vitest';
import { piecesOf } from './layout.ts';
import { newPassage } from './story.ts';
import { storyOfTexts } from './testing/stories.ts';
import { thoughtsEnd, withoutThoughts } from './thoughts.ts';
import { asPrompt } from './turns.ts';

test.each([
  ['<think>Hm.</think>\n\nYes.', 18, 'Yes.'],
  ['\n[THINK]Hm.[/THINK] Yes.', 19, 'Yes.'],
  ['<think>still', 12, '<think>still'],
  ['Yes. <think>no</think>', 0, 'Yes. <think>no</think>'],
  ['', 0, ''],
])('the thoughts of %j end at %i', (text, end, answer) => {
  expect(thoughtsEnd(text)).toBe(end);
  expect(withoutThoughts(text)).toBe(answer);
});

test('earlier thoughts are not read again', () => {
  const story = storyOfTexts(['<think>Hm.</think>Yes.'], { mode: 'instruct' });
  const [passage] = story.passages;
  expect(passage && asPrompt(story, passage)).toBe('{{[OUTPUT]}}Yes.{{[OUTPUT_END]}}');
});

test('the page knows which parts are thoughts', () => {
  const pieces = piecesOf(newPassage('a', 'model', '<think>Hm.\n\nSo.</think>\n\nYes.'));
  expect(pieces.map(({ thought }) => thought)).toEqual([true, true, false]);
  expect(piecesOf(newPassage('a', 'person', '<think>x')).map(({ thought }) => thought)).toEqual([false]);
});
