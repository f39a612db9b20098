import { badFlags, type FlagShape, type FlagValue, type Problem } from './flag.ts';
import {
  exclusiveGroups,
  type FlagKey,
  flagByName,
  flagName,
  flagOf,
  inUse,
  type Layer,
  type NamedFlag,
  sameValue,
} from './flags.ts';
import { suggest } from './suggest.ts';
import { expectation, type Reading, readTexts } from './value.ts';

export interface Parsed {
  readonly values: Layer;
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** Collects the values of one source and translates deprecated flags, which never override a current name. */
export class SourceValues {
  readonly notes: string[] = [];
  readonly #values = new Map<FlagKey, FlagValue>();
  readonly #translated = new Map<string, FlagValue>();

  add(flag: NamedFlag, name: string, reading: Extract<Reading, { ok: true }>): void {
    if (reading.clampedFrom !== undefined && 'min' in flag.definition) {
      const { min, max } = flag.definition;
      this.notes.push(`${name} ${reading.clampedFrom} is outside ${min} to ${max}; using ${reading.value}.`);
    }
    if (flag.type === 'flag') {
      this.#values.set(flag.key, this.#appended(flag, reading.value));
      return;
    }
    const { definition } = flag;
    for (const [key, value] of Object.entries(definition.translate?.(reading.value) ?? {})) {
      this.#translated.set(key, value);
    }
    // Config files contain every old key; only those that differ from the default are reported.
    if (sameValue(reading.value, definition.default)) return;
    const effect = definition.translate ? 'is deprecated' : 'is deprecated and has no effect';
    this.notes.push(`${name} ${effect}: ${definition.instead}.`);
  }

  #appended({ key, definition }: Extract<NamedFlag, { type: 'flag' }>, value: FlagValue): FlagValue {
    const before = this.#values.get(key);
    if (definition.type !== 'list' || !definition.repeats) return value;
    return Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }

  has(key: string): boolean {
    return this.#values.has(key as FlagKey);
  }

