import type { FlagShape } from './flag.ts';
import { type FlagKey, flagByName, type Layer, type NamedFlag } from './flags.ts';
import { badFlags, type Problem } from './problem.ts';
import { SourceValues } from './source-values.ts';
import { suggest } from './suggest.ts';
import { expectation, readTexts } from './value.ts';

export interface Parsed {
  readonly values: Layer;
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/**
 * The command line in the manner of KoboldCpp: values follow their flag or an equals sign, a list ends at the next flag,
 * `-1` is a value, and what belongs to no flag is the model and then the port. Names must be whole. A flag that is
 * repeated counts the last time, unless it is one that collects.
 */
export function parseCommandLine(words: readonly string[]): Parsed {
  const source = new SourceValues();
  const problems: Problem[] = [];
  const loose: string[] = [];
  let position = 0;
  let onlyValues = false;

  while (position < words.length) {
    const word = words[position++] ?? '';
    if (onlyValues || !looksLikeFlag(word)) {
      loose.push(word);
    } else if (word === '--') {
      onlyValues = true;
    } else {
      const [name, attached] = splitWord(word);
      const following = attached === undefined ? valuesAfter(words, position) : [];
      const flag = flagByName.get(name);
      if (!flag) {
        // What follows an unknown flag was most likely its value, and not a model or a port.
        position += following.length;
        problems.push(unknownFlag(name));
        continue;
      }
      const texts = attached === undefined ? following.slice(0, mostValues(flag.definition)) : [attached];
      position += attached === undefined ? texts.length : 0;
      const dashed = texts.length === 0 ? unknownWord(words[position]) : undefined;
      const problem = take(source, flag, name, texts, dashed);
      if (problem) problems.push(problem);
      // The hint names the dashed value already; as a flag of its own it would only be reported twice.
      if (problem && dashed !== undefined) position += 1;
    }
  }

  problems.push(...takePositional(source, loose));
  return { values: source.values(), notes: source.notes, problems: [...problems, ...source.problems] };
}

/** `-1` and `-.5` are values; a lone dash is one too. */
function looksLikeFlag(word: string): boolean {
  return word.length > 1 && word.startsWith('-') && !/^-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word);
}

function mostValues(shape: FlagShape): number {
  if (shape.type === 'switch') return 0;
  return shape.type === 'list' ? (shape.most ?? Number.POSITIVE_INFINITY) : 1;
}

function splitWord(word: string): [name: string, attached: string | undefined] {
  const equals = word.indexOf('=');
  return equals < 0 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)];
}

function valuesAfter(words: readonly string[], start: number): readonly string[] {
  const end = words.findIndex((word, index) => index >= start && looksLikeFlag(word));
  return words.slice(start, end < 0 ? words.length : end);
}

function take(
  source: SourceValues,
  flag: NamedFlag,
  name: string,
  texts: readonly string[],
  dashed: string | undefined,
): Problem | undefined {
  const { definition } = flag;
  if (definition.type === 'switch' && texts.length > 0) return badFlags(`${name} takes no value.`);
  const reading = readTexts(definition, texts);
  if (!reading.ok) return badFlags(needs(name, definition, texts, dashed));
  if (definition.type === 'text' && definition.secret && definition.default === null && reading.value === '') {
    return badFlags(`${name} is empty, which would leave the server open; leave the flag out if that is meant.`);
  }
  source.take(flag, name, reading);
  return undefined;
}

function needs(name: string, shape: FlagShape, texts: readonly string[], dashed: string | undefined): string {
  const got = texts.length > 0 ? `, not ${texts.join(' ')}` : '';
  const hint = dashed === undefined ? '' : ` (a value that begins with a dash is written ${name}=${dashed})`;
  return `${name} needs ${expectation(shape)}${got}${hint}.`;
}

/** The next word, where it looks like a flag and is none: probably a value. */
function unknownWord(word: string | undefined): string | undefined {
  return word === undefined || word === '--' || flagByName.has(splitWord(word)[0]) ? undefined : word;
}

function unknownFlag(name: string): Problem {
  const near = suggest(name, flagByName.keys());
  return badFlags(`${name} is not a flag${near ? `; did you mean ${near}?` : '; --help lists them all.'}`);
}

const positional: readonly { readonly key: FlagKey; readonly name: string; readonly place: string }[] = [
  { key: 'model', name: '--model', place: 'the first argument without a flag' },
  { key: 'port', name: '--port', place: 'the second argument without a flag' },
];

function* takePositional(source: SourceValues, loose: readonly string[]): Iterable<Problem> {
  for (const [index, text] of loose.entries()) {
    const target = positional[index];
    if (!target) {
      yield badFlags(`${text} belongs to no flag; only a model and a port can stand alone.`);
      continue;
    }
    const configFile = target.key === 'model' && /\.kcpp[st]$/i.test(text);
    const name = configFile ? '--config' : target.name;
    const flag = flagByName.get(name);
    if (!flag) continue;
    if (source.has(flag.key)) {
      yield badFlags(`${name} is given twice: by its flag, and as ${target.place} (${text}).`);
      continue;
    }
    const problem = take(source, flag, name, [text], undefined);
    if (problem) yield problem;
  }
}
