/** Messages longer than this are folded. Replies are read in full more often than pasted texts. */
const limits = {
  user: { characters: 6000, lines: 60 },
  assistant: { characters: 50_000, lines: 1000 },
} as const;
const headCharacters = 1500;
const headLines = 15;
/** A part of an opened message ends at the first empty line after `minPart` characters, at a line end after `maxPart` of them. */
const minPart = 4000;
const maxPart = 8000;

export function isLong(text: string, role: keyof typeof limits): boolean {
  const { characters, lines } = limits[role];
  return text.length > characters || nthLineEnd(text, lines) < text.length;
}

/** The start of a long message. */
export function headOf(text: string): string {
  const end = Math.min(headCharacters, nthLineEnd(text, headLines));
  if (end >= text.length) return text;
  const line = text.lastIndexOf('\n', end);
  return text.slice(0, line > headCharacters / 3 ? line : withoutHalf(text, end));
}

/** A part of a long message. `markdown` opens a code block again that began in an earlier part. */
export interface Part {
  readonly offset: number;
  readonly markdown: string;
}

/** Splits a text into parts that can each be rendered without blocking the page. */
export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  /** The line that opened the code block at this position; empty outside of code. */
  let fence = '';
  let fenceAtStart = '';
  let start = 0;
  const cut = (end: number): void => {
    if (end <= start) return;
    parts.push({ offset: start, markdown: fenceAtStart + text.slice(start, end) });
    start = end;
    fenceAtStart = fence;
  };
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf('\n', from);
    const end = newline === -1 ? text.length : newline + 1;
    if (end - start > maxPart) cut(from);
    while (end - start > maxPart) cut(withoutHalf(text, start + maxPart));
    // Longer lines are neither empty nor fences.
    const line = end - from > 200 ? text.slice(from, from + 200) : text.slice(from, end).trimEnd();
    fence = fenceAfter(fence, line);
    if (line === '' && fence === '' && end - start > minPart) cut(end);
    from = end;
  }
  cut(text.length);
  return parts;
}

/** The open code block after a line. */
function fenceAfter(fence: string, line: string): string {
  const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
  if (marks === undefined) return fence;
  if (fence === '') return `${line}\n`;
  const opening = /`{3,}|~{3,}/.exec(fence)?.[0] ?? '';
  return marks.startsWith(opening) && line.trim() === marks ? '' : fence;
}

/** Index of the part with this character. */
export function partAt(parts: readonly Part[], offset: number): number {
  const index = parts.findLastIndex((part) => part.offset <= offset);
  return Math.max(0, index);
}

export function sizeText(text: string): string {
  if (text.length >= 1e6) return `${(text.length / 1e6).toFixed(1)} MB`;
  return `${Math.max(1, Math.round(text.length / 1000))} KB`;
}

/** Does not cut a surrogate pair. */
function withoutHalf(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code < 0xdc00 ? end - 1 : end;
}

function nthLineEnd(text: string, count: number): number {
  let at = -1;
  for (let seen = 0; seen < count; seen += 1) {
    at = text.indexOf('\n', at + 1);
    if (at === -1) return text.length;
  }
  return at;
}
