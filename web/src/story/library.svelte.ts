import { fieldsOf, jsonIn, listIn } from '../api/loose.ts';
import { histories } from '../saved/histories.ts';
import type { History } from '../saved/history.ts';
import { newId } from '../saved/id.ts';
import { Records } from '../saved/records.svelte.ts';
import { storyShape } from './merge.ts';
import { newStory, type Passage, type Story } from './story.ts';

/** All stories of this browser, in all of its tabs. */
export const storyRecords = new Records<Story>('stories', {
  // Stored records may lack newer fields.
  shape: { ...storyShape, join: (parts) => newStory(storyShape.join(parts)) },
});

/** Undo restores the passages; memory, notes and world info stay. */
const undoSteps = histories<Story>({
  kind: 'story',
  parts: ({ passages }) => ({
    passages: Object.fromEntries(passages.map((passage) => [passage.id, passage])),
    lists: { order: passages.map(({ id }) => id) },
  }),
  withParts: (story, { passages = {}, lists }) => ({
    ...story,
    passages: ((lists?.order ?? []) as readonly string[]).flatMap((id) => (passages[id] as Passage | undefined) ?? []),
  }),
});

/** All stories of this browser, the last changed first. The state in memory is the newest; the database follows shortly after. */
class Library {
  get stories(): readonly Story[] {
    return storyRecords.all.toSorted((a, b) => b.changed - a.changed);
  }

  get loaded(): boolean {
    return storyRecords.loaded;
  }

  async load(): Promise<void> {
    await storyRecords.load();
    for (const story of backup.read()) await storyRecords.merge(newStory(story));
  }

  find(id: string | undefined): Story | undefined {
    return storyRecords.find(id);
  }

  add(story: Story): void {
    storyRecords.put(story);
  }

  /** `undoable` adds an undo step; streamed text does not. */
  change(id: string, change: (story: Story) => Story, { undoable = false } = {}): void {
    const old = this.find(id);
    const next = old && change(old);
    if (!next || next === old) return;
    if (next.passages !== old.passages) undoSteps.changed(old, next, undoable);
    // Undoable steps are saved at once.
    storyRecords.put({ ...next, changed: Date.now() }, { later: !undoable });
  }

  remove(id: string): Story | undefined {
    const story = this.find(id);
    void storyRecords.remove(id);
    return story;
  }

  copy(story: Story): Story {
    const { pending: _, ...rest } = story;
    const copied = { ...rest, id: newId(), title: `${story.title} (copy)`.trim(), changed: Date.now() };
    this.add(copied);
    return copied;
  }

  historyOf(id: string): History {
    return undoSteps.of(id);
  }

  undo(id: string): void {
    this.#travel(id, undoSteps.undo);
  }

  redo(id: string): void {
    this.#travel(id, undoSteps.redo);
  }

  flush(): Promise<void> {
    return storyRecords.flush();
  }

  #travel(id: string, go: (story: Story) => Story | undefined): void {
    const story = this.find(id);
    const next = story && go(story);
    if (next) storyRecords.put({ ...next, changed: Date.now() });
  }
}

export const library = new Library();

const name = 'parley.rescue';

/** Stories that a page of an earlier version could not save when it closed. */
export const backup = {
  read(): Story[] {
    const kept = listIn(jsonIn(localStorage.getItem(name)));
    localStorage.removeItem(name);
    return kept.filter((story): story is Story => typeof fieldsOf(story).id === 'string');
  },
};
