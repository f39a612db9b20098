import { head, isSame, merge, type Shape } from './merge.ts';

/** The parts of a record that undo restores, in groups: values by key. */
export type Undoable = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A value before and after a change; undefined if there was none. */
type Change = readonly [before: unknown, after: unknown];
/** By group and key, joined by a dot. */
type Changes = Readonly<Record<string, Change>>;

/** A change that undo reverts as a whole. Only what was changed is kept, so that many steps use little memory. */
export interface Step {
  readonly id: string;
  readonly changes: Changes;
  /** Number of characters, about. */
  readonly size: number;
}

/** Undo history of one record. It is shared by all tabs: undo reverts the last change, wherever it was made. */
export interface History {
  readonly id: string;
  readonly past: readonly Step[];
  /** Undone steps, the last undone first. */
  readonly future: readonly Step[];
}

const maxSteps = 200;
const maxCharacters = 2_000_000;

export function emptyHistory(id: string): History {
  return { id, past: [], future: [] };
}

export function changesOf(before: Undoable, after: Undoable): Changes {
  const changes: Record<string, Change> = {};
  for (const group of Object.keys(after)) {
    const [old = {}, now = {}] = [before[group], after[group]];
    if (old === now) continue;
    for (const key in now)
      if (old[key] !== now[key] && !isSame(old[key], now[key])) changes[`${group}.${key}`] = [old[key], now[key]];
    for (const key in old)
      if (now[key] === undefined && old[key] !== undefined) changes[`${group}.${key}`] = [old[key], undefined];
  }
  return changes;
}

/** Adds a step; redo is no longer possible. */
export function remember(history: History, id: string, changes: Changes): History {
  if (Object.keys(changes).length === 0) return history;
  return bounded({ ...history, past: [...history.past, { id, changes, size: sizeOf(changes) }], future: [] });
}

/** Adds a change that has no step of its own to the last step, which undo reverts with it. */
export function extend(history: History, changes: Changes): History {
  const last = history.past.at(-1);
  if (!last) return history;
  // The values after a step are taken when it is undone; only the order of a list is needed before.
  const more = Object.entries(changes).flatMap(([key, [before, after]]): [string, Change][] => {
    const known = last.changes[key];
    if (!known) return [[key, [before, after]]];
    return Array.isArray(after) ? [[key, [known[0], after]]] : [];
  });
  if (more.length === 0) return history;
  const all = { ...last.changes, ...Object.fromEntries(more) };
  return bounded({ ...history, past: history.past.with(-1, { ...last, changes: all, size: sizeOf(all) }) });
}

/** The history and the record after undo. */
export function undo(history: History, now: Undoable): [History, Undoable] | undefined {
  const step = history.past.at(-1);
  if (!step) return undefined;
  const changes = mapped<Change>(step.changes, ([before], key) => [before, valueAt(now, key)]);
  const restored = mapped(step.changes, ([before, after], key) => without(valueAt(now, key), after, before));
  return [
    { ...history, past: history.past.slice(0, -1), future: [{ ...step, changes }, ...history.future] },
    applied(now, restored),
  ];
}

export function redo(history: History, now: Undoable): [History, Undoable] | undefined {
  const [step, ...future] = history.future;
  if (!step) return undefined;
  const changes = mapped<Change>(step.changes, ([, after], key) => [valueAt(now, key), after]);
  const restored = mapped(step.changes, ([before, after], key) => without(valueAt(now, key), before, after));
  return [{ ...history, past: [...history.past, { ...step, changes }], future }, applied(now, restored)];
}

/** In lists, items that were added since are kept. */
function without(now: unknown, changed: unknown, wanted: unknown): unknown {
  return Array.isArray(now) && Array.isArray(wanted) ? merge<unknown>(changed, now, wanted) : wanted;
}

function valueAt(now: Undoable, key: string): unknown {
  const dot = key.indexOf('.');
  return now[key.slice(0, dot)]?.[key.slice(dot + 1)];
}

function applied(now: Undoable, values: Readonly<Record<string, unknown>>): Undoable {
  const groups: Record<string, Record<string, unknown>> = {};
  for (const group of Object.keys(now)) groups[group] = { ...now[group] };
  for (const [key, value] of Object.entries(values)) {
    const dot = key.indexOf('.');
    const group = groups[key.slice(0, dot)] ?? {};
    if (value === undefined) delete group[key.slice(dot + 1)];
    else group[key.slice(dot + 1)] = value;
  }
  return groups;
}

function mapped<Result>(changes: Changes, make: (change: Change, key: string) => Result): Record<string, Result> {
  return Object.fromEntries(Object.entries(changes).map(([key, change]) => [key, make(change, key)]));
}

function bounded(history: History): History {
  let past = history.past.slice(-maxSteps);
  let size = past.reduce((sum, step) => sum + step.size, 0);
  while (past.length > 1 && size > maxCharacters) {
    size -= past[0]?.size ?? 0;
    past = past.slice(1);
  }
  return { ...history, past };
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (value instanceof Blob) return value.size;
  let size = 16;
  for (const [name, one] of Object.entries(value)) size += name.length + sizeOf(one);
  return size;
}

/** Stored by step. */
export const historyShape: Shape<History> = {
  split: ({ id, past, future }) => ({
    ...Object.fromEntries([...past, ...future].map((step) => [step.id, step])),
    [head]: { id, past: past.map((step) => step.id), future: future.map((step) => step.id) },
  }),
  join: (parts) => {
    const { id, past, future } = parts[head] as Record<'past' | 'future', string[]> & { id: string };
    const steps = (ids: readonly string[]): Step[] => ids.flatMap((one) => (parts[one] as Step | undefined) ?? []);
    return { id, past: steps(past), future: steps(future) };
  },
  merge: (base, mine, theirs) => {
    const both = merge(base, mine, theirs);
    const known = new Set(both.past.map(({ id }) => id));
    return bounded({ ...both, future: both.future.filter(({ id }) => !known.has(id)) });
  },
};
