import { read } from '../api/call.ts';
import { storyOfSave } from '../files/lite-save.ts';
import { newId } from '../saved/id.ts';
import type { Story } from '../story/story.ts';

let asked: Promise<Story | undefined> | undefined;

/** The story that the server was started with; asked for once. */
export function preloadedStory(): Promise<Story | undefined> {
  asked ??= read<unknown>('api/extra/preloadstory', { background: true })
    .then((save) => (isEmpty(save) ? undefined : storyOfSave(save, newId, Date.now())))
    .catch(() => undefined);
  return asked;
}

function isEmpty(save: unknown): boolean {
  return typeof save !== 'object' || save === null || Object.keys(save).length === 0;
}
