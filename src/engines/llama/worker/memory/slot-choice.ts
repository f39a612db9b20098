import { commonPrefix, longestContinuation } from './snapshot.ts';

/** A cached text: a prompt of the length `asked`, and the reply. */
export interface KeptText {
  readonly cached: Int32Array;
  readonly asked: number;
}

/** Control tokens: they separate the turns of a chat. */
export type IsMark = (token: number) => boolean;

/**
 * What a prompt is to a cached text:
 * - `continues`: only the reply or the last words differ, so that nothing of value is lost in the same slot;
 * - `edits`: it seems to be the same chat with a change before its end, such as a line near the top or a beginning that was cut;
 * - `quotes`: it contains words of the chat, as a request for a title does;
 * - `other`: it shares at most the beginning.
 */
export type Relation = 'continues' | 'edits' | 'quotes' | 'other';

/** So few tokens are computed again without a noticeable delay. */
const maxRecompute = 32;
const minOverlap = 0.9;
const passageLength = 24;

/**
 * A prompt that edits the chat has the text from the middle of the change onwards as it was: to the end of the last prompt, or at least
 * over the border of a turn. A quote has the words of a message, without the control tokens around it.
 */
export function relationOf({ cached, asked }: KeptText, wanted: Int32Array, common: number, isMark: IsMark): Relation {
  if (common === 0) return 'other';
  if (cached.length - common <= maxRecompute) return 'continues';
  const end = Math.min(asked, cached.length);
  if (common >= minOverlap * end) return 'continues';
  const start = common + Math.floor((end - common - passageLength) / 2);
  if (start < common) return 'other';
  const { length } = longestContinuation(wanted.subarray(common), cached.subarray(start, end));
  if (length < passageLength) return 'other';
  return start + length === end || cached.subarray(start, start + length).some(isMark) ? 'edits' : 'quotes';
}

export interface SlotView extends KeptText {
  readonly busy: boolean;
  /** 0 for never. */
  readonly usedAt: number;
  /** How many of its first tokens would stay after a rewind to `index`. */
  reach(index: number): number;
}

/** With so few slots, idle ones between busy ones cost little (see `bridges`), so that no text is lost while there is an empty one. */
const fewSlots = 5;

/** Shorter prefixes are computed as fast as copied. */
const worthCopying = 64;

/** Reading so many tokens again costs less than a pass of their own in each step of a reply. */
const shortText = 512;

export interface SlotQuestion {
  readonly wanted: Int32Array;
  /** Whether the prefix of another slot can be copied. */
  readonly canCopy: boolean;
  readonly isMark: IsMark;
}

/**
 * The best slot for a prompt. A chat continues in its own slot. Anything else, such as a side task with the same system prompt, gets
 * an empty slot or one that was not used for long, and copies the common prefix (`copyFrom`): that is far faster than computing it.
 * A chat that the prompt quotes stays while there is another slot. `atHand` tokens of the prompt then need no computing.
 */
export function chooseSlot<View extends SlotView>(slots: readonly View[], { wanted, canCopy, isMark }: SlotQuestion) {
  const measured = slots.map((slot, index) => {
    const common = commonPrefix(slot.cached, wanted);
    const relation = slot.busy ? undefined : relationOf(slot, wanted, common, isMark);
    return { slot, index, relation, kept: slot.reach(Math.min(common, wanted.length - 1)) };
  });
  const free = measured.filter(({ slot }) => !slot.busy);
  const own = mostKept(free.filter(({ relation }) => relation === 'continues' || relation === 'edits'));
  const source = canCopy ? mostKept(measured) : undefined;
  if (own && (!source || own.kept >= source.kept)) return { slot: own.slot, copyFrom: undefined, atHand: own.kept };
  const busy = measured.filter(({ slot }) => slot.busy).map(({ index }) => index);
  const unquoted = free.filter(({ relation }) => relation !== 'quotes');
  const replaced = slotToReplace(unquoted.length > 0 ? unquoted : free, busy);
  if (!replaced) return undefined;
  const copied = source && source.slot !== replaced.slot && source.kept >= Math.max(worthCopying, replaced.kept + 1);
  return copied
    ? { slot: replaced.slot, copyFrom: source.slot, atHand: source.kept }
    : { slot: replaced.slot, copyFrom: undefined, atHand: replaced.kept };
}

interface Place {
  readonly slot: SlotView;
  readonly index: number;
}

/**
 * The free slot whose text is lost least, and which makes few passes: sequences that follow each other are computed in one. So it is
 * the nearest to those at work. If there is none, it is one that many others follow, for the requests that come next.
 */
function slotToReplace<One extends Place>(free: readonly One[], busy: readonly number[]): One | undefined {
  const oldestFirst = byAge(free);
  const isFew = free.length + busy.length <= fewSlots;
  // The most recently used quarter is kept.
  const old = oldestFirst.slice(0, isFew ? 1 : Math.ceil(free.length * 0.75));
  if (busy.length === 0) return isFew ? old[0] : startOfLongestRun(old);
  const distance = ({ index }: One) => Math.min(...busy.map((other) => Math.abs(other - index)));
  const joins = ({ index }: One) => busy.includes(index - 1) && busy.includes(index + 1);
  const hasEmpty = oldestFirst[0]?.slot.cached.length === 0;
  const lengthToLose = isFew && hasEmpty ? 0 : shortText;
  const candidates = oldestFirst.filter((one) => old.includes(one) || one.slot.cached.length <= lengthToLose);
  return lowest(candidates, (one) => (joins(one) ? 0 : distance(one)));
}

/** Empty ones first, then the least recently used. */
function byAge<One extends Place>(free: readonly One[]): One[] {
  const age = ({ slot: { cached, usedAt } }: One): number => (cached.length === 0 ? -1 : usedAt);
  return [...free].sort((a, b) => age(a) - age(b));
}

/** The one that begins the longest run of slots that follow each other. */
function startOfLongestRun<One extends Place>(list: readonly One[]): One | undefined {
  const indices = new Set(list.map(({ index }) => index));
  const followers = ({ index }: One): number => {
    let end = index;
    while (indices.has(end + 1)) end += 1;
    return end - index;
  };
  const upwards = [...list].sort((a, b) => a.index - b.index);
  return lowest(upwards, (one) => -followers(one));
}

/** The first of those with the lowest cost. */
function lowest<One>(list: readonly One[], cost: (one: One) => number): One | undefined {
  return [...list].sort((a, b) => cost(a) - cost(b))[0];
}

function mostKept<Measured extends { readonly kept: number }>(list: readonly Measured[]): Measured | undefined {
  return list.reduce<Measured | undefined>((best, one) => (best && best.kept >= one.kept ? best : one), undefined);
}
