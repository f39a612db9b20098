import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changesOf, emptyHistory, redo, remember, type Undoable, undo } from '../saved/history.ts';
import { addBranch, append, chooseBranch, editPart, removeBranch } from './passages.ts';
import { newPassage, type Passage, type Story, textOf } from './story.ts';
import { storyOfTexts } from './testing/stories.ts';

type Step = readonly [what: 'append' | 'edit' | 'branch' | 'choose' | 'remove', at: number, text: string];

function after(story: Story, [what, at, text]: Step, index: number): Story {
  const passage = story.passages[at % Math.max(1, story.passages.length)];
  if (!passage || what === 'append') return append(story, newPassage(`n${index}`, 'model', text));
  const { id } = passage;
  if (what === 'edit') return editPart(story, id, 0, Math.min(at, textOf(passage).length), text);
  if (what === 'branch') return addBranch(story, id, text);
  return what === 'choose' ? chooseBranch(story, id, at % passage.branches.length) : removeBranch(story, id);
}

const partsOf = (passages: readonly Passage[]): Undoable => ({
  passages: Object.fromEntries(passages.map((one) => [one.id, one])),
  lists: { order: passages.map(({ id }) => id) },
});
const passagesOf = ({ passages = {}, lists = {} }: Undoable) =>
  (lists.order as readonly string[]).map((id) => passages[id]);

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('append', 'edit', 'branch', 'choose', 'remove'),
  fc.nat(7),
  fc.constantFrom('x', 'A line.\n\n', ''),
);

test('undo: goes back through every state of a story, and redo forth again', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      let story = storyOfTexts(['One.', 'me:Two.', 'Three.']);
      let history = emptyHistory('s');
      const states = [story.passages];
      for (const [index, one] of steps.entries()) {
        const next = after(story, one, index);
        if (next.passages === story.passages) continue;
        const changes = changesOf(partsOf(story.passages), partsOf(next.passages));
        if (Object.keys(changes).length === 0) continue;
        history = remember(history, `${index}`, changes);
        story = next;
        states.push(story.passages);
      }
      let now = partsOf(story.passages);
      for (const expected of states.slice(0, -1).reverse()) {
        [history, now] = undo(history, now) ?? [history, {}];
        expect(passagesOf(now)).toEqual(expected);
      }
      expect(undo(history, now)).toBeUndefined();
      for (const expected of states.slice(1)) {
        [history, now] = redo(history, now) ?? [history, {}];
        expect(passagesOf(now)).toEqual(expected);
      }
    }),
  );
});

test('passages: always show an existing branch, with unique ids', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      let story = storyOfTexts(['One.', 'Two.']);
      for (const [index, one] of steps.entries()) story = after(story, one, index);
      for (const { branches, shown } of story.passages) expect(branches[shown]).toBeDefined();
      const ids = story.passages.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    }),
  );
});
