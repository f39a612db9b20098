import { call, read } from '../api/call.ts';
import { sharedForm, storyOfShared } from '../files/shared-form.ts';
import { newId } from '../saved/id.ts';
import { persistedState } from '../saved/persisted-state.svelte.ts';
import { library } from '../story/library.svelte.ts';
import { isSameText, merged } from '../story/merge.ts';
import type { Story } from '../story/story.ts';
import { notify, notifyFailure, reported } from '../ui/notices.svelte.ts';
import { writer } from '../writer/writer.svelte.ts';
import { texts } from './texts.ts';

interface Turn {
  readonly turn_major: number;
  readonly turn_minor: number;
  readonly idle: boolean;
  readonly data_format: string;
}

const pollMs = 1500;

/** A story that several people write in turns. The server stores it; each page polls it. */
class Multiplayer {
  /** Name shown to others, and the last shared story. */
  readonly me = persistedState<{ name: string; last: string }>('parley.together', { name: '', last: '' });
  /** Id of the local copy of the shared story. */
  story = $state<string>();
  /** True if no one else is writing. */
  idle = $state(true);
  turn = $state('');
  /** The last state that was sent or received. */
  #known: Story | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Set by the input field. */
  typing = false;

  /** Opens the shared story, or shares `mine` if there is none. */
  async join(mine: Story | undefined): Promise<string | undefined> {
    try {
      const data = await (await call('api/extra/multiplayer/getstory', { body: {} })).text();
      const shared = data === '' ? undefined : storyOfShared({ data }, newId, Date.now());
      const story = shared ?? mine;
      if (!story) {
        notify(texts.multiplayer.nothingShared);
        return undefined;
      }
      const id = shared ? this.#adopt(shared) : story.id;
      this.#known = shared ? library.find(id) : undefined;
      this.story = id;
      this.me.last = id;
      this.turn = '';
      await this.#look();
      return id;
    } catch (thrown) {
      notifyFailure(thrown);
      return undefined;
    }
  }

  /** On rejoining, the local copy is updated. */
  #adopt(shared: Story): string {
    if (!library.find(this.me.last)) {
      library.put(shared);
      return shared.id;
    }
    library.change(this.me.last, (mine) => merged(mine, shared), { undoable: true });
    return this.me.last;
  }

  /** Replaces the shared story. */
  async share(story: Story): Promise<void> {
    this.story = story.id;
    this.#known = undefined;
    await this.#send(story, true).catch(notifyFailure);
    await this.#look();
  }

  leave(): void {
    clearTimeout(this.#timer);
    this.story = undefined;
    this.#known = undefined;
    this.idle = true;
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    const { story: id } = this;
    if (id === undefined) return;
    await reported(async () => {
      await this.#exchange(id);
    });
    if (this.story === id) this.#timer = setTimeout(() => void this.#look(), pollMs);
  }

  async #exchange(id: string): Promise<void> {
    const senderbusy = writer.running?.story === id || this.typing;
    const turn = await this.#ask('status', { senderbusy });
    const story = library.find(id);
    if (!story) {
      this.leave();
      return;
    }
    this.idle = turn.idle || writer.running?.story === id;
    const number = `${turn.turn_major}.${turn.turn_minor}`;
    if (this.turn !== '' && number !== this.turn) await this.#receive(id);
    else if (!writer.running && !(this.#known && isSameText(story, this.#known))) await this.#send(story, !this.#known);
    else this.turn = number;
  }

  async #receive(id: string): Promise<void> {
    const data = await (await call('api/extra/multiplayer/getstory', { body: {} })).text();
    const theirs = storyOfShared({ data }, newId, Date.now());
    // Local changes that lost the race are one undo step away.
    library.change(id, (mine) => merged(mine, theirs), { undoable: true });
    this.#known = library.find(id);
    const { turn_major: major, turn_minor: minor } = await this.#ask('status', {});
    this.turn = `${major}.${minor}`;
  }

  async #send(story: Story, whole: boolean): Promise<void> {
    const { format, data } = sharedForm(story);
    const turn = await this.#ask('setstory', { full_update: whole, data_format: format, data });
    this.#known = story;
    this.turn = `${turn.turn_major}.${turn.turn_minor}`;
  }

  #ask(what: string, fields: object): Promise<Turn> {
    const sender = this.me.name.trim() || 'somebody';
    return read<Turn>(`api/extra/multiplayer/${what}`, { body: { sender, ...fields } });
  }
}

export const multiplayer = new Multiplayer();
