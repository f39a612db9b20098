/** A part of a story: what somebody says, or what is told about it. */
export interface StoryPart {
  readonly kind: 'speech' | 'narration';
  readonly text: string;
}

type Kind = StoryPart['kind'];

/** What ends speech that a mark begins. German closes with the mark that opens English, and turns French ones around. */
const closing: Readonly<Record<string, string>> = {
  '"': '"',
  '“': '”',
  '„': '“”',
  '”': '”',
  '«': '»',
  '»': '«»',
  '「': '」',
  '『': '』',
};

/**
 * The speech and the narration of a text, in order; together they are the text. Speech is in quotation marks, with the marks of many
 * languages. Without any, a text with *actions* is speech between them; other texts are all of the kind `plain`. Speech that is not closed
 * ends with its paragraph.
 */
export function splitNarration(text: string, plain: Kind): readonly StoryPart[] {
  const paragraphs = text.split(/(?<=\n)/);
  const quoted = paragraphs.map(quotedParts);
  if (quoted.some((parts) => parts.some(({ kind }) => kind === 'speech'))) return merged(quoted.flat());
  const acted = paragraphs.map(actedParts);
  if (acted.some((parts) => parts.some(({ kind }) => kind === 'narration'))) return merged(acted.flat());
  return text === '' ? [] : [{ kind: plain, text }];
}

function quotedParts(paragraph: string): StoryPart[] {
  const parts: StoryPart[] = [];
  let start = 0;
  let open = '';
  /** Marks of the same kind inside of speech. */
  let depth = 0;
  const cut = (end: number, kind: Kind): void => {
    if (end > start) parts.push({ kind, text: paragraph.slice(start, end) });
    start = end;
  };
  for (let index = 0; index < paragraph.length; index += 1) {
    const mark = paragraph[index] as string;
    if (open === '') {
      if (!opens(paragraph, index)) continue;
      cut(index, 'narration');
      open = mark;
      depth = 0;
    } else if (closing[open]?.includes(mark)) {
      depth -= 1;
      if (depth >= 0) continue;
      cut(index + 1, 'speech');
      open = '';
    } else if (mark === open) depth += 1;
  }
  cut(paragraph.length, open === '' || paragraph.slice(start + 1).trim() === '' ? 'narration' : 'speech');
  return parts;
}

/** Marks that look the same at both ends open only before a word: after a digit, `"` means inches. */
function opens(text: string, index: number): boolean {
  const mark = text[index] as string;
  if (!Object.hasOwn(closing, mark)) return false;
  const next = text[index + 1] ?? '';
  if (mark === '"') return /\S/.test(next) && !/[\p{L}\p{N}]/u.test(text[index - 1] ?? '');
  // At the end of speech that an earlier paragraph began.
  if (mark === '”' || mark === '»') return /[\p{L}\p{N}¡¿…*–—-]/u.test(next);
  return true;
}

/** One star on each side, on one line. */
const starred = /(?<![*\p{L}\p{N}\\])\*(?![*\s])[^*\n]+(?<![\s*\\])\*(?![*\p{L}\p{N}])/gu;

function actedParts(paragraph: string): StoryPart[] {
  const parts: StoryPart[] = [];
  let start = 0;
  for (const { 0: found, index } of paragraph.matchAll(starred)) {
    const end = index + found.length;
    if (!isAction(paragraph.slice(start, index), paragraph.slice(end))) continue;
    if (index > start) parts.push({ kind: 'speech', text: paragraph.slice(start, index) });
    parts.push({ kind: 'narration', text: found });
    start = end;
  }
  if (start < paragraph.length) parts.push({ kind: 'speech', text: paragraph.slice(start) });
  return parts;
}

/** An emphasised word is in the middle of a sentence; an action is beside sentences. */
function isAction(before: string, after: string): boolean {
  const last = before.trimEnd().at(-1);
  return last === undefined || after.trim() === '' || /[.!?…。！？~:;–—-]/.test(last);
}

/** Neighbours of one kind as one; what has no letters belongs to its neighbour. */
function merged(parts: readonly StoryPart[]): readonly StoryPart[] {
  const joined: StoryPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const silent = !/[\p{L}\p{N}]/u.test(part.text);
    if (last && (silent || last.kind === part.kind))
      joined[joined.length - 1] = { ...last, text: last.text + part.text };
    else joined.push(part);
  }
  return joined;
}
