/** A token that is found in a text before anything else is, and parts it. */
export interface SpecialText {
  readonly text: string;
  /** Whether what stands before it stays as it is: some tokens swallow the spaces there. */
  readonly keepsBefore: boolean;
}

/**
 * The library takes a time that grows with the square of the special tokens in a text. What stands before one and what
 * begins with it are tokenized apart anyway, so that a text can be cut there without any change. Only marks serve that can
 * never be part of another one, nor run into it: `<a>` would not where `<<a>` is a token too.
 */
export function cuttingMarks(specials: readonly SpecialText[]): RegExp | undefined {
  const texts = [...new Set(specials.map(({ text }) => text))].filter((text) => text !== '');
  if (texts.length > mostMarks || texts.some(({ length }) => length > longestMark)) return undefined;
  const inside = new Set<string>();
  const ends = new Set<string>();
  for (const text of texts) {
    for (let start = 0; start < text.length; start++) {
      if (start > 0) ends.add(text.slice(start));
      for (let end = start + 1; end <= text.length; end++)
        if (end - start < text.length) inside.add(text.slice(start, end));
    }
  }
  const marks = specials.filter(({ text, keepsBefore }) => keepsBefore && text !== '' && !inside.has(text));
  const apart = marks.filter(({ text }) => !beginnings(text).some((beginning) => ends.has(beginning)));
  if (apart.length === 0) return undefined;
  return new RegExp(apart.map(({ text }) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
}

/** Vocabularies have some thousand of some dozen characters; to look at more would take longer than it saves. */
const mostMarks = 20_000;
const longestMark = 200;

/** The text in pieces of about this size or more, each but the first of which begins with a mark. */
export function cutAtMarks(text: string, marks: RegExp | undefined, size: number): readonly string[] {
  if (!marks || text.length <= size) return [text];
  const pieces: string[] = [];
  let start = 0;
  for (;;) {
    marks.lastIndex = start + size;
    const next = marks.exec(text)?.index;
    pieces.push(text.slice(start, next));
    if (next === undefined) return pieces;
    start = next;
  }
}

function beginnings(text: string): readonly string[] {
  return Array.from({ length: text.length - 1 }, (_, length) => text.slice(0, length + 1));
}
