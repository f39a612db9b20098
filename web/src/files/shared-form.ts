import { bytesIn, jsonIn } from '../api/loose.ts';
import type { Story } from '../story/story.ts';
import { isSave, storyOfSave } from './lite-save.ts';
import { unpackLzma } from './lzma.ts';
import { fileOfStory, isOwn, storyOfFile } from './own-story.ts';
import { texts } from './texts.ts';
import { Unreadable } from './unreadable.ts';

/** A story as the server stores it: the data is opaque to the server. */
interface SharedForm {
  readonly format: string;
  readonly data: string;
}

const format = 'parley_json';

export function sharedForm(story: Story): SharedForm {
  return { format, data: JSON.stringify(fileOfStory(story)) };
}

/** Other clients use the same slots: as JSON, or compressed as KoboldAI Lite does. */
export function storyOfShared({ data }: Pick<SharedForm, 'data'>, id: () => string, changed: number): Story {
  const value = jsonIn(data) ?? jsonIn(unpacked(data)) ?? undefined;
  if (value === undefined) throw new Unreadable(texts.shared.unknown);
  if (isOwn(value)) return storyOfFile(value, id, changed);
  if (isSave(value)) return storyOfSave(value, id, changed);
  throw new Unreadable(texts.shared.noStory);
}

const maxBytes = 32 * 1_048_576;

function unpacked(data: string): string | undefined {
  // LZMA header with common properties, in base64.
  if (!data.startsWith('XQAA')) return undefined;
  try {
    // URL-safe base64.
    const bytes = bytesIn(data.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(unpackLzma(bytes, maxBytes));
  } catch {
    return undefined;
  }
}
