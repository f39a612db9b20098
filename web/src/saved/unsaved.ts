import { fieldsOf, jsonIn, listIn } from '../api/loose.ts';
import { type Parts, patched, patchOf, type Shape } from './merge.ts';

/** A change that was not in the database when its page closed: each changed part before and after, null for none. */
interface UnsavedChange {
  readonly id: string;
  readonly parts: Readonly<Record<string, readonly [before: unknown, after: unknown]>>;
}

/**
 * Changes that are not saved yet, in local storage: a closing page does not wait for the database, but local storage is
 * synchronous. Each tab has its own entry, and removes it when all is saved.
 */
export function unsavedChanges<Kept extends { readonly id: string }>(kind: string, tab: string, shape: Shape<Kept>) {
  const prefix = `parley.unsaved.${kind}.`;
  const own = prefix + tab;
  return {
    /** The stored state, if any, and the state on the page. */
    write(changes: readonly (readonly [stored: Kept | undefined, now: Kept])[]): void {
      const list = changes.map(([stored, now]) => changeOf(shape, stored, now));
      try {
        if (list.length === 0) localStorage.removeItem(own);
        // Files are too large; their message is kept.
        else
          localStorage.setItem(
            own,
            JSON.stringify(list, (_, value) => (value instanceof Blob ? undefined : value)),
          );
      } catch {
        // Larger than the storage; the database may still be written.
      }
    },
    clear(): void {
      localStorage.removeItem(own);
    },
    /** Removes and returns the changes that closed pages left. */
    take(): UnsavedChange[] {
      const names = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index) ?? '');
      return names
        .filter((name) => name.startsWith(prefix) && name !== own)
        .flatMap((name) => {
          const text = localStorage.getItem(name) ?? '[]';
          localStorage.removeItem(name);
          return changesIn(text);
        });
    },
    /** The stored record with the change. Where another tab has changed the same since, that is kept. */
    apply(stored: Kept | undefined, { parts }: UnsavedChange): Kept {
      const now = stored ? shape.split(stored) : {};
      const side = (index: 0 | 1): Parts =>
        patched(now, {
          set: Object.fromEntries(
            Object.entries(parts).flatMap(([name, pair]) => (pair[index] === null ? [] : [[name, pair[index]]])),
          ),
          gone: Object.entries(parts).flatMap(([name, pair]) => (pair[index] === null ? [name] : [])),
        });
      if (!stored) return shape.join(side(1));
      return shape.merge(shape.join(side(0)), stored, shape.join(side(1)));
    },
  };
}

function changeOf<Kept extends { readonly id: string }>(
  { split }: Shape<Kept>,
  stored: Kept | undefined,
  now: Kept,
): UnsavedChange {
  const before = stored ? split(stored) : {};
  const { set, gone } = patchOf(before, split(now));
  const names = [...Object.keys(set), ...gone];
  return {
    id: now.id,
    parts: Object.fromEntries(names.map((name) => [name, [before[name] ?? null, set[name] ?? null]])),
  };
}

function changesIn(text: string): UnsavedChange[] {
  const isChange = (one: unknown): one is UnsavedChange =>
    typeof fieldsOf(one).id === 'string' && typeof fieldsOf(one).parts === 'object';
  return listIn(jsonIn(text)).filter(isChange);
}
