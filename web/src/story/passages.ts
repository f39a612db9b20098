import { type Branch, branchOf, newPassage, type Passage, type Story, textOf } from './story.ts';

/** Edits of a story. Each returns a new story; the old one stays in the undo history. */

function withPassages(story: Story, passages: readonly Passage[]): Story {
  return { ...story, passages };
}

export function append(story: Story, ...passages: readonly Passage[]): Story {
  return withPassages(story, [...story.passages, ...passages]);
}

export function withText(passage: Passage, text: string, choices?: Branch['choices']): Passage {
  const { after } = branchOf(passage);
  const branch: Branch = { text, ...(choices ? { choices } : {}), ...(after ? { after } : {}) };
  return { ...passage, branches: passage.branches.map((one, index) => (index === passage.shown ? branch : one)) };
}

export function replacePassage(story: Story, id: string, change: (passage: Passage) => Passage): Story {
  const at = indexOf(story, id);
  const old = story.passages[at];
  if (!old) return story;
  const changed = change(old);
  return changed === old ? story : withPassages(story, story.passages.with(at, changed));
}

/** Replaces the text from `start` to `end`. A passage without text is removed. */
export function editPart(story: Story, id: string, start: number, end: number, text: string): Story {
  const at = indexOf(story, id);
  const passage = story.passages[at];
  if (!passage) return story;
  const old = textOf(passage);
  const edited = old.slice(0, start) + text + old.slice(end);
  if (edited === old) return story;
  if (edited === '' && passage.branches.length === 1) return removePassage(story, id);
  return withPassages(story, story.passages.with(at, withText(passage, edited)));
}

/** The text directly before this offset: in the same passage, or the whole passage before. */
export function partBefore(story: Story, id: string, start: number): { passage: string; end: number } | undefined {
  if (start > 0) return { passage: id, end: start };
  const before = story.passages[indexOf(story, id) - 1];
  return before ? { passage: before.id, end: textOf(before).length } : undefined;
}

export function removePassage(story: Story, id: string): Story {
  return withPassages(
    story,
    story.passages.filter((passage) => passage.id !== id),
  );
}

/** Adds a branch. The passages after the old branch are stored with it and return when it is chosen again. */
export function addBranch(story: Story, id: string, text: string): Story {
  const at = indexOf(story, id);
  const passage = story.passages[at];
  if (!passage) return story;
  const left = leave(passage, story.passages.slice(at + 1));
  const next: Passage = { ...left, branches: [...left.branches, { text }], shown: left.branches.length };
  return withPassages(story, [...story.passages.slice(0, at), next]);
}

export function chooseBranch(story: Story, id: string, index: number): Story {
  const at = indexOf(story, id);
  const passage = story.passages[at];
  if (!passage || index === passage.shown || !passage.branches[index]) return story;
  const left = leave(passage, story.passages.slice(at + 1));
  const { after = [], ...branch } = left.branches[index] as Branch;
  const next: Passage = { ...left, branches: left.branches.with(index, branch), shown: index };
  return withPassages(story, [...story.passages.slice(0, at), next, ...after]);
}

/** Removes the shown branch, or the passage if it has no other branch. */
export function removeBranch(story: Story, id: string): Story {
  const at = indexOf(story, id);
  const passage = story.passages[at];
  if (!passage) return story;
  if (passage.branches.length === 1) return removePassage(story, id);
  const chosen = chooseBranch(story, id, passage.shown === 0 ? 1 : passage.shown - 1);
  return replacePassage(chosen, id, (now) => {
    const branches = now.branches.filter((_, index) => index !== passage.shown);
    return { ...now, branches, shown: now.shown > passage.shown ? now.shown - 1 : now.shown };
  });
}

const comfortable = 4000;

/**
 * Splits a long text into passages at paragraph ends. Each is small enough to render and edit; joined, they are the
 * original text.
 */
export function split(text: string, by: Passage['by'], id: () => string): Passage[] {
  const passages: Passage[] = [];
  let start = 0;
  while (start < text.length) {
    let end = text.length;
    if (end - start > comfortable) {
      const newline = text.lastIndexOf('\n', start + comfortable);
      const next = newline > start ? newline : text.indexOf('\n', start + comfortable);
      if (next !== -1) {
        end = next + 1;
        while (text[end] === '\n') end += 1;
      }
    }
    passages.push(newPassage(id(), by, text.slice(start, end)));
    start = end;
  }
  return passages;
}

function leave(passage: Passage, after: readonly Passage[]): Passage {
  const { text, choices } = branchOf(passage);
  const branch: Branch = { text, ...(choices ? { choices } : {}), ...(after.length > 0 ? { after } : {}) };
  return { ...passage, branches: passage.branches.with(passage.shown, branch) };
}

function indexOf(story: Story, id: string): number {
  const last = story.passages.length - 1;
  return story.passages[last]?.id === id ? last : story.passages.findIndex((passage) => passage.id === id);
}
