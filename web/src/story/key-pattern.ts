import { PatternError } from '../../../src/patterns/errors.ts';
import { compilePattern, PatternSearch } from '../../../src/patterns/search.ts';
import { patternProblem } from './pattern-texts.ts';

/** A regular expression of a lorebook. */
export interface KeyPattern {
  readonly test: (text: string) => boolean;
}

export interface RefusedPattern {
  /** Begins with “the pattern”. */
  readonly reason: string;
}

/** Steps of the pattern times characters of the text. Longer texts are searched at their end. */
const mostWork = 4_000_000;

/**
 * Compiles an expression that somebody else wrote. It is not run by the browser, which some expressions would block forever,
 * but searched in linear time; what this cannot search is refused.
 */
export function keyPattern(source: string, flags: string): KeyPattern | RefusedPattern {
  const unknown = [...flags].find((flag) => !'dgimsuvy'.includes(flag));
  try {
    if (unknown !== undefined) throw new PatternError('flag', { detail: unknown });
    const program = compilePattern(source, {
      ignoreCase: flags.includes('i'),
      multiline: flags.includes('m'),
      dotAll: flags.includes('s'),
    });
    // The same text is searched again with every change of the page.
    let last: { readonly text: string; readonly found: boolean } | undefined;
    return {
      test: (text) => {
        const searched = text.slice(-Math.floor(mostWork / program.steps.length));
        if (last?.text !== searched) last = { text: searched, found: matches(new PatternSearch(program), searched) };
        return last.found;
      },
    };
  } catch (thrown) {
    if (thrown instanceof PatternError) return { reason: patternProblem(thrown) };
    throw thrown;
  }
}

function matches(search: PatternSearch, text: string): boolean {
  let place = 0;
  for (const character of text) {
    search.push(character.codePointAt(0) as number, place);
    if (search.matched) return true;
    place += character.length;
  }
  return search.found(place) !== undefined;
}
