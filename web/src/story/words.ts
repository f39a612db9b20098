import { type Passage, type Story, textOf } from './story.ts';

const counted = new WeakMap<Passage, number>();

/** How many words the text has. Passages do not change, so each is counted once. */
export function wordsOf({ passages }: Pick<Story, 'passages'>): number {
  let words = 0;
  for (const passage of passages) {
    let count = counted.get(passage);
    if (count === undefined) {
      count = textOf(passage).match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*/gu)?.length ?? 0;
      counted.set(passage, count);
    }
    words += count;
  }
  return words;
}
