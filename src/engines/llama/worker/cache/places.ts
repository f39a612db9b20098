import type { StateFigures, StatesReport } from '../../../../core/saved-states.ts';
import type { StatesAction } from '../../messages.ts';
import type { Slot } from '../slot.ts';
import { type Snapshot, snapshotBytes } from './snapshot.ts';

const empty: StateFigures = { tokens: 0, bytes: 0 };

/** Snapshots of one slot that somebody asked for by number; nothing but a wish removes them. */
export class StatePlaces {
  readonly #places: (Snapshot | undefined)[];

  constructor(
    private readonly slot: Pick<Slot, 'busy' | 'snapshot' | 'snapshotFigures' | 'restore'>,
    count: number,
  ) {
    this.#places = new Array<Snapshot | undefined>(count).fill(undefined);
  }

  /** Must not meet a batch in the library. */
  perform(action: StatesAction): StatesReport | StateFigures | null {
    switch (action.type) {
      case 'check':
        return { places: this.#places.map(figures), current: this.slot.snapshotFigures };
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
    const snapshot = this.slot.busy ? undefined : this.slot.snapshot();
    if (!snapshot || !(place in this.#places)) return null;
    this.#places[place] = snapshot;
    return figures(snapshot);
  }

  #load(place: number): StateFigures | null {
    const snapshot = this.#places[place];
    return snapshot && !this.slot.busy && this.slot.restore(snapshot) ? figures(snapshot) : null;
  }
}

function figures(snapshot: Snapshot | undefined): StateFigures {
  return snapshot ? { tokens: snapshot.tokens.length, bytes: snapshotBytes(snapshot) } : empty;
}
