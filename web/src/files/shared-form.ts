import type { Story } from '../story/story.ts';
import { isSave, storyOfSave } from './lite-save.ts';
import { fileOfStory, isOwn, storyOfFile } from './own-story.ts';
import { Unreadable } from './unreadable.ts';

/** A story as the server keeps it for us: it does not look inside, and says again which form it has. */
export interface SharedForm {
  readonly format: string;
  readonly data: string;
}

const format = 'parley_json';

export function sharedForm(story: Story): SharedForm {
  return { format, data: JSON.stringify(fileOfStory(story)) };
}

/** Other programs keep theirs in the same places; what is JSON can be read. */
export function storyOfShared({ data }: SharedForm, id: () => string, changed: number): Story {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw new Unreadable('This story was put there by another program, in a form that is not known here.');
  }
  if (isOwn(value)) return storyOfFile(value, id, changed);
  if (isSave(value)) return storyOfSave(value, id, changed);
  throw new Unreadable('What is kept there is no story.');
}
