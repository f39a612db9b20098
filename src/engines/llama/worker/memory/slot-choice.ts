import { heuristics, slots as policy, type Switches } from '../scheduling.ts';
import { commonPrefix, longestContinuation } from './snapshot.ts';

/** A cached sequence: a prompt of `promptLength` tokens and its reply. */
export interface CachedSequence {
  readonly cached: Int32Array;
  readonly promptLength: number;
}

/** Recognizes control tokens, which separate the turns of a chat. */
export type IsControl = (token: number) => boolean;

/**
 * How a prompt relates to a cached sequence:
 * - `continues`: only the reply or the last words differ, so that nothing of value is lost in the same slot;
 * - `edits`: it seems to be the same chat with a change before its end, such as a line near the top or a beginning that was cut;
 * - `quotes`: it contains words of the chat, as a request for a title does;
 * - `other`: it shares at most the beginning.
 */
export type Relation = 'continues' | 'edits' | 'quotes' | 'other';

const { maxDiscarded, minOverlap, minPassage, maxFewSlots, evictableShare, minCopy, maxRecompute } = policy;

/**
 * An edited chat contains the second half of the differing part unchanged: up to the end of the last prompt, or at least across a turn
 * boundary. A quote contains the words of a message, without the control tokens around it.
 */
export function relationOf(
  { cached, promptLength }: CachedSequence,
  prompt: Int32Array,
  common: number,
  isControl: IsControl,
  on: Switches = heuristics,
): Relation {
  if (common === 0) return 'other';
  if (cached.length - common <= maxDiscarded) return 'continues';
  const end = Math.min(promptLength, cached.length);
  if (common >= minOverlap * end) return 'continues';
  if (!on.editedChats) return 'other';
  const start = common + Math.floor((end - common - minPassage) / 2);
  if (start < common) return 'other';
  const { length } = longestContinuation(prompt.subarray(common), cached.subarray(start, end));
  if (length < minPassage) return 'other';
  return start + length === end || cached.subarray(start, start + length).some(isControl) ? 'edits' : 'quotes';
}

export interface SlotView extends CachedSequence {
  readonly busy: boolean;
  /** 0 for never. */
  readonly usedAt: number;
  /** How many of its first tokens would stay after a rewind to `index`. */
  reach(index: number): number;
}

interface SlotRequest {
  readonly prompt: Int32Array;
  /** Whether the prefix of another slot can be copied. */
  readonly canCopy: boolean;
  readonly isControl: IsControl;
}

/**
 * The best slot for a prompt. A chat continues in its own slot. Any other prompt, such as a side task with the same system prompt, gets
 * an empty or long unused slot and copies the common prefix (`copyFrom`), which is far faster than computing it. A chat that the prompt
 * quotes stays cached while another slot is free. `reusable` is the number of prompt tokens that need no computing then.
 */
export function chooseSlot<View extends SlotView>(
  slots: readonly View[],
  { prompt, canCopy, isControl }: SlotRequest,
  on: Switches = heuristics,
) {
  const measured = slots.map((slot, index) => {
    const common = commonPrefix(slot.cached, prompt);
    const relation = slot.busy ? undefined : relationOf(slot, prompt, common, isControl, on);
    return { slot, index, relation, reused: slot.reach(Math.min(common, prompt.length - 1)) };
  });
  const free = measured.filter(({ slot }) => !slot.busy);
  const own = mostReused(free.filter(({ relation }) => relation === 'continues' || relation === 'edits'));
  const source = canCopy && on.copiedPrefix ? mostReused(measured) : undefined;
  if (own && (!source || own.reused >= source.reused))
    return { slot: own.slot, copyFrom: undefined, reusable: own.reused };
  const busy = measured.filter(({ slot }) => slot.busy).map(({ index }) => index);
  const unquoted = free.filter(({ relation }) => relation !== 'quotes');
  const replaced = slotToReplace(unquoted.length > 0 ? unquoted : free, busy, on);
  if (!replaced) return undefined;
  const copied = source && source.slot !== replaced.slot && source.reused >= Math.max(minCopy, replaced.reused + 1);
  return copied
    ? { slot: replaced.slot, copyFrom: source.slot, reusable: source.reused }
    : { slot: replaced.slot, copyFrom: undefined, reusable: replaced.reused };
}

interface IndexedSlot {
  readonly slot: SlotView;
  readonly index: number;
}

/**
 * The free slot to evict: an old one, and one that keeps active sequences consecutive, since those are computed in one pass. That is the
 * slot nearest to an active one; without active slots it is the start of the longest run of old slots, for the requests that follow.
 */
function slotToReplace<One extends IndexedSlot>(
  free: readonly One[],
  busy: readonly number[],
  on: Switches,
): One | undefined {
  const oldestFirst = byAge(free);
  if (!on.adjacentSlots) return oldestFirst[0];
  const isFew = on.fewSlots && free.length + busy.length <= maxFewSlots;
  const evictable = oldestFirst.slice(0, isFew ? 1 : Math.ceil(free.length * (on.recentSlots ? evictableShare : 1)));
  if (busy.length === 0) return isFew || !on.longestRun ? evictable[0] : startOfLongestRun(evictable);
  const distance = ({ index }: One) => Math.min(...busy.map((other) => Math.abs(other - index)));
  const joins = ({ index }: One) => busy.includes(index - 1) && busy.includes(index + 1);
  const hasEmpty = oldestFirst[0]?.slot.cached.length === 0;
  const maxEvicted = !on.shortSequences || (isFew && hasEmpty) ? 0 : maxRecompute;
  const candidates = oldestFirst.filter((one) => evictable.includes(one) || one.slot.cached.length <= maxEvicted);
  return lowest(candidates, (one) => (on.joinedRuns && joins(one) ? 0 : distance(one)));
}

/** Empty slots first, then the least recently used. */
function byAge<One extends IndexedSlot>(free: readonly One[]): One[] {
  const age = ({ slot: { cached, usedAt } }: One): number => (cached.length === 0 ? -1 : usedAt);
  return [...free].sort((a, b) => age(a) - age(b));
}

/** The first slot of the longest run of consecutive slots. */
function startOfLongestRun<One extends IndexedSlot>(list: readonly One[]): One | undefined {
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

const mostReused = <Measured extends { readonly reused: number }>(list: readonly Measured[]) =>
  lowest(list, ({ reused }) => -reused);
