import type { Passage, Story } from './story.ts';

/**
 * Takes over the story of another person under the local id. Equal passages stay the same objects, so that the page renders
 * only what is new. The prefill and the running reply of this page are kept.
 */
export function merged(mine: Story, theirs: Story): Story {
  const { pending } = mine;
  return {
    ...theirs,
    id: mine.id,
    changed: mine.changed,
    prefill: mine.prefill,
    passages: theirs.passages.map((passage, index) => same(mine.passages[index], passage) ?? passage),
    ...(pending ? { pending } : {}),
  };
}

/** True if two states have the same shared content. */
export function isSameText(a: Story, b: Story): boolean {
  return (
    a.passages.length === b.passages.length &&
    a.passages.every((passage, index) => same(passage, b.passages[index]) !== undefined) &&
    JSON.stringify(rest(a)) === JSON.stringify(rest(b))
  );
}

function same(mine: Passage | undefined, theirs: Passage | undefined): Passage | undefined {
  if (mine === theirs) return mine;
  if (!mine || !theirs || mine.by !== theirs.by || mine.shown !== theirs.shown || mine.name !== theirs.name)
    return undefined;
  if (mine.branches.length !== theirs.branches.length) return undefined;
  return mine.branches.every(({ text }, index) => text === theirs.branches[index]?.text) ? mine : undefined;
}

/** Ids of world info entries are created on reading and do not count. */
function rest({ title, mode, memory, note, world, worldDepth, them, oneLine, stops }: Story): object {
  return {
    title,
    mode,
    memory,
    note,
    world: world.map((entry) => ({ ...entry, id: '' })),
    worldDepth,
    them,
    oneLine,
    stops,
  };
}
