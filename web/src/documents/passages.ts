/** A part of a document that is found and sent by itself: a range of its text. */
export interface Passage {
  readonly start: number;
  readonly end: number;
  /** The heading or page above it. */
  readonly heading?: string;
}

/** In characters. The embedding model reads 512 tokens, which is more than this in most languages. */
const target = 1000;
/** A passage of this length ends at the next paragraph, and a shorter one at a heading. */
const enoughForParagraph = 700;
const enoughForHeading = 300;
const overlap = 160;
const maxUnit = 160;
const maxHeading = 120;

/** A sentence or line. Passages consist of whole units. */
interface Unit {
  readonly start: number;
  readonly end: number;
  /** What begins here. */
  readonly begins: 'sentence' | 'paragraph' | 'heading';
}

/**
 * Cuts a text into overlapping passages, preferably at headings and paragraphs. All text except white space is in a passage.
 * Yields now and then, so that a caller can let the page draw.
 */
export function* passagesOf(text: string): Generator<void, Passage[]> {
  const passages: Passage[] = [];
  let units: Unit[] = [];
  let heading: string | undefined;
  let passageHeading: string | undefined;
  let fresh = 0;
  const close = (): void => {
    const [first, last] = [units[0], units.at(-1)];
    if (first && last && fresh > 0) {
      const named = passageHeading === undefined ? {} : { heading: passageHeading };
      passages.push({ start: first.start, end: last.end, ...named });
    }
    fresh = 0;
  };
  let count = 0;
  for (const unit of unitsOf(text)) {
    count += 1;
    if (count % 500 === 0) yield;
    const length = unit.end - (units[0]?.start ?? unit.start);
    const had = (units.at(-1)?.end ?? unit.start) - (units[0]?.start ?? unit.start);
    if (unit.begins === 'heading' && had >= enoughForHeading) {
      close();
      units = [];
    } else if (length > target || (unit.begins === 'paragraph' && had >= enoughForParagraph)) {
      close();
      units = tailOf(units);
    }
    if (unit.begins === 'heading') heading = headingText(text.slice(unit.start, unit.end));
    if (units.length === 0 || fresh === 0) passageHeading = heading;
    units.push(unit);
    fresh += 1;
  }
  close();
  return passages;
}

/** The last units that the next passage repeats. */
function tailOf(units: readonly Unit[]): Unit[] {
  const end = units.at(-1)?.end ?? 0;
  const first = units.findIndex(({ start, begins }) => end - start <= overlap && begins !== 'heading');
  return first === -1 ? [] : units.slice(first);
}

function* unitsOf(text: string): Generator<Unit> {
  let blank = true;
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf('\n', from);
    const end = newline === -1 ? text.length : newline;
    const line = trimmedRange(text, from, end);
    from = end + 1;
    if (!line) {
      blank = true;
      continue;
    }
    const [start, stop] = line;
    const begins = isHeading(text, start, stop) ? 'heading' : blank ? 'paragraph' : 'sentence';
    blank = false;
    yield* sentencesOf(text, start, stop, begins);
  }
}

function* sentencesOf(text: string, start: number, stop: number, begins: Unit['begins']): Generator<Unit> {
  let from = start;
  let first = begins;
  while (from < stop) {
    const end = stop - from <= maxUnit ? stop : sentenceEnd(text, from, Math.min(stop, from + maxUnit));
    const range = trimmedRange(text, from, end);
    if (range) yield { start: range[0], end: range[1], begins: first };
    first = 'sentence';
    from = end;
  }
}

/** After the last sentence before `limit`, or else after the last word. */
function sentenceEnd(text: string, from: number, limit: number): number {
  let space = -1;
  for (let at = limit - 1; at > from; at -= 1) {
    const character = text[at] ?? '';
    if (/[。！？]/.test(character)) return at + 1;
    if (!/\s/.test(character)) continue;
    if (space === -1) space = at + 1;
    if (/[.!?…:;]/.test(text[at - 1] ?? '') || /[.!?…]["'”’)\]]/.test(text.slice(at - 2, at))) return at + 1;
  }
  if (space !== -1) return space;
  // Not between the two halves of a character.
  return /[\ud800-\udbff]/.test(text[limit - 1] ?? '') ? limit - 1 : limit;
}

function trimmedRange(text: string, from: number, to: number): [number, number] | undefined {
  let [start, end] = [from, to];
  while (start < end && /\s/.test(text[start] ?? '')) start += 1;
  while (end > start && /\s/.test(text[end - 1] ?? '')) end -= 1;
  return start < end ? [start, end] : undefined;
}

/** Headings of Markdown, and pages of a PDF. */
function isHeading(text: string, start: number, end: number): boolean {
  if (end - start > maxHeading) return false;
  return /^(#{1,6}\s+\S|\[Page \d+\]$|(chapter|part|book|section|kapitel|chapitre)\s+[\divxlc]+\b)/i.test(
    text.slice(start, end),
  );
}

function headingText(line: string): string {
  return line.replace(/^#+\s+|^\[|\]$/g, '').trim();
}

/** Ranges that overlap become one, in order, and those with two characters at most between them. */
export function mergedPassages(passages: readonly Passage[]): Passage[] {
  const merged: Passage[] = [];
  for (const passage of [...passages].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last && passage.start - last.end <= 2)
      merged[merged.length - 1] = { ...last, end: Math.max(last.end, passage.end) };
    else merged.push(passage);
  }
  return merged;
}
