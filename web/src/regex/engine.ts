import { PatternError } from '../../../src/patterns/errors.ts';
import { maxResultLength, replaceMatches } from '../../../src/patterns/replace.ts';
import { compilePattern, type PatternProgram } from '../../../src/patterns/search.ts';
import type { RegexScript } from '../conversations/regex-script.ts';
import { patternProblem } from '../story/pattern-texts.ts';

/**
 * Runs regex scripts, which others may have written: they are never run by the engine of the browser, which some expressions
 * would block forever, but searched in linear time. What this cannot search is refused with the reason.
 */

/** Resolves macros of a text; `quote` is applied to what they stand for. */
export type Resolve = (text: string, quote?: (value: string) => string) => string;

interface Compiled {
  readonly program: PatternProgram;
  readonly global: boolean;
}

const compiled = new Map<string, Compiled | PatternError>();
const maxCompiled = 300;
const knownFlags = 'gimsu';

/** Throws a PatternError if the script cannot be run. */
export function runScript(script: RegexScript, text: string, resolve: Resolve): string {
  const { program, global } = compiledPattern(patternOf(script, resolve));
  const { trim } = script;
  const template = script.replace.replaceAll(/\{\{match\}\}/gi, () => '$0');
  const trimmed = (match: string): string => trim.reduce((rest, one) => rest.replaceAll(resolve(one), ''), match);
  return replaceMatches(
    program,
    text,
    ({ groups, named }) => {
      let length = template.length;
      const inserted = (number: string | undefined, name: string): string => {
        const group = number === undefined ? Object.hasOwn(named, name) && named[name] : groups[Number(number)];
        const value = trimmed(group || '');
        length += value.length;
        if (length > maxResultLength) throw new PatternError('result');
        return value;
      };
      return resolve(template.replaceAll(/\$(\d{1,2})|\$<([^>]+)>/g, (_, number, name) => inserted(number, name)));
    },
    { global },
  );
}

/** Why a script cannot be run; undefined if it can. Begins with “the pattern”. */
export function problemOf(script: RegexScript): string | undefined {
  try {
    // What macros stand for is not known here; their braces are characters.
    compiledPattern(script.find);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof PatternError) return patternProblem(thrown);
    throw thrown;
  }
}

function patternOf({ find, macros }: RegexScript, resolve: Resolve): string {
  if (macros === 'none') return find;
  return macros === 'raw' ? resolve(find) : resolve(find, (value) => value.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
}

function compiledPattern(find: string): Compiled {
  const known = compiled.get(find);
  const made = known ?? compile(find);
  if (!known) {
    if (compiled.size >= maxCompiled) compiled.clear();
    compiled.set(find, made);
  }
  if (made instanceof PatternError) throw made;
  return made;
}

function compile(find: string): Compiled | PatternError {
  const [, source = find, flags = ''] = /^\/([\s\S]+)\/([a-zA-Z]*)$/.exec(find) ?? [];
  const unknown = [...flags].find((flag) => !knownFlags.includes(flag));
  if (unknown !== undefined) return new PatternError('flag', { detail: unknown });
  if (source === '') return new PatternError('empty');
  try {
    const program = compilePattern(source, {
      ignoreCase: flags.includes('i'),
      multiline: flags.includes('m'),
      dotAll: flags.includes('s'),
      lenient: true,
    });
    return { program, global: flags.includes('g') };
  } catch (thrown) {
    if (thrown instanceof PatternError) return thrown;
    throw thrown;
  }
}
