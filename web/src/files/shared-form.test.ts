import { expect, test } from 'vitest';
import { textOf } from '../story/story.ts';
import { counting, storyOfTexts } from '../story/testing/stories.ts';
import { saveOfStory } from './lite-save.ts';
import { sharedForm, storyOfShared } from './shared-form.ts';
import { texts } from './texts.ts';

const story = storyOfTexts(['One.', 'me:Two.'], { mode: 'chat', title: 'T' });
const read = (data: string) => storyOfShared({ data }, counting(), 4);

test('storyOfShared: reverses sharedForm', () => {
  const shared = sharedForm(story);
  expect(shared.format).toBe('parley_json');
  const again = storyOfShared(shared, counting(), 4);
  expect(again).toMatchObject({ title: 'T', mode: 'chat', changed: 4 });
  expect(again.passages.map(textOf)).toEqual(['One.', 'Two.']);
});

test('storyOfShared: reads a JSON save of another client', () => {
  expect(read(JSON.stringify(saveOfStory(story))).passages.map(textOf)).toEqual(['One.', 'Two.']);
});

test('storyOfShared: reads a compressed save in URL-safe base64', () => {
  const packed =
    'XQAAEAD__________wA9iIjmVDbEKbLoY9StGeUkQmrkEehjPzhtlyr7beO0X5iVLdedM9owUMpSAcvUTBVxe6Q6KTCriTC-f8RJ8FbBRGSabJsnBtik51EAQoqMFc71v1fZndouJMAMHowfc6AywPCNHP8s48AA';
  expect(read(packed).passages.map(textOf).join('')).toBe('Once there was a keeper 4. She lit the lamp.');
});

test.each([
  ['XQAAgAD', texts.shared.unknown],
  ['{"a":1}', texts.shared.noStory],
  ['XQAAgAD//w==', texts.shared.unknown],
  ['null', texts.shared.unknown],
  ['', texts.shared.unknown],
])('what is no story (%j) is told', (data, sentence) => {
  expect(() => read(data)).toThrow(sentence);
});
