import { isSame, merge } from './merge.ts';

/** A record in parts that are stored apart, so that a change writes only what changed. */
export type Parts = Readonly<Record<string, unknown>>;

/** How the records of a collection are stored and merged. */
export interface Shape<Kept> {
  /** The part `head` has everything that is not in other parts. Unchanged parts must stay the same objects. */
  readonly split: (record: Kept) => Parts;
  readonly join: (parts: Parts) => Kept;
  /** See `merge`; without a base, `mine` is the newer one. */
  readonly merge: (base: Kept | undefined, mine: Kept, theirs: Kept) => Kept;
}

/** Name of the part with the other fields; ids have no dots. */
export const head = '.head';

/** Stored as a whole, merged by field. */
export function plainShape<Kept>(): Shape<Kept> {
  return {
    split: (record) => ({ [head]: record }),
    join: (parts) => parts[head] as Kept,
    merge,
  };
}

/** The parts that were changed or added, and those that were removed. */
export interface Patch {
  readonly set: Parts;
  readonly gone: readonly string[];
}

export function patchOf(before: Parts, after: Parts): Patch {
  const set: Record<string, unknown> = {};
  for (const name in after) if (!isSame(before[name], after[name])) set[name] = after[name];
  return { set, gone: Object.keys(before).filter((name) => after[name] === undefined) };
}

export function patched(parts: Parts, { set, gone }: Patch): Parts {
  const next: Record<string, unknown> = { ...parts, ...set };
  for (const name of gone) delete next[name];
  return next;
}

export function patchSize({ set, gone }: Patch): number {
  return Object.keys(set).length + gone.length;
}
