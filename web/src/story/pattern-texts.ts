import { PatternError, patternReasons, sentenceOf } from '../../../src/patterns/errors.ts';
import { translatable } from '../languages/index.ts';

/** Why a regular expression of a lorebook or a script is refused. All begin with “the pattern”. */
export const texts = translatable('patterns', patternReasons);

/** The reason of an error in the language of the page. */
export function patternProblem(error: unknown): string {
  if (error instanceof PatternError) return sentenceOf(texts, error.reason, error.detail);
  return error instanceof Error ? error.message : String(error);
}
