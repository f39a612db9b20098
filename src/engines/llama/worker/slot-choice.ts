import { commonPrefix } from './reuse.ts';

export interface SlotView {
  readonly cached: Int32Array;
  readonly busy: boolean;
  /** When it was last used; 0 for never. */
  readonly usedAt: number;
}

export interface SlotChoice<View extends SlotView> {
  readonly slot: View;
  /** Another slot that shares more with the prompt; copying its beginning is far quicker than computing it. */
  readonly copyFrom: View | undefined;
}

/** Below this a common beginning is computed as quickly as it is copied. */
const worthCopying = 64;
/** A slot of which at least this much stays is going on with its own chat. */
const goingOn = 0.5;

/**
 * Where a prompt is best computed. A slot that goes on with its chat keeps it. Anything else, such as a side task that only
 * shares the system prompt, takes the slot that was not used for the longest time, and copies what it shares.
 */
export function chooseSlot<View extends SlotView>(
  slots: readonly View[],
  wanted: Int32Array,
  canCopy: boolean,
): SlotChoice<View> | undefined {
  const measured = slots.map((slot) => ({ slot, common: commonPrefix(slot.cached, wanted) }));
  const free = measured.filter(({ slot }) => !slot.busy);
  const own = mostCommon(free.filter(({ slot, common }) => common > 0 && common >= goingOn * slot.cached.length));
  const source = canCopy ? mostCommon(measured) : undefined;
  if (own && (!source || own.common >= source.common)) return { slot: own.slot, copyFrom: undefined };
  const [oldest] = free.sort((a, b) => a.slot.usedAt - b.slot.usedAt);
  if (!oldest) return undefined;
  const copied = source && source.slot !== oldest.slot && source.common >= Math.max(worthCopying, oldest.common + 1);
  return { slot: oldest.slot, copyFrom: copied ? source.slot : undefined };
}

function mostCommon<Measured extends { readonly common: number }>(list: readonly Measured[]): Measured | undefined {
  return list.reduce<Measured | undefined>((best, one) => (best && best.common >= one.common ? best : one), undefined);
}
