import { reasoningEnd } from '../api/reasoning.ts';
import { type Passage, type Story, textOf } from './story.ts';

/** The part of a passage in one paragraph. The line breaks after it belong to it but are not shown. */
export interface Piece {
  readonly passage: string;
  readonly by: Passage['by'];
  readonly start: number;
  /** After the last visible character. */
  readonly end: number;
  readonly text: string;
  /** Number of line breaks that follow. */
  readonly breaks: number;
  /** Reasoning of the model. */
  readonly thought: boolean;
}

/** A block on the page: a paragraph of a story or of a message. */
export interface Paragraph {
  readonly key: string;
  readonly pieces: readonly Piece[];
  /** An empty line follows. */
  readonly gap: boolean;
  /** First paragraph of a message, shown with the name of the speaker. */
  readonly opens: boolean;
  /** Last paragraph of a message. */
  readonly closes: boolean;
  readonly by: Passage['by'];
  readonly passage: string;
  /** Name of another speaker. */
  readonly name: string | undefined;
  readonly branches: number;
}

const known = new WeakMap<Passage, readonly Piece[]>();

/** Passages are immutable, so each is split once. */
export function piecesOf(passage: Passage): readonly Piece[] {
  let pieces = known.get(passage);
  if (!pieces) {
    pieces = cut(passage);
    known.set(passage, pieces);
  }
  return pieces;
}

function cut(passage: Passage): readonly Piece[] {
  const text = textOf(passage);
  const pieces: Piece[] = [];
  const { id, by } = passage;
  const answer = by === 'model' ? reasoningEnd(text) : 0;
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    let next = end;
    while (text[next] === '\n') next += 1;
    pieces.push({
      passage: id,
      by,
      start,
      end,
      text: text.slice(start, end),
      breaks: next - end,
      thought: start < answer,
    });
    start = next;
  }
  if (pieces.length === 0) pieces.push({ passage: id, by, start: 0, end: 0, text: '', breaks: 0, thought: false });
  return pieces;
}

const knownTurns = new WeakMap<Passage, readonly Paragraph[]>();

/**
 * Splits a story into paragraphs. In story mode text flows across passages; in other modes each passage is a turn. Unchanged
 * paragraphs are the same objects as before.
 */
export function paragraphsOf({ mode, passages }: Pick<Story, 'mode' | 'passages'>): Paragraph[] {
  if (mode !== 'story') return passages.flatMap(turnOf);
  const paragraphs: Paragraph[] = [];
  let open: Piece[] = [];
  for (const passage of passages) {
    for (const piece of piecesOf(passage)) {
      open.push(piece);
      if (piece.breaks === 0) continue;
      paragraphs.push(flowing(open));
      open = [];
    }
  }
  if (open.length > 0) paragraphs.push(flowing(open));
  return paragraphs;
}

function turnOf(passage: Passage): readonly Paragraph[] {
  let turn = knownTurns.get(passage);
  if (!turn) {
    const { id, by, name, branches } = passage;
    turn = piecesOf(passage).map((piece, index, all) => ({
      key: `${id}:${index}`,
      pieces: [piece],
      gap: piece.breaks > 1,
      opens: index === 0,
      closes: index === all.length - 1,
      by,
      passage: id,
      name,
      branches: branches.length,
    }));
    knownTurns.set(passage, turn);
  }
  return turn;
}

const knownParagraphs = new WeakMap<Piece, Paragraph>();

/** Reuses the paragraph of the same pieces. */
function flowing(pieces: readonly Piece[]): Paragraph {
  const [first] = pieces as readonly [Piece, ...Piece[]];
  const before = knownParagraphs.get(first);
  if (before && before.pieces.length === pieces.length && before.pieces.every((piece, at) => piece === pieces[at]))
    return before;
  const gap = (pieces.at(-1)?.breaks ?? 0) > 1;
  const { passage, start, by } = first;
  const paragraph: Paragraph = {
    key: `${passage}:${start}`,
    pieces,
    gap,
    opens: false,
    closes: false,
    by,
    passage,
    name: undefined,
    branches: 1,
  };
  knownParagraphs.set(first, paragraph);
  return paragraph;
}

/** Paragraphs that are rendered or skipped together. */
export interface Chunk {
  readonly key: string;
  readonly paragraphs: readonly Paragraph[];
}

const knownChunks = new WeakMap<Paragraph, Chunk>();
const maxChunk = 12_000;

/**
 * Groups paragraphs, so that the browser renders only visible chunks and the page updates only changed ones. Boundaries depend
 * on the passages alone, so that an edit moves only the nearest ones.
 */
export function chunksOf(paragraphs: readonly Paragraph[]): Chunk[] {
  const chunks: Chunk[] = [];
  let open: Paragraph[] = [];
  let size = 0;
  for (const paragraph of paragraphs) {
    const last = open.at(-1);
    if (last && last.passage !== paragraph.passage && (size > maxChunk || isBoundary(paragraph.passage))) {
      chunks.push(chunkOf(open));
      open = [];
      size = 0;
    }
    open.push(paragraph);
    for (const { text } of paragraph.pieces) size += text.length;
  }
  if (open.length > 0) chunks.push(chunkOf(open));
  return chunks;
}

/** Reuses the chunk of the same paragraphs. */
function chunkOf(paragraphs: readonly Paragraph[]): Chunk {
  const [first] = paragraphs as readonly [Paragraph, ...Paragraph[]];
  const before = knownChunks.get(first);
  if (
    before &&
    before.paragraphs.length === paragraphs.length &&
    paragraphs.every((one, at) => one === before.paragraphs[at])
  )
    return before;
  const chunk: Chunk = { key: first.key, paragraphs };
  knownChunks.set(first, chunk);
  return chunk;
}

/** True for about one passage in six. */
function isBoundary(passage: string): boolean {
  let hash = 0;
  for (let at = 0; at < passage.length; at += 1) hash = (hash * 31 + passage.charCodeAt(at)) | 0;
  return (hash >>> 0) % 6 === 0;
}
