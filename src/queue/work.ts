/** A kind of work in the queue. */
export interface WorkKind {
  readonly name: string;
  /** How much of its client's turn it takes; a text is 1. */
  readonly cost: number;
  /** How long it takes, until some of it was measured. */
  readonly firstGuessSeconds: number;
  /** How many run at once on one engine; 1 by default. */
  readonly atOnce?: number;
}

export const textWork: WorkKind = { name: 'text', cost: 1, firstGuessSeconds: 5 };
/** Saving or loading a state. Never free, or a series of them would starve other clients. */
export const stateWork: WorkKind = { name: 'state', cost: 0.25, firstGuessSeconds: 0.5 };
