import { commonPrefix } from './reuse.ts';
import { isSameChat, type KeptText } from './same-chat.ts';

export interface SlotView extends KeptText {
  readonly busy: boolean;
  /** When it was last used; 0 for never. */
  readonly usedAt: number;
  /** How many of its first tokens could stay if the rest were forgotten. */
  reach(index: number): number;
}

export interface SlotChoice<View extends SlotView> {
  readonly slot: View;
  /** Another slot that shares more with the prompt; copying its beginning is far quicker than computing it. */
  readonly copyFrom: View | undefined;
  /** How much of the prompt then needs no computing. */
  readonly atHand: number;
}

/** Below this a common beginning is computed as quickly as it is copied. */
const worthCopying = 64;

/**
 * Where a prompt is best computed. A chat goes on in its own slot. Anything else, such as a side task that only shares the
 * system prompt, takes an empty slot or else the one that was not used for the longest time, and copies what it shares.
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
