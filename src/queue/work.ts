/**
 * The kinds of work that stand in the one queue. `cost` is how much of its client's turn a piece of work takes, a text being
 * 1; the guess stands for how long it takes until some of it was seen.
 */
export const workKinds = {
  text: { cost: 1, firstGuessSeconds: 5 },
  /** Saving or loading a state. Never free, or a series of them would starve other clients. */
  state: { cost: 0.25, firstGuessSeconds: 0.5 },
  embedding: { cost: 0.1, firstGuessSeconds: 0.2 },
  speech: { cost: 0.5, firstGuessSeconds: 2 },
  transcription: { cost: 1, firstGuessSeconds: 5 },
  image: { cost: 2, firstGuessSeconds: 20 },
} as const;

export type WorkKind = keyof typeof workKinds;
