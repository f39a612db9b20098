import { notifyFailure } from '../app/notices.svelte.ts';
import { autosave } from '../saved/autosave.ts';
import { collection } from '../saved/database.ts';
import { emptyHistory, type History, redo, remember, undo } from '../saved/history.ts';
import { newId } from '../saved/id.ts';
import { newStory, type Passage, type Story } from '../story/story.ts';
import { backup, newest } from './backup.ts';

/** All stories of this browser. The state in memory is the newest; the database follows shortly after. */
class Library {
  stories = $state.raw<readonly Story[]>([]);
  loaded = $state(false);
  #histories = $state.raw<ReadonlyMap<string, History<readonly Passage[]>>>(new Map());
  readonly #kept = collection<Story>('stories');
  readonly #saving = autosave<Story>({ put: (story) => this.#write(story), onFailure: notifyFailure });
  /** Not saved yet. */
  readonly #unsaved = new Map<string, Story>();

  constructor() {
    const leave = () => {
      // A closing page does not wait for the database; local storage is synchronous.
      backup.write([...this.#unsaved.values()]);
      void this.#saving.flush();
    };
    addEventListener('pagehide', leave);
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'hidden') leave();
    });
  }

  async load(): Promise<void> {
    if (this.loaded) return;
    try {
      const kept = await this.#kept.all();
      const known = new Set(this.stories.map(({ id }) => id));
      // Stored records may lack newer fields.
      const found = newest(kept, backup.read()).filter(({ id }) => !known.has(id));
      const stories = [...this.stories, ...found.map((story) => newStory(story))];
      this.stories = stories.sort((a, b) => b.changed - a.changed);
      for (const story of found) if (!kept.includes(story)) this.#changed(story);
    } catch (thrown) {
      notifyFailure(thrown);
    }
    this.loaded = true;
  }

  find(id: string | undefined): Story | undefined {
    return id === undefined ? undefined : this.stories.find((story) => story.id === id);
  }

  add(story: Story): void {
    this.stories = [story, ...this.stories];
    this.#changed(story);
  }

  /** `undoable` adds an undo step; streamed text does not. */
  change(id: string, change: (story: Story) => Story, { undoable = false } = {}): void {
    const old = this.find(id);
    if (!old) return;
    const next = change(old);
    if (next === old) return;
    if (undoable && next.passages !== old.passages) this.#setHistory(id, remember(this.historyOf(id), old.passages));
    this.#put({ ...next, changed: Date.now() });
    // Undoable steps are saved at once.
    if (undoable) void this.#saving.flush();
  }

  remove(id: string): Story | undefined {
    const story = this.find(id);
    this.stories = this.stories.filter((other) => other.id !== id);
    this.#unsaved.delete(id);
    void this.#saving
      .flush()
      .then(() => this.#kept.remove(id))
      .catch(notifyFailure);
    return story;
  }

  copy(story: Story): Story {
    const { pending: _, ...rest } = story;
    const copied = { ...rest, id: newId(), title: `${story.title} (copy)`.trim(), changed: Date.now() };
    this.add(copied);
    return copied;
  }

  historyOf(id: string): History<readonly Passage[]> {
    return this.#histories.get(id) ?? emptyHistory;
  }

  undo(id: string): void {
    this.#travel(id, undo);
  }

  redo(id: string): void {
    this.#travel(id, redo);
  }

  flush(): Promise<void> {
    return this.#saving.flush();
  }

  #travel(id: string, go: typeof undo): void {
    const story = this.find(id);
    if (!story) return;
    const gone = go(this.historyOf(id), story.passages);
    if (!gone) return;
    this.#setHistory(id, gone[0]);
    this.#put({ ...story, passages: gone[1], changed: Date.now() });
  }

  #setHistory(id: string, history: History<readonly Passage[]>): void {
    this.#histories = new Map(this.#histories).set(id, history);
  }

  #put(story: Story): void {
    this.stories = this.stories.map((other) => (other.id === story.id ? story : other));
    this.#changed(story);
  }

  #changed(story: Story): void {
    this.#unsaved.set(story.id, story);
    this.#saving.changed(story);
  }

  async #write(story: Story): Promise<void> {
    await this.#kept.put(story);
    if (this.#unsaved.get(story.id) === story) this.#unsaved.delete(story.id);
  }
}

export const library = new Library();
