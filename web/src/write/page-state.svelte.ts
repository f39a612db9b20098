import { draft } from '../saved/drafts.ts';
import { persistedState } from '../saved/persisted-state.svelte.ts';
import { piecesOf } from '../story/layout.ts';
import { editPart, partBefore } from '../story/passages.ts';
import type { Mode } from '../story/story.ts';
import type { ActionKind } from '../story/turns.ts';
import { library } from './library.svelte.ts';

/** What is open and shown, kept for the next visit. */
export const pageSettings = persistedState<{ notes: boolean; mode: Mode; action: ActionKind }>('parley.write', {
  notes: true,
  mode: 'story',
  action: 'do',
});

/** A part of a passage that somebody is changing. The text on the page is the newest one until it is put back. */
export interface Editing {
  readonly story: string;
  readonly passage: string;
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly text: string;
}

const kept = draft('write.edit');

class Editor {
  now = $state.raw<Editing>();

  begin(editing: Omit<Editing, 'text' | 'before'>, text: string): void {
    this.finish();
    this.now = { ...editing, before: text, text };
  }

  /** Each key is written down at once, so that a crash takes nothing. */
  typed(text: string): void {
    if (!this.now) return;
    // No new object for each key: nobody but the draft wants to know.
    Object.assign(this.now, { text });
    kept.write(JSON.stringify(this.now));
  }

  finish(): void {
    const { now } = this;
    if (!now) return;
    this.now = undefined;
    kept.write('');
    put(now);
  }

  cancel(): void {
    this.now = undefined;
    kept.write('');
  }

  /** Backspace at the very beginning: one with what stands before it. */
  joinWithLast(): void {
    const { now } = this;
    if (!now) return;
    this.finish();
    const story = library.find(now.story);
    const before = story && partBefore(story, now.passage, now.start);
    if (!story || !before) return;
    const end = before.end - 1;
    library.change(now.story, (old) => editPart(old, before.passage, end, before.end, ''), { undoable: true });
    this.openAt(now.story, before.passage, end);
  }

  /** To the paragraph before or after this one. */
  move(by: 1 | -1): void {
    const { now } = this;
    if (!now) return;
    this.finish();
    const pieces = library.find(now.story)?.passages.flatMap(piecesOf) ?? [];
    const at = pieces.findIndex(({ passage, start }) => passage === now.passage && start === now.start);
    const next = pieces[at + by];
    if (next) this.openAt(now.story, next.passage, by > 0 ? next.start : next.end);
  }

  /** Opens the part of a passage in which this character stands, with the caret there. */
  openAt(story: string, passage: string, offset: number): void {
    const found = library.find(story)?.passages.find(({ id }) => id === passage);
    const piece = found && piecesOf(found).findLast(({ start }) => start <= offset);
    if (!piece) return;
    pendingCaret.at = offset - piece.start;
    this.begin({ story, passage, start: piece.start, end: piece.end }, piece.text);
  }

  /** What was being changed when the page went away. */
  recover(): void {
    try {
      const left = JSON.parse(kept.read() || 'null') as Editing | null;
      if (left && typeof left.text === 'string') put(left);
    } catch {
      // Nothing that could be read.
    }
    kept.write('');
  }
}

function put({ story, passage, start, end, before, text }: Editing): void {
  if (text === before) return;
  library.change(
    story,
    (now) => {
      const at = now.passages.find(({ id }) => id === passage);
      const old = at?.branches[at.shown]?.text.slice(start, end);
      // It has changed meanwhile, in another window or by an undo.
      if (old !== before) return now;
      return editPart(now, passage, start, end, text);
    },
    { undoable: true },
  );
}

export const editor = new Editor();

/** Where the caret goes in the text that is opened next. */
export const pendingCaret = {
  at: undefined as number | undefined,
  take(): number | undefined {
    const { at } = this;
    this.at = undefined;
    return at;
  },
};
