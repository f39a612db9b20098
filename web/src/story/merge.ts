import { head, isSame, merge, type Shape } from '../saved/merge.ts';
import type { Branch, Passage, Story } from './story.ts';

/** Stories are stored and merged by passage. */
export const storyShape: Shape<Story> = {
  split: ({ passages, ...rest }) => ({
    ...Object.fromEntries(passages.map((passage) => [passage.id, passage])),
    [head]: { ...rest, order: passages.map(({ id }) => id) },
  }),
  join: ({ [head]: first, ...passages }) => {
    const { order, ...rest } = first as Omit<Story, 'passages'> & { readonly order: readonly string[] };
    return { ...rest, passages: order.flatMap((id) => (passages[id] as Passage | undefined) ?? []) };
  },
  merge: mergedStories,
};

/**
 * The changes of both sides. All passages are compared by id, those of other branches too, so that an edit finds its passage
 * wherever the other side has moved it. A passage that one side deleted and the other changed stays.
 */
export function mergedStories(base: Story | undefined, mine: Story, theirs: Story): Story {
  const keys = new BranchKeys(base, mine, theirs);
  const [before, own, other] = [base, mine, theirs].map((story) => story && flat(story, keys));
  if (!own || !other) return mine;
  const both = merge(before, own, other);
  const story = nested(both, [other.order, own.order]);
  return { ...story, passages: shared(mine, theirs, story.passages), changed: Math.max(mine.changed, theirs.changed) };
}

interface FlatBranch extends Omit<Branch, 'after'> {
  readonly id: string;
  readonly after: readonly string[];
}
interface FlatPassage extends Omit<Passage, 'branches' | 'shown'> {
  readonly branches: readonly FlatBranch[];
  /** Id of the shown branch. */
  readonly shown: string;
}
/** A story with references instead of passages within passages. */
interface FlatStory {
  readonly rest: Omit<Story, 'passages'>;
  readonly order: readonly string[];
  readonly passages: Readonly<Record<string, FlatPassage>>;
}

function flat({ passages, ...rest }: Story, keys: BranchKeys): FlatStory {
  const all: Record<string, FlatPassage> = {};
  const add = (list: readonly Passage[]): string[] =>
    list.map((passage) => {
      const ids = keys.of(passage);
      const branches = passage.branches.map(({ after = [], ...branch }, index) => ({
        ...branch,
        id: ids[index] ?? '',
        after: add(after),
      }));
      all[passage.id] = { ...passage, branches, shown: ids[passage.shown] ?? '' };
      return passage.id;
    });
  const order = add(passages);
  return { rest, order, passages: all };
}

/** Puts each passage where it belongs; those without a place after the passage that was before them. */
function nested({ rest, order, passages }: FlatStory, orders: readonly (readonly string[])[]): Story {
  const placed = new Set(order);
  for (const { branches } of Object.values(passages))
    for (const { after } of branches) for (const id of after) placed.add(id);
  const all = [...order];
  for (const id of Object.keys(passages)) {
    if (placed.has(id)) continue;
    const known = orders.find((one) => one.includes(id)) ?? [];
    const before = known.slice(0, known.indexOf(id)).findLast((one) => all.includes(one));
    all.splice(before === undefined ? (known.length > 0 ? 0 : all.length) : all.indexOf(before) + 1, 0, id);
  }
  const used = new Set(all);
  const build = (ids: readonly string[]): Passage[] =>
    ids.flatMap((id) => {
      const passage = passages[id];
      if (!passage) return [];
      const branches = passage.branches.map(({ id: _, after, ...branch }) => {
        const free = after.filter((one) => !used.has(one));
        for (const one of free) used.add(one);
        return free.length > 0 ? { ...branch, after: build(free) } : branch;
      });
      const shown = passage.branches.findIndex((branch) => branch.id === passage.shown);
      return [{ ...passage, branches, shown: Math.max(0, shown) }];
    });
  return { ...rest, passages: build(all) };
}

/** Branches have no ids: those with the same text are the same, and so is an edited one at the same place. */
class BranchKeys {
  readonly #keys = new Map<Passage, readonly string[]>();

  constructor(base: Story | undefined, mine: Story, theirs: Story) {
    const known = new Map<string, readonly (readonly [key: string, text: string])[]>();
    for (const [side, story] of [base, mine, theirs].entries())
      each(story?.passages ?? [], (passage) => {
        const before = known.get(passage.id) ?? [];
        const keys = aligned(before, passage, side);
        this.#keys.set(passage, keys);
        const fresh = keys.flatMap((key, index) =>
          before.some(([one]) => one === key) ? [] : [[key, passage.branches[index]?.text ?? ''] as const],
        );
        known.set(passage.id, [...before, ...fresh]);
      });
  }

  of(passage: Passage): readonly string[] {
    return this.#keys.get(passage) ?? [];
  }
}

function aligned(
  known: readonly (readonly [key: string, text: string])[],
  { branches }: Passage,
  side: number,
): string[] {
  const free = [...known];
  const keys = branches.map(({ text }) => {
    const at = free.findIndex(([, other]) => other === text);
    return at === -1 ? undefined : free.splice(at, 1)[0]?.[0];
  });
  // An edited branch is where it was in the base.
  return keys.map((key, index) => {
    if (key !== undefined) return key;
    return free.some(([one]) => one === `0.${index}`) ? `0.${index}` : `${side}.${index}`;
  });
}

function each(passages: readonly Passage[], visit: (passage: Passage) => void): void {
  for (const passage of passages) {
    visit(passage);
    for (const { after = [] } of passage.branches) each(after, visit);
  }
}

/** Equal passages stay the same objects. */
function shared(mine: Story, theirs: Story, passages: readonly Passage[]): readonly Passage[] {
  const known = new Map([...theirs.passages, ...mine.passages].map((passage) => [passage.id, passage]));
  return passages.map((passage) => {
    const before = known.get(passage.id);
    return before && isSame(before, passage) ? before : passage;
  });
}

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
