import { PatternError } from '../patterns/parse.ts';
import { GrammarError } from './error.ts';
import type { JsonRules } from './json.ts';
import { parsePattern } from './pattern.ts';
import { patternGrammar, withLength } from './pattern-grammar.ts';
import type { Shape } from './shape.ts';

/** A string with the length and the pattern that the schema asks for. */
export function stringBody({ length, pattern }: Pick<Shape, 'length' | 'pattern'>, json: JsonRules): string {
  const { minimum, maximum } = length;
  if (!pattern) {
    if (minimum === 0 && maximum === undefined) return json.string();
    return `"\\"" ${json.rules.repeat(json.character(), minimum, maximum)} "\\""`;
  }
  const { source, part, keyword } = pattern;
  try {
    const narrowed = withLength(parsePattern(source), minimum, maximum ?? Number.POSITIVE_INFINITY);
    if (!narrowed) throw new PatternError('the lengths cannot be joined with this pattern');
    return `"\\"" ${patternGrammar(narrowed, json.rules)} "\\""`;
  } catch (error) {
    if (error instanceof PatternError) throw new GrammarError(error.message, part.pointer, keyword);
    throw error;
  }
}
