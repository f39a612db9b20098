import type { Turn } from '../../conversations/conversation.ts';

/** A place where a searched text was found. */
export interface Hit {
  readonly turn: string;
  /** Position in the message, without marks of emphasis. */
  readonly offset: number;
}

export const maxHits = 10_000;
/** In longer texts positions must be exact, so that the right part can be shown. */
const maxUnmarked = 6000;
const lowered = new WeakMap<object, string>();

/** All places of a text in these messages, in any case, in order; at most `maxHits`. */
export function hitsOf(turns: readonly Pick<Turn, 'id' | 'text'>[], query: string): Hit[] {
  const needle = needleOf(query);
  const hits: Hit[] = [];
  if (needle === '') return hits;
  for (const turn of turns) {
    const text = searchable(turn);
    for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length)) {
      hits.push({ turn: turn.id, offset: at });
      if (hits.length === maxHits) return hits;
    }
  }
  return hits;
}

/** What is searched for: marks of emphasis are not shown, so they are not searched. */
export function needleOf(query: string): string {
  const lower = query.toLowerCase();
  return withoutMarks(lower).trim() === '' ? lower.trim() : withoutMarks(lower);
}

function searchable(turn: Pick<Turn, 'text'>): string {
  const known = lowered.get(turn);
  if (known !== undefined) return known;
  const lower = turn.text.toLowerCase();
  const text = lower.length > maxUnmarked ? lower : withoutMarks(lower);
  lowered.set(turn, text);
  return text;
}

function withoutMarks(text: string): string {
  return text.replace(/\*\*|~~|`|(?<![\p{L}\p{N}_])(?:_+|\*)|(?:_+|\*)(?![\p{L}\p{N}_])/gu, '');
}

/** All places of a text below an element. Words may be parts of several nodes, but not of several blocks. */
export function rangesIn(element: Element, needle: string): Range[] {
  const nodes: { readonly node: Text; readonly start: number }[] = [];
  let text = '';
  let block: Element | null | undefined;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const own = node.parentElement?.closest(blocks);
    if (own !== block) text += '\n';
    block = own;
    nodes.push({ node: node as Text, start: text.length });
    text += (node as Text).data.toLowerCase();
  }
  const ranges: Range[] = [];
  let index = 0;
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length)) {
    const range = document.createRange();
    const pointAt = (offset: number): [Text, number] | undefined => {
      while ((nodes[index + 1]?.start ?? Number.POSITIVE_INFINITY) <= offset) index += 1;
      const start = nodes[index];
      return start && [start.node, Math.min(offset - start.start, start.node.length)];
    };
    const start = pointAt(at);
    const end = pointAt(at + needle.length - 1);
    if (!start || !end) continue;
    range.setStart(...start);
    range.setEnd(end[0], Math.min(end[1] + 1, end[0].length));
    ranges.push(range);
  }
  return ranges;
}

const blocks = 'p, li, pre, td, th, h1, h2, h3, h4, h5, h6, summary, blockquote';