  parsed(problems: readonly Problem[]): Parsed {
    const values = new Map([...(this.#translated as Map<FlagKey, FlagValue>), ...this.#values]);
    const conflicts = exclusiveGroups.flatMap((group) => {
      const used = group.filter((key) => inUse(key, values.get(key) ?? flagOf(key).default));
      return used.length < 2 ? [] : [badFlags(`${used.map(flagName).join(' and ')} exclude each other.`)];
    });
    return { values, notes: this.notes, problems: [...problems, ...conflicts] };
  }
}

/**
 * Parses the command line as KoboldCpp does: values follow their flag or an equals sign, a list ends at the next flag, `-1`
 * is a value, and the positional arguments are the model and the port. Names cannot be abbreviated. The last occurrence of a
 * flag wins, except for lists with `repeats`.
 */
export function parseCommandLine(args: readonly string[], addOthers: AddPositional = addPositional): Parsed {
  const source = new SourceValues();
  const problems: Problem[] = [];
  const positional: string[] = [];
  let position = 0;
  let onlyValues = false;

  while (position < args.length) {
    const arg = args[position++] ?? '';
    if (onlyValues || !looksLikeFlag(arg)) {
      positional.push(arg);
    } else if (arg === '--') {
      onlyValues = true;
    } else {
      const [name, attached] = splitArgument(arg);
      const following = attached === undefined ? valuesAfter(args, position) : [];
      const flag = flagByName.get(name);
      if (!flag) {
        // The arguments after an unknown flag are most likely its values, not a model or a port.
        position += following.length;
        problems.push(unknownFlag(name));
        continue;
      }
      const texts = attached === undefined ? following.slice(0, maxValues(flag.definition)) : [attached];
      position += attached === undefined ? texts.length : 0;
      const dashed = texts.length === 0 ? unknownArgument(args[position]) : undefined;
      const problem = addTexts(source, flag, name, texts, dashed);
      if (problem) problems.push(problem);
      // The problem names this argument as a probable value; do not report it as an unknown flag too.
      if (problem && dashed !== undefined) position += 1;
    }
  }

  problems.push(...addOthers(source, positional));
  return source.parsed(problems);
}

/** `-1`, `-.5` and a single dash are values. */
function looksLikeFlag(arg: string): boolean {
  return arg.length > 1 && arg.startsWith('-') && !/^-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(arg);
}

function maxValues(shape: FlagShape): number {
  if (shape.type === 'switch') return 0;
  return shape.type === 'list' ? (shape.most ?? Number.POSITIVE_INFINITY) : 1;
}

function splitArgument(arg: string): [name: string, attached: string | undefined] {
  const equals = arg.indexOf('=');
  return equals < 0 ? [arg, undefined] : [arg.slice(0, equals), arg.slice(equals + 1)];
}

function valuesAfter(args: readonly string[], start: number): readonly string[] {
  const end = args.findIndex((arg, index) => index >= start && looksLikeFlag(arg));
  return args.slice(start, end < 0 ? args.length : end);
}

function addTexts(
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
    return badFlags(`${name} is empty. Omit the flag to run the server without a key.`);
  }
  source.add(flag, name, reading);
  return undefined;
}

function needs(name: string, shape: FlagShape, texts: readonly string[], dashed: string | undefined): string {
  const got = texts.length > 0 ? `, not ${texts.join(' ')}` : '';
  const hint = dashed === undefined ? '' : ` (write ${name}=${dashed} for a value that begins with a dash)`;
  return `${name} needs ${expectation(shape)}${got}${hint}.`;
}

/** The next argument if it looks like a flag but is not one, so that it is probably a value. */
function unknownArgument(arg: string | undefined): string | undefined {
  return arg === undefined || arg === '--' || flagByName.has(splitArgument(arg)[0]) ? undefined : arg;
}

function unknownFlag(name: string): Problem {
  const near = suggest(name, flagByName.keys());
  return badFlags(`${name} is not a flag${near ? `; did you mean ${near}?` : '; --help lists them all.'}`);
}

type AddPositional = (source: SourceValues, args: readonly string[]) => Iterable<Problem>;

/** `parley run NAME [PROMPT]`, where the prompt may be several arguments. */
export function* addRunArguments(source: SourceValues, [name, ...prompt]: readonly string[]): Iterable<Problem> {
  if (name === undefined && (source.has('help') || source.has('version'))) return;
  if (name === undefined) {
    yield badFlags('parley run needs the name of a model: parley run OWNER/NAME or parley run qwen3:8b');
    return;
  }
  yield* addWithoutFlag(source, '--model', `name:${name}`, name);
  const text = prompt.join(' ');
  if (prompt.length > 0) yield* addWithoutFlag(source, '--prompt', text, text);
}

/** A model and a port. */
function* addPositional(source: SourceValues, [model, port, ...others]: readonly string[]): Iterable<Problem> {
  const modelFlag = /\.kcpp[st]$/i.test(model ?? '') ? '--config' : '--model';
  if (model !== undefined) yield* addWithoutFlag(source, modelFlag, model, `the first positional argument (${model})`);
  if (port !== undefined) yield* addWithoutFlag(source, '--port', port, `the second positional argument (${port})`);
  for (const text of others)
    yield badFlags(`${text} belongs to no flag; only a model and a port can be positional arguments.`);
}

/** Adds the value of a flag that was given without its name. */
function* addWithoutFlag(source: SourceValues, name: string, text: string, origin: string): Iterable<Problem> {
  const flag = flagByName.get(name) as NamedFlag;
  const problem = source.has(flag.key)
    ? badFlags(`${name} is given twice: by its flag, and as ${origin}.`)
    : addTexts(source, flag, name, [text], undefined);
  if (problem) yield problem;
}
