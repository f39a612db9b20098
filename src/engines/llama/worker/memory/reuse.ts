import type { PromptPlan } from '../text/prompt.ts';

interface Reuse {
  /** Removed from the cache first, and the rest moves down: a chat that dropped its oldest turns. */
  readonly shift: { readonly from: number; readonly count: number } | undefined;
  /** Tokens at the beginning of the prompt that need no computing. */
  readonly keep: number;
}

const worthReusing = 4;
const nothing: Reuse = { shift: undefined, keep: 0 };

/**
 * How much of the cached tokens serves the new prompt; how far the memory can rewind is up to the slot. At least one token is
 * always left to compute: it gives the first logits.
 */
export function planReuse(
  cached: Int32Array,
  plan: Pick<PromptPlan, 'tokens' | 'maxTokens'>,
  contextSize: number,
  canShift: boolean,
): Reuse {
  const { tokens: wanted } = plan;
  const common = commonPrefix(cached, wanted);
  const shifted = canShift ? planShift(cached, plan, contextSize, common) : undefined;
  if (shifted) return shifted;
  const keep = Math.min(common, wanted.length - 1);
  return keep < worthReusing ? nothing : { shift: undefined, keep };
}

/**
 * A shift pays if the new prompt continues, where it differs, with a long passage from further on in the cache. Only long exact
 * matches count: a shifted cache has seen the removed text.
 */
function planShift(
  cached: Int32Array,
  { tokens: wanted, maxTokens }: Pick<PromptPlan, 'tokens' | 'maxTokens'>,
  contextSize: number,
  common: number,
): Reuse | undefined {
  const fresh = wanted.length - common;
  const shortfall = 200 + Math.min(contextSize / 30, 140);
  if (fresh < shortfall) return undefined;
  const slack = 60 + Math.min(contextSize / 60, 70);
  const needed = Math.max(Math.min(fresh - (maxTokens + slack), 0.45 * contextSize), shortfall - slack);
  const { start, length } = longestContinuation(cached.subarray(common), wanted.subarray(common));
  if (start === 0 || length <= needed) return undefined;
  return { shift: { from: common, count: start }, keep: Math.min(common + length, wanted.length - 1) };
}

export function commonPrefix(a: Int32Array, b: Int32Array): number {
  const end = Math.min(a.length, b.length);
  let index = 0;
  while (index < end && a[index] === b[index]) index += 1;
  return index;
}

/** Where in `old` the longest prefix of `next` is (Z-function over next + old: linear time). */
export function longestContinuation(old: Int32Array, next: Int32Array): { start: number; length: number } {
  const joined = new Int32Array(next.length + 1 + old.length);
  joined.set(next);
  joined[next.length] = -1;
  joined.set(old, next.length + 1);
  const matches = new Int32Array(joined.length);
  let best = { start: 0, length: 0 };
  for (let index = 1, left = 0, right = 0; index < joined.length; index += 1) {
    let length = index < right ? Math.min(right - index, matches[index - left] as number) : 0;
    while (index + length < joined.length && joined[length] === joined[index + length]) length += 1;
    matches[index] = length;
    if (index + length > right) {
      left = index;
      right = index + length;
    }
    if (index > next.length && length > best.length) best = { start: index - next.length - 1, length };
  }
  return best;
}

/** A cached text: a prompt of the length `asked`, and the reply. */
export interface KeptText {
  readonly cached: Int32Array;
  readonly asked: number;
}

/** So few tokens are computed again without a noticeable delay. */
const little = 32;
const nearlyAll = 0.9;
const passageLength = 24;

/**
 * Whether a prompt continues the cached chat, rather than another one with the same system prompt. In the same chat only the reply
 * differs (regenerated, or sent back without its reasoning), or the last words; or a line near the top, and a later passage matches.
 */
export function isSameChat({ cached, asked }: KeptText, wanted: Int32Array, common: number): boolean {
  if (common === 0) return false;
  if (cached.length - common <= little) return true;
  const end = Math.min(asked, cached.length);
  if (common >= nearlyAll * end) return true;
  const start = common + Math.floor((end - common - passageLength) / 2);
  return start >= common && stands(cached.subarray(start, start + passageLength), wanted.subarray(common));
}

function stands(passage: Int32Array, text: Int32Array): boolean {
  const [first = -1] = passage;
  for (let at = text.indexOf(first); at !== -1; at = text.indexOf(first, at + 1)) {
    if (passage.every((token, index) => token === text[at + index])) return true;
  }
  return false;
}

export interface SlotView extends KeptText {
  readonly busy: boolean;
  /** 0 for never. */
  readonly usedAt: number;
  /** How many of its first tokens would stay after a rewind to `index`. */
  reach(index: number): number;
}

interface SlotChoice<View extends SlotView> {
  readonly slot: View;
  /** Another slot that shares more with the prompt: copying is far faster than computing. */
  readonly copyFrom: View | undefined;
  /** How many tokens of the prompt then need no computing. */
  readonly atHand: number;
}

/** Shorter prefixes are computed as fast as copied. */
const worthCopying = 64;

/**
 * The best slot for a prompt. A chat continues in its own slot. Anything else, such as a side task with the same system prompt, gets
 * an empty slot or the least recently used one, and copies the common prefix.
 */
export function chooseSlot<View extends SlotView>(
  slots: readonly View[],
  wanted: Int32Array,
  canCopy: boolean,
): SlotChoice<View> | undefined {
  const measured = slots.map((slot) => {
    const common = commonPrefix(slot.cached, wanted);
    return { slot, common, kept: slot.reach(Math.min(common, wanted.length - 1)) };
  });
  const free = measured.filter(({ slot }) => !slot.busy);
  const own = mostKept(free.filter(({ slot, common }) => isSameChat(slot, wanted, common)));
  const source = canCopy ? mostKept(measured) : undefined;
  if (own && (!source || own.kept >= source.kept)) return { slot: own.slot, copyFrom: undefined, atHand: own.kept };
  const age = ({ cached, usedAt }: SlotView): number => (cached.length === 0 ? -1 : usedAt);
  const [oldest] = free.sort((a, b) => age(a.slot) - age(b.slot));
  if (!oldest) return undefined;
  const copied = source && source.slot !== oldest.slot && source.kept >= Math.max(worthCopying, oldest.kept + 1);
  return copied
    ? { slot: oldest.slot, copyFrom: source.slot, atHand: source.kept }
    : { slot: oldest.slot, copyFrom: undefined, atHand: oldest.kept };
}

function mostKept<Measured extends { readonly kept: number }>(list: readonly Measured[]): Measured | undefined {
  return list.reduce<Measured | undefined>((best, one) => (best && best.kept >= one.kept ? best : one), undefined);
}
