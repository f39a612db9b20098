import { literal } from './gbnf.ts';

export interface Branch {
  /** None may begin with the whole of another. */
  readonly text: string;
  /** What follows it, in GBNF. */
  readonly follows: string;
}

/**
 * One of several texts, each with what follows it. What they have in common at their beginnings is written once: the
 * engine follows alternatives that begin alike side by side, at the cost of each.
 */
export function prefixTree(branches: readonly Branch[]): string {
  const byFirst = new Map<string, Spelled[]>();
  for (const { text, follows } of branches) {
    const letters = [...text];
    const first = letters[0] ?? '';
    byFirst.set(first, [...(byFirst.get(first) ?? []), { letters, follows }]);
  }
  const options = [...byFirst.values()].map(grown);
  return options.length === 1 ? (options[0] as string) : `( ${options.join(' | ')} )`;
}

interface Spelled {
  readonly letters: readonly string[];
  readonly follows: string;
}

/** Texts that begin with the same letter. */
function grown(texts: readonly Spelled[]): string {
  const [first, ...others] = texts as [Spelled, ...Spelled[]];
  if (others.length === 0) return sequence(first.letters, first.follows);
  const differs = first.letters.findIndex((letter, index) => others.some(({ letters }) => letters[index] !== letter));
  const common = differs === -1 ? first.letters.length : differs;
  const rests = texts.map(({ letters, follows }) => ({ text: letters.slice(common).join(''), follows }));
  return sequence(first.letters.slice(0, common), prefixTree(rests));
}

function sequence(letters: readonly string[], follows: string): string {
  return letters.length === 0 ? follows : `${literal(letters.join(''))} ${follows}`;
}
