import type { Story } from '../story/story.ts';
import { isSave, storyOfSave } from './lite-save.ts';
import { unpackLzma } from './lzma.ts';
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

/** Other programs keep theirs in the same places: as JSON, or packed as KoboldAI Lite does. */
export function storyOfShared({ data }: Pick<SharedForm, 'data'>, id: () => string, changed: number): Story {
  const value = parsed(data) ?? parsed(unpacked(data));
  if (value === undefined)
    throw new Unreadable('This story was put there by another program, in a form that is not known here.');
  if (isOwn(value)) return storyOfFile(value, id, changed);
  if (isSave(value)) return storyOfSave(value, id, changed);
  throw new Unreadable('What is kept there is no story.');
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) ?? undefined);
  } catch {
    return undefined;
  }
}

const largest = 32 * 1_048_576;

function unpacked(data: string): string | undefined {
  // The head of what was packed with any of the usual settings.
  if (!data.startsWith('XQAA')) return undefined;
  try {
    // In the letters that may stand in addresses.
    const bytes = atob(data.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(
      unpackLzma(
        Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)),
        largest,
      ),
    );
  } catch {
    return undefined;
  }
}
