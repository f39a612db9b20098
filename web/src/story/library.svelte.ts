import { fieldsOf, jsonIn, listIn } from '../api/loose.ts';
import { newId } from '../saved/id.ts';
import { UndoableRecords } from '../saved/undoable-records.ts';
import { storyShape } from './merge.ts';
import { newStory, type Passage, type Story } from './story.ts';

/** All stories of this browser, in all of its tabs. Undo restores the passages; memory, notes and world info stay. */
class Library extends UndoableRecords<Story> {
  constructor() {
    super('stories', {
      // Stored records may lack newer fields.
      shape: { ...storyShape, join: (parts) => newStory(storyShape.join(parts)) },
      kind: 'story',
      parts: ({ passages }) => ({
        passages: Object.fromEntries(passages.map((passage) => [passage.id, passage])),
        lists: { order: passages.map(({ id }) => id) },
      }),
      withParts: (story, { passages = {}, lists }) => ({
        ...story,
        passages: ((lists?.order ?? []) as readonly string[]).flatMap(
          (id) => (passages[id] as Passage | undefined) ?? [],
        ),
      }),
      touched: (story) => ({ ...story, changed: Date.now() }),
    });
  }

  /** The last changed first. */
  get stories(): readonly Story[] {
    return this.all.toSorted((a, b) => b.changed - a.changed);
  }

  override async load(): Promise<void> {
    await super.load();
    for (const story of rescuedStories()) await this.merge(newStory(story));
  }

  /** Undoable steps are saved at once; streamed text adds none, and is saved a little later. */
  override change(id: string, make: (story: Story) => Story, { undoable = false } = {}): void {
    super.change(id, make, { undoable, later: !undoable });
  }

  copy(story: Story): Story {
    const { pending: _, ...rest } = story;
    const copied = { ...rest, id: newId(), title: `${story.title} (copy)`.trim(), changed: Date.now() };
    this.put(copied);
    return copied;
  }
}

export const library = new Library();

const name = 'parley.rescue';

/** Stories that a page of an earlier version could not save when it closed. They are there once. */
function rescuedStories(): Story[] {
  const stored = listIn(jsonIn(localStorage.getItem(name)));
  localStorage.removeItem(name);
  return stored.filter((story): story is Story => typeof fieldsOf(story).id === 'string');
}
