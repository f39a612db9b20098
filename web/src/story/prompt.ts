import { type Passage, type Story, textOf, type WorldEntry } from './story.ts';
import { asOpenPrompt, asPrompt, marks, replyPrefix } from './turns.ts';
import { matching } from './world-info.ts';

export interface Budget {
  /** Tokens for the prompt; Infinity if the context size is unknown. */
  readonly tokens: number;
  /** Measured with this text, or an estimate. */
  readonly charactersPerToken: number;
}

/** A new passage, with an optional prefill, or more of the last passage. */
export type Wanted = { readonly kind: 'new'; readonly begin: string } | { readonly kind: 'more' };

export interface BuiltPrompt {
  readonly memory: string;
  readonly prompt: string;
  /** Characters per part. */
  readonly parts: { readonly memory: number; readonly world: number; readonly note: number; readonly text: number };
  readonly world: readonly WorldEntry[];
  /** Matching entries that do not fit. */
  readonly leftOut: readonly WorldEntry[];
  /** The first character in the context; missing if the whole text fits. */
  readonly seenFrom?: { readonly passage: string; readonly offset: number };
  /** Number of characters that do not fit. */
  readonly dropped: number;
}

interface Segment {
  readonly passage: string;
  readonly text: string;
  /** Offset in the whole text. */
  readonly at: number;
  /** Characters before the passage's own text, such as a name. */
  readonly lead: number;
}

/** Memory, then world info, then the end of the text, with the author's note at its depth. */
export function buildPrompt(
  story: Story,
  budget: Budget,
  wanted: Wanted = { kind: 'new', begin: '' },
  roll: () => number = () => 0,
): BuiltPrompt {
  const room = budget.tokens * budget.charactersPerToken;
  const { segments, text, tail } = textOfStory(story, wanted);
  const note = noteOf(story);
  const fixed = story.memory.length + note.length + tail.length;
  // Some of the text is always sent, however long the memory is.
  const roomForText = Math.max(room - fixed, room / 4);
  const inSight = text.slice(cutFor(text, roomForText, segments, story));
  const searched =
    story.worldDepth > 0 ? inSight.slice(-story.worldDepth) : `${story.memory}\n${note}\n${inSight}\n${tail}`;
  const { world, leftOut } = fitting(matching(story.world, searched, roll), roomForText * 0.6);
  const worldText = world.map(({ content }) => content.trim()).join('\n');

  const start = cutFor(text, roomForText - worldText.length, segments, story);
  const first = segments.findLast((segment) => segment.at <= start);
  const visible = text.slice(start).replace(/^\n+/, '');
  const placed = withNote(story, visible, note, budget.charactersPerToken, segments, text.length - visible.length);
  return {
    memory: memoryText(story, worldText),
    prompt: placed + (placed === '' ? tail.replace(/^\n+/, '') : tail),
    parts: {
      memory: story.memory.length,
      world: worldText.length,
      note: note.length,
      text: visible.length + tail.length,
    },
    world,
    leftOut,
    ...(start > 0 && first
      ? { seenFrom: { passage: first.passage, offset: Math.max(0, start - first.at - first.lead) } }
      : {}),
    dropped: start,
  };
}

/** The text before the reply, and the tail that opens the reply and is never cut. */
function textOfStory(story: Story, wanted: Wanted): { segments: Segment[]; text: string; tail: string } {
  const last = wanted.kind === 'more' ? story.passages.at(-1) : undefined;
  const settled = last ? story.passages.slice(0, -1) : story.passages;
  const segments: Segment[] = [];
  const texts: string[] = [];
  let at = 0;
  const add = (passage: Passage, text: string): void => {
    segments.push({ passage: passage.id, text, at, lead: Math.max(0, text.indexOf(textOf(passage).trim())) });
    texts.push(text);
    at += text.length;
  };
  for (const passage of settled) add(passage, asPrompt(story, passage));
  if (last) add(last, asOpenPrompt(story, last));
  const begin = wanted.kind === 'new' ? wanted.begin : '';
  const opening = wanted.kind === 'new' ? replyPrefix(story) : '';
  const space = begin !== '' && story.mode === 'chat' ? ' ' : '';
  return { segments, text: texts.join(''), tail: opening + space + begin };
}

/** The offset at which a text of at most `room` characters starts: at a turn, paragraph, sentence or word. */
function cutFor(text: string, room: number, segments: readonly Segment[], story: Story): number {
  if (text.length <= room) return 0;
  const earliest = Math.ceil(text.length - Math.max(0, room));
  if (story.mode === 'chat' || story.mode === 'instruct') {
    const turn = segments.find(({ at }) => at >= earliest);
    if (turn) return turn.at;
  }
  const tolerated = Math.min(earliest + 2000, text.length - Math.floor(Math.max(0, room) / 2));
  for (const boundary of [/\n+/g, /[.!?…]["”’)]?\s+/g, /\s+/g]) {
    boundary.lastIndex = Math.max(0, earliest - 1);
    const match = boundary.exec(text);
    if (match && boundary.lastIndex <= tolerated) return boundary.lastIndex;
  }
  return earliest;
}

function fitting(entries: readonly WorldEntry[], room: number): { world: WorldEntry[]; leftOut: WorldEntry[] } {
  const world: WorldEntry[] = [];
  const leftOut: WorldEntry[] = [];
  let used = 0;
  for (const entry of entries) {
    const size = entry.content.trim().length + 1;
    if (used + size <= room) {
      world.push(entry);
      used += size;
    } else leftOut.push(entry);
  }
  return { world, leftOut };
}

function memoryText({ mode, memory }: Story, worldText: string): string {
  const both = [memory.trimEnd(), worldText].filter((part) => part.trim() !== '').join('\n');
  if (both === '') return '';
  return mode === 'instruct' ? `${marks.system}${both}${marks.systemEnd}` : `${both}\n`;
}

function noteOf({ note, mode }: Story): string {
  if (note.text.trim() === '') return '';
  const { template } = note;
  const text = template.includes('<|>') ? template.replace('<|>', () => note.text.trim()) : `${template}${note.text}`;
  return mode === 'instruct' ? `${marks.system}${text}${marks.systemEnd}` : text;
}

/** Inserts the note between two turns or lines. */
function withNote(
  { mode, note: { depth } }: Story,
  text: string,
  note: string,
  charactersPerToken: number,
  segments: readonly Segment[],
  offset: number,
): string {
  if (note === '') return text;
  const target = Math.max(0, text.length - Math.round(depth * charactersPerToken));
  if (mode === 'instruct' || mode === 'chat') {
    const turn = segments.findLast(({ at }) => at - offset <= target && at >= offset);
    const at = turn ? turn.at - offset : 0;
    return mode === 'instruct'
      ? text.slice(0, at) + note + text.slice(at)
      : `${text.slice(0, at)}${at > 0 ? '\n' : ''}${note}${at > 0 ? '' : '\n'}${text.slice(at)}`;
  }
  const at = lineBefore(text, target);
  const before = text.slice(0, at);
  return `${before}${before === '' || before.endsWith('\n') ? '' : '\n'}${note}\n${text.slice(at)}`;
}

function lineBefore(text: string, target: number): number {
  if (target === 0) return 0;
  const line = text.lastIndexOf('\n', target - 1) + 1;
  if (target - line < 1500) return line;
  const word = text.lastIndexOf(' ', target - 1) + 1;
  return word > 0 ? word : target;
}
