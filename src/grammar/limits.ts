/**
 * A schema comes from a stranger, and a few bytes of it can ask for a huge grammar. Each limit is far above what
 * sensible schemas need; past it the schema is refused with a sentence.
 */
export const limits = {
  /** How deep schemas, values and groups of a pattern may be nested. */
  depth: 64,
  rules: 4000,
  /** A greater minimum is refused, a greater maximum is lowered to this. */
  repetition: 100_000,
  /** The engine writes every counted repetition out, so their sum is what a grammar costs there. */
  totalRepetition: 40_000,
  /** How many positions the nested counts of a pattern may have, since the engine may have to follow all of them. */
  positions: 2000,
  /** Choices that begin alike are followed side by side, each at a cost per character. */
  alternatives: 1000,
  grammarLength: 1_000_000,
} as const;

/**
 * What the schemas of one grammar may have together, however many they are; each alone keeps to the limits above. With the
 * names of the tools this stays below what the engine takes at all.
 */
export const togetherLimits = {
  rules: 20_000,
  totalRepetition: 80_000,
  grammarLength: 900_000,
  /** Characters, references and choices of the rules as they are written. */
  steps: 300_000,
} as const;
