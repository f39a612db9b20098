import type { TakenCollection } from '../conversations/conversation.ts';
import { completions } from '../ui/completions.ts';

/** Collections that are named in a message as `#name`. All functions are pure. */

/** `#name` that is being typed before the caret. */
export interface Mention {
  readonly start: number;
  readonly query: string;
}

export function mentionAt(text: string, caret: number): Mention | undefined {
  const typed = /(?:^|\s)#([^\s#]{0,60})$/.exec(text.slice(Math.max(0, caret - 64), caret))?.[1];
  return typed === undefined ? undefined : { start: caret - typed.length - 1, query: typed };
}

/** Collections whose name is in a text as `#name`, longer names first: `#Trip notes` is not `#Trip`. */
export function mentioned<Item extends TakenCollection>(text: string, collections: readonly Item[]): readonly Item[] {
  let rest = text.toLowerCase();
  if (!rest.includes('#')) return [];
  return [...collections]
    .sort((a, b) => b.name.length - a.name.length)
    .filter(({ name }) => {
      const mark = `#${name.toLowerCase()}`;
      const isWhole = (at: number): boolean =>
        !/[\p{L}\p{N}]/u.test(rest[at + mark.length] ?? ' ') && /\s|^$/.test(rest[at - 1] ?? '');
      let found = false;
      for (let at = rest.indexOf(mark); name !== '' && at >= 0; at = rest.indexOf(mark, at + 1)) {
        if (!isWhole(at)) continue;
        found = true;
        rest = `${rest.slice(0, at)}${' '.repeat(mark.length)}${rest.slice(at + mark.length)}`;
      }
      return found;
    });
}

/** Collections for what is typed after `#`: those that begin with it first. */
export function matching<Item extends TakenCollection>(collections: readonly Item[], query: string): readonly Item[] {
  return completions(collections.toSorted(byName), query, ({ name }) => name);
}

const byName = (a: TakenCollection, b: TakenCollection): number => a.name.localeCompare(b.name);
