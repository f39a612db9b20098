/** Slots in memory for the computed state of chats. Saving and loading must not overlap with a generation. */
export interface SavedStates {
  readonly count: number;
  check(): Promise<StatesReport>;
  /** Saves the state that was used last; null if there is none. */
  save(place: number): Promise<StateFigures | null>;
  /** Null if the slot is empty. */
  load(place: number): Promise<StateFigures | null>;
  /** Empties all slots. */
  clear(): Promise<void>;
}

export interface StateFigures {
  readonly tokens: number;
  readonly bytes: number;
}

export interface StatesReport {
  readonly places: readonly StateFigures[];
  /** What `save` would save now. */
  readonly current: StateFigures;
}
