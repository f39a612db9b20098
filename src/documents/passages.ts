import type { Chunking, ExtractedDocument, PassageLocation, Section } from '../core/documents.ts';
import { type Block, blocksOf, passageSizes } from './blocks.ts';
import { estimateTokens } from './tokens.ts';

/** A part of a document that is searched and shown by itself. */
export interface PassageSpan extends PassageLocation {
  /** The header of its table, which is repeated before its rows. */
  readonly header?: string;
}

const maxHeaderTokens = 60;
const maxTitleTokens = 40;

/** Cuts a document into passages, in order. All text except white space is in a passage. */
export function* passagesOf(
  document: Pick<ExtractedDocument, 'text' | 'sections' | 'hasLines'>,
  chunking: Chunking = { type: 'structure' },
): Generator<void, PassageSpan[]> {
  const windows = chunking.type === 'static' ? yield* windowsOf(document, chunking) : yield* structureOf(document);
  return document.hasLines ? withLines(document.text, windows) : windows;
}

/** The text of a passage as it is stored and shown. */
export function passageText(text: string, { start, end, header }: PassageSpan): string {
  const own = text.slice(start, end);
  return header === undefined ? own : `${header}\n${own}`;
}

const maxContext = 200;

/** The text of a passage as it is embedded: below the name of its document and its headings, which are often what a question names. */
export function embeddedText(title: string, text: string, passage: PassageSpan): string {
  const path = [...new Set([title, ...passage.headings])].filter((heading) => heading !== '').join(' > ');
  return `${path.length > maxContext ? `…${path.slice(-maxContext)}` : path}\n${passageText(text, passage)}`;
}

function* structureOf({
  text,
  sections,
}: Pick<ExtractedDocument, 'text' | 'sections'>): Generator<void, PassageSpan[]> {
  const passages: PassageSpan[] = [];
  let open: OpenPassage | undefined;
  let count = 0;
  let headings: readonly string[] | undefined;
  for (const section of sections) {
    let header: string | undefined;
    let isTitle = section.headings !== headings;
    headings = section.headings;
    for (const block of blocksOf(text, section)) {
      count += 1;
      if (count % 500 === 0) yield;
      if (block.isHeader && block.tokens <= maxHeaderTokens) header = text.slice(block.start, block.end);
      if (open && endsBefore(open, block, section)) {
        const { title }: OpenPassage = open;
        passages.push(spanOf(title?.before ?? open));
        // A heading at the end of a passage belongs to what follows it.
        open = title && title.tokens + block.tokens <= passageSizes.max ? begun(title, title.section) : undefined;
        if (title && !open) passages.push(spanOf(begun(title, title.section)));
      }
      if (open) {
        const before: OpenPassage = open;
        open = {
          ...before,
          end: block.end,
          tokens: before.tokens + block.tokens,
          headings: commonPath(before.headings, section.headings),
          last: section,
        };
        if (isTitle && block.tokens <= maxTitleTokens) open.title = { ...block, section, before };
        else delete open.title;
      } else open = begun(block, section, block.isHeader || section.kind !== 'table' ? undefined : header, text);
      isTitle = false;
    }
  }
  if (open) passages.push(spanOf(open));
  return passages;
}

interface OpenPassage extends Pick<PassageSpan, 'start' | 'end' | 'headings' | 'header'> {
  readonly tokens: number;
  readonly first: Section;
  readonly last: Section;
  /** A heading that is the last block so far, and the passage without it. */
  title?: Block & { readonly section: Section; readonly before: OpenPassage };
}

function begun(block: Block, section: Section, header?: string, text = ''): OpenPassage {
  const start = block.repeatsFrom ?? block.start;
  return {
    start,
    end: block.end,
    tokens: block.tokens + estimateTokens(text, start, block.start) + estimateTokens(header ?? ''),
    first: section,
    last: section,
    headings: section.headings,
    ...(header !== undefined && { header }),
  };
}

/** Whether a passage ends before the block that follows it. */
function endsBefore(open: OpenPassage, block: Block, section: Section): boolean {
  if (open.tokens + block.tokens > passageSizes.max) return true;
  if (section === open.last) return block.begins !== 'sentence' && open.tokens >= passageSizes.enough;
  // Later rows of a table repeat its header, so that other text must not follow them.
  if (open.header !== undefined) return true;
  if (section.page !== open.last.page) return open.tokens >= passageSizes.min;
  if (section.headings === open.last.headings) return open.tokens >= passageSizes.enough;
  return open.tokens >= (section.headings[0] === open.headings[0] ? passageSizes.min : passageSizes.min / 2);
}

function spanOf({ start, end, first, headings, header }: OpenPassage): PassageSpan {
  return {
    start,
    end,
    headings,
    ...(first.page !== undefined && { page: first.page }),
    ...(header !== undefined && { header }),
  };
}

/** The headings that two sections share; the first one's own where there are none, which names at least its beginning. */
function commonPath(one: readonly string[], other: readonly string[]): readonly string[] {
  if (one === other) return one;
  const length = one.findIndex((heading, index) => other[index] !== heading);
  if (length === -1) return one;
  return length === 0 ? one : one.slice(0, length);
}

/** Windows of a fixed size that overlap, as a client asked for them. */
function* windowsOf(
  { text, sections }: Pick<ExtractedDocument, 'text' | 'sections'>,
  { maxTokens, overlapTokens }: Extract<Chunking, { type: 'static' }>,
): Generator<void, PassageSpan[]> {
  const passages: PassageSpan[] = [];
  const words: { readonly start: number; readonly end: number; readonly tokens: number }[] = [];
  let tokens = 0;
  let fresh = 0;
  let index = 0;
  const close = (): void => {
    const [first, last] = [words[0], words.at(-1)];
    if (!first || !last || fresh === 0) return;
    while ((sections[index]?.end ?? Number.POSITIVE_INFINITY) <= first.start) index += 1;
    const section = sections[index];
    const page = section?.page;
    passages.push({
      start: first.start,
      end: last.end,
      headings: section?.headings ?? [],
      ...(page !== undefined && { page }),
    });
    fresh = 0;
  };
  let count = 0;
  for (const word of wordsOf(text, maxTokens)) {
    count += 1;
    if (count % 5000 === 0) yield;
    if (tokens + word.tokens > maxTokens) {
      close();
      while (words.length > 0 && (tokens > overlapTokens || tokens + word.tokens > maxTokens))
        tokens -= words.shift()?.tokens ?? 0;
    }
    words.push(word);
    tokens += word.tokens;
    fresh += 1;
  }
  close();
  return passages;
}

const maxWord = 64;

/** Runs without white space, cut where they are long. */
function* wordsOf(text: string, maxTokens: number) {
  const length = Math.min(maxWord, maxTokens);
  for (const { 0: word, index } of text.matchAll(/\S+/g)) {
    for (let at = 0; at < word.length; ) {
      let to = Math.min(word.length, at + length);
      // Not between the two halves of a character.
      if (to < word.length && /[\ud800-\udbff]/.test(word[to - 1] ?? '')) to -= 1;
      yield { start: index + at, end: index + to, tokens: Math.max(1, estimateTokens(word, at, to)) };
      at = to;
    }
  }
}

function withLines(text: string, spans: readonly PassageSpan[]): PassageSpan[] {
  let line = 1;
  let counted = 0;
  return spans.map((span) => {
    // Passages that overlap go back.
    if (span.start < counted) line -= newlines(text, span.start, counted);
    else line += newlines(text, counted, span.start);
    counted = span.start;
    return { ...span, line };
  });
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
