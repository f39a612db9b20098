import { AppError } from '../core/errors.ts';

/** A schema that no grammar can follow, or that is no schema: which keyword, where, and why. */
export class GrammarError extends AppError<'invalid-field'> {
  constructor(
    readonly reason: string,
    readonly pointer: string,
    readonly keyword?: string,
  ) {
    const place = keyword === undefined ? pointer : `${pointer} (${keyword})`;
    super('invalid-field', {
      field: 'schema',
      expected: `a JSON schema that a grammar can follow, but at ${place} ${reason}`,
    });
  }
}

/** The grammar has grown too large: the fault of no keyword, but of all that was asked for together. */
export class GrammarLimitError extends GrammarError {
  constructor(reason: string) {
    super(reason, '#');
  }
}

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
