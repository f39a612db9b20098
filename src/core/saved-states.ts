/** Numbered places in memory where the computed state of a chat can be put aside and taken up again later. */
export interface SavedStates {
  readonly count: number;
  check(): Promise<StatesReport>;
  /** Puts aside what was used last, and tells what that was; null where there is nothing. Must not meet a generation. */
  save(place: number): Promise<StateFigures | null>;
  /** What was taken up; null where the place is empty. Must not meet a generation. */
  load(place: number): Promise<StateFigures | null>;
  /** Empties all places. */
  clear(): Promise<void>;
}

export interface StateFigures {
  readonly tokens: number;
  readonly bytes: number;
}

export interface StatesReport {
  readonly places: readonly StateFigures[];
  /** What would be saved now. */
  readonly current: StateFigures;
}
