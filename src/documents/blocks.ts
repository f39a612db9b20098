import type { Section } from '../core/documents.ts';
import { linesOf } from './formats/lines.ts';
import { estimateTokens } from './tokens.ts';

/** What a passage is made of: never cut, and no larger than the largest passage. */
export interface Block {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
  /** Where a passage may better end before it. */
  readonly begins: 'paragraph' | 'sentence';
  /** The first row of a table. */
  readonly isHeader?: boolean;
  /** Continues a cut paragraph: a passage that begins with it repeats the text from here. */
  readonly repeatsFrom?: number;
}

/** In tokens of the built-in embedding model, which was trained on 256. Measured in `docs/knowledge.md`. */
export const passageSizes = {
  /** No passage is larger. */
  max: 180,
  /** A passage of this size ends with its paragraph or row. */
  enough: 120,
  /** A passage of this size ends at a heading, a page or a symbol; shorter ones are joined with what follows. */
  min: 50,
  /** Repeated of a paragraph that is cut. */
  overlap: 32,
} as const;

/** The blocks of a section: paragraphs, the rows of a table, or pieces of code between empty lines. */
export function* blocksOf(text: string, section: Section): Generator<Block> {
  const { kind, start, end } = section;
  if (kind === 'table') yield* rowsOf(text, start, end);
  else if (kind === 'code') yield* codeBlocksOf(text, start, end);
  else yield* paragraphsOf(text, start, end);
}

function* rowsOf(text: string, from: number, to: number): Generator<Block> {
  let rows = 0;
  let header: Block | undefined;
  for (const { start, line } of linesOf(text, from, to)) {
    const range = trimmedRange(text, start, start + line.length);
    if (!range) continue;
    const [first, last] = range;
    const tokens = estimateTokens(text, first, last);
    // The line below the header of a Markdown table belongs to it.
    if (rows === 1 && header && /^[\s|:-]+$/.test(line) && tokens + header.tokens <= passageSizes.max) {
      header = { ...header, end: last, tokens: header.tokens + Math.min(tokens, 8) };
      rows = 2;
      continue;
    }
    if (header) yield header;
    header = undefined;
    if (tokens > passageSizes.max) yield* cut(text, first, last);
    else if (rows === 0) header = { start: first, end: last, tokens, begins: 'paragraph', isHeader: true };
    else yield { start: first, end: last, tokens, begins: 'paragraph' };
    rows += 1;
  }
  if (header) yield header;
}

/** Pieces that begin at the smallest indentation of their part. */
function* codeBlocksOf(text: string, from: number, to: number): Generator<Block> {
  let start = -1;
  let end = -1;
  let blank = false;
  for (const { start: at, line } of linesOf(text, from, to)) {
    if (line.trim() === '') {
      blank = true;
      continue;
    }
    const last = at + line.trimEnd().length;
    const isNew = start !== -1 && blank && !/^\s*[})\]]/.test(line);
    if (isNew) {
      yield* lined(text, start, end);
      start = -1;
    }
    // Indentation is part of code.
    if (start === -1) start = at;
    end = last;
    blank = false;
  }
  if (start !== -1) yield* lined(text, start, end);
}

/** A piece of code as one block, or by lines. */
function* lined(text: string, start: number, end: number): Generator<Block> {
  const tokens = estimateTokens(text, start, end);
  if (tokens <= passageSizes.max) {
    yield { start, end, tokens, begins: 'paragraph' };
    return;
  }
  let begins: Block['begins'] = 'paragraph';
  for (const { start: at, line } of linesOf(text, start, end)) {
    if (line.trim() === '') continue;
    const last = at + line.trimEnd().length;
    const own = estimateTokens(text, at, last);
    if (own > passageSizes.max) yield* cut(text, at, last);
    else yield { start: at, end: last, tokens: own, begins };
    begins = 'sentence';
  }
}

/** Paragraphs end at empty lines; items of lists and quoted lines are paragraphs too. */
function* paragraphsOf(text: string, from: number, to: number): Generator<Block> {
  let start = -1;
  let end = -1;
  for (const { start: at, line } of linesOf(text, from, to)) {
    const range = trimmedRange(text, at, at + line.length);
    const isItem = range !== undefined && /^\s*(?:[-*+•]|\d{1,3}[.)])\s/.test(line.slice(0, 40));
    if (start !== -1 && (!range || isItem)) {
      yield* paragraph(text, start, end);
      start = -1;
    }
    if (!range) continue;
    if (start === -1) start = range[0];
    end = range[1];
  }
  if (start !== -1) yield* paragraph(text, start, end);
}

function* paragraph(text: string, start: number, end: number): Generator<Block> {
  const tokens = estimateTokens(text, start, end);
  if (tokens <= passageSizes.max) yield { start, end, tokens, begins: 'paragraph' };
  else yield* cut(text, start, end);
}

/** Of a sentence; longer ones are cut after a clause or word. */
const maxUnit = 180;

/** A long paragraph in sentences. Passages within it overlap, because nothing says where one thing ends. */
function* cut(text: string, start: number, end: number): Generator<Block> {
  const before: Block[] = [];
  let begins: Block['begins'] = 'paragraph';
  for (let from = start; from < end; ) {
    const limit = Math.min(end, from + maxUnit);
    const to = breakBefore(text, from, limit, end);
    const range = trimmedRange(text, from, to);
    from = to;
    if (!range) continue;
    const [first, last] = range;
    const tokens = estimateTokens(text, first, last);
    let repeatsFrom: number | undefined;
    let repeated = 0;
    for (const { start: earlier, tokens: own } of before.toReversed()) {
      repeated += own;
      if (repeated > passageSizes.overlap) break;
      repeatsFrom = earlier;
    }
    const block: Block = { start: first, end: last, tokens, begins };
    yield repeatsFrom === undefined ? block : { ...block, repeatsFrom };
    before.push(block);
    if (before.length > 8) before.shift();
    begins = 'sentence';
  }
}

/** After the first sentence, or else after the last clause or word before `limit`. */
function breakBefore(text: string, from: number, limit: number, end: number): number {
  const part = text.slice(from, limit);
  const sentence = /[.!?…]["'”’)\]]*\s|[。！？\n]/.exec(part);
  if (sentence) return from + sentence.index + sentence[0].length;
  const clause = Math.max(part.lastIndexOf('; '), part.lastIndexOf(': '), part.lastIndexOf(', '));
  if (clause > part.length / 2) return from + clause + 2;
  if (limit === end) return limit;
  const space = part.search(/\s\S*$/);
  if (space > 0) return from + space + 1;
  // Not between the two halves of a character.
  return /[\ud800-\udbff]/.test(text[limit - 1] ?? '') ? limit - 1 : limit;
}

function trimmedRange(text: string, from: number, to: number): [number, number] | undefined {
  let [start, end] = [from, to];
  while (start < end && /\s/.test(text[start] ?? '')) start += 1;
  while (end > start && /\s/.test(text[end - 1] ?? '')) end -= 1;
  return start < end ? [start, end] : undefined;
}
