import { fieldsOf, jsonIn } from '../api/loose.ts';
import { draft } from '../saved/drafts.ts';
import { persistedState } from '../saved/persisted-state.svelte.ts';
import { piecesOf } from '../story/layout.ts';
import { library } from '../story/library.svelte.ts';
import { editPart, partBefore } from '../story/passages.ts';
import type { Mode } from '../story/story.ts';
import type { ActionKind } from '../story/turns.ts';

/** Page settings, kept in the browser. */
export const pageSettings = persistedState<{
  notes: boolean;
  mode: Mode;
  action: ActionKind;
  /** Replies come with the probabilities of their tokens. Chats have their own setting. */
  probabilities: boolean;
}>('parley.write', { notes: true, mode: 'story', action: 'do', probabilities: false });

/** The part of a passage that is being edited. Its text is newer than the story until it is saved. */
interface Editing {
  readonly story: string;
  readonly passage: string;
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly text: string;
}

const editDraft = draft('write.edit');

class Editor {
  now = $state.raw<Editing>();

  begin(editing: Omit<Editing, 'text' | 'before'>, text: string): void {
    this.finish();
    this.now = { ...editing, before: text, text };
  }

  /** Saved on each key, so that a crash loses nothing. */
  typed(text: string): void {
    if (!this.now) return;
    // Mutated in place: the page must not be rendered again on each key.
    Object.assign(this.now, { text });
    editDraft.write(JSON.stringify(this.now));
  }

  finish(): void {
    const { now } = this;
    if (!now) return;
    this.now = undefined;
    editDraft.write('');
    put(now);
  }

  cancel(): void {
    this.now = undefined;
    editDraft.write('');
  }

  /** Backspace at the start: joins with the text before. */
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

  /** Moves to the paragraph before or after. */
  move(by: 1 | -1): void {
    const { now } = this;
    if (!now) return;
    this.finish();
    const pieces = library.find(now.story)?.passages.flatMap(piecesOf) ?? [];
    const at = pieces.findIndex(({ passage, start }) => passage === now.passage && start === now.start);
    const next = pieces[at + by];
    if (next) this.openAt(now.story, next.passage, by > 0 ? next.start : next.end);
  }

  /** Opens the paragraph at this offset, with the caret there. */
  openAt(story: string, passage: string, offset: number): void {
    const edited = library.find(story)?.passages.find(({ id }) => id === passage);
    const piece = edited && piecesOf(edited).findLast(({ start }) => start <= offset);
    if (!piece) return;
    pendingCaret.at = offset - piece.start;
    this.begin({ story, passage, start: piece.start, end: piece.end }, piece.text);
  }

  /** Applies an edit that a closed page left behind. */
  recover(): void {
    const left = fieldsOf(jsonIn(editDraft.read()));
    if (typeof left.text === 'string') put(left as unknown as Editing);
    editDraft.write('');
  }
}

function put({ story, passage, start, end, before, text }: Editing): void {
  if (text === before) return;
  library.change(
    story,
    (now) => {
      const at = now.passages.find(({ id }) => id === passage);
      const old = at?.branches[at.shown]?.text.slice(start, end);
      // Changed meanwhile in another tab or by undo.
      if (old !== before) return now;
      return editPart(now, passage, start, end, text);
    },
    { undoable: true },
  );
}

export const editor = new Editor();

/** Caret position for the editor that opens next. */
export const pendingCaret = {
  at: undefined as number | undefined,
  take(): number | undefined {
    const { at } = this;
    this.at = undefined;
    return at;
  },
};
