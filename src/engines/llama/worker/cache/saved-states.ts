import type { StateFigures, StatesReport } from '../../../../core/text-service.ts';
import type { StatesAction } from '../../messages.ts';
import { chooseSlot } from '../memory/reuse.ts';
import type { Slot } from '../memory/slot.ts';
import { type Snapshot, snapshotBytes } from '../memory/snapshot.ts';

const empty: StateFigures = { tokens: 0, bytes: 0 };

type PlacedSlot = Pick<
  Slot,
  'busy' | 'cached' | 'asked' | 'usedAt' | 'reach' | 'snapshot' | 'snapshotFigures' | 'restore'
>;

/** Snapshots that somebody asked for by number; nothing but a wish removes them. */
export class SavedStateSlots {
  readonly #places: (Snapshot | undefined)[];

  constructor(
    private readonly slots: readonly PlacedSlot[],
    count: number,
    private readonly now: () => number,
  ) {
    this.#places = new Array<Snapshot | undefined>(count).fill(undefined);
  }

  /** Must not meet a batch in the library. */
  perform(action: StatesAction): StatesReport | StateFigures | null {
    switch (action.type) {
      case 'check':
        return { places: this.#places.map(figures), current: this.#lastUsed()?.snapshotFigures ?? empty };
      case 'save':
        return this.#save(action.place);
      case 'load':
        return this.#load(action.place);
      case 'clear':
        this.#places.fill(undefined);
        return null;
    }
  }

  #save(place: number): StateFigures | null {
    const slot = this.#lastUsed();
    const snapshot = slot?.busy ? undefined : slot?.snapshot();
    if (!snapshot || !(place in this.#places)) return null;
    this.#places[place] = snapshot;
    return figures(snapshot);
  }

  /** Where the prompt of this chat would be computed: there its next one finds it. */
  #load(place: number): StateFigures | null {
    const snapshot = this.#places[place];
    if (!snapshot) return null;
    const slot = chooseSlot(this.slots, snapshot.tokens, false)?.slot;
    if (!slot?.restore(snapshot)) return null;
    slot.usedAt = this.now();
    return figures(snapshot);
  }

  #lastUsed(): PlacedSlot | undefined {
    return this.slots.reduce<PlacedSlot | undefined>(
      (last, slot) => (last && last.usedAt >= slot.usedAt ? last : slot),
      undefined,
    );
  }
}

function figures(snapshot: Snapshot | undefined): StateFigures {
  return snapshot ? { tokens: snapshot.tokens.length, bytes: snapshotBytes(snapshot) } : empty;
}
