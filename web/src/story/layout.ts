import { type Passage, type Story, textOf } from './story.ts';
import { thoughtsEnd } from './thoughts.ts';

/** A part of a passage that stands in one paragraph; the line breaks behind it are not shown but belong to it. */
export interface Piece {
  readonly passage: string;
  readonly by: Passage['by'];
  readonly start: number;
  /** Behind the last character that is shown. */
  readonly end: number;
  readonly text: string;
  /** How many line breaks follow. */
  readonly breaks: number;
  /** What a model has thought before its answer. */
  readonly thought: boolean;
}

/** What the page shows as one block: a paragraph of a story, or of a message. */
export interface Paragraph {
  readonly key: string;
  readonly pieces: readonly Piece[];
  /** Whether an empty line follows. */
  readonly gap: boolean;
  /** The first of a message, which then has a head with the name. */
  readonly opens: boolean;
  /** The last of a message. */
  readonly closes: boolean;
  readonly by: Passage['by'];
  readonly passage: string;
}

const known = new WeakMap<Passage, readonly Piece[]>();

/** Passages do not change, so each is cut once. */
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
  const answer = by === 'model' ? thoughtsEnd(text) : 0;
  let start = 0;
  while (start < text.length) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
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
 * The story as paragraphs. In a story the text flows from one passage into the next; in the other modes each passage is a turn
 * of its own. What did not change is the same object as before.
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
    const { id, by } = passage;
    turn = piecesOf(passage).map((piece, index, all) => ({
      key: `${id}:${index}`,
      pieces: [piece],
      gap: piece.breaks > 1,
      opens: index === 0,
      closes: index === all.length - 1,
      by,
      passage: id,
    }));
    knownTurns.set(passage, turn);
  }
  return turn;
}

const knownParagraphs = new WeakMap<Piece, Paragraph>();

/** Paragraphs of the same pieces are the same. */
function flowing(pieces: readonly Piece[]): Paragraph {
  const [first] = pieces as readonly [Piece, ...Piece[]];
  const before = knownParagraphs.get(first);
  if (before && before.pieces.length === pieces.length && before.pieces.every((piece, at) => piece === pieces[at]))
    return before;
  const gap = (pieces.at(-1)?.breaks ?? 0) > 1;
  const { passage, start, by } = first;
  const paragraph: Paragraph = { key: `${passage}:${start}`, pieces, gap, opens: false, closes: false, by, passage };
  knownParagraphs.set(first, paragraph);
  return paragraph;
}
