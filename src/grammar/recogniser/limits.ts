/**
 * What a grammar from a stranger may cost. Real ones stay far below: that of 150 tools with ordinary schemas has some
 * 500,000 characters and 100,000 steps.
 */
export const grammarLimits = {
  characters: 1_200_000,
  /** Groups inside of groups. */
  nesting: 200,
  /** Characters, references and choices, with every counted repetition written out. */
  steps: 500_000,
  /** Looks at a step of the grammar for one token of the text; some tens of milliseconds. */
  work: 500_000,
} as const;
