import { aliasProblems } from './aliases.ts';
import { readConfigFile, unreadable } from './config-file.ts';
import { engineProblems, mergedEngines } from './engine.ts';
import { badFlags, type FlagValue, missing, type Problem } from './flag.ts';
import {
  exclusiveGroups,
  type FlagKey,
  flagKeys,
  flagName,
  flagOf,
  inUse,
  type Layer,
  type Settings,
  settingsFrom,
} from './flags.ts';
import { gendefaultsNotes, gendefaultsProblems } from './gen-defaults.ts';
import { addRunArguments, type Parsed, parseCommandLine } from './parse.ts';
import { checkDiskCache, checkFiles } from './paths.ts';
import { remoteProblems } from './remote.ts';
import { applyRules, settingsNotes } from './rules.ts';
import { traceProblems } from './trace.ts';

export interface Sources {
  /** Without the program name. */
  readonly arguments: readonly string[];
  /** `parley run`: the first positional argument is the name of a model, the others are a prompt. */
  readonly runs?: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Throws if the file does not exist. */
  readonly readFile: (path: string) => string;
  readonly exists: (path: string) => boolean;
}

export type Loaded =
  | {
      readonly type: 'settings';
      readonly settings: Settings;
      /** The settings before `applyRules`, for writing them to a config file. */
      readonly beforeRules?: Settings;
      /** Keys that were set explicitly. Config files often contain every default; only values that differ from it count. */
      readonly given: ReadonlySet<FlagKey>;
      readonly notes: readonly string[];
    }
  | {
      readonly type: 'refused';
      /** The settings as given, valid or not, so that the launcher can show them for correction. */
      readonly settings: Settings;
      readonly problems: readonly Problem[];
      readonly notes: readonly string[];
      readonly exitCode: number;
    };

/** Loads the settings: the defaults, overridden by the config file, the environment and the command line, in that order. */
export function loadSettings(sources: Sources): Loaded {
  const commandLine = withHubModel(parseCommandLine(sources.arguments, sources.runs ? addRunArguments : undefined));
  const file = readNamedFile(commandLine.values, sources.readFile);
  const explicit = over(environmentLayer(sources.environment), commandLine.values);
  const fromFile = dropExcluded(file.values, explicit);
  const layer = over(fromFile, explicit);

  const notes = [
    ...commandLine.notes,
    ...file.notes,
    ...overrideNotes(file.values, explicit),
    ...unsupportedNotes(layer),
  ];
  const sourceProblems = [...commandLine.problems, ...file.problems];
  const given = new Set([...usedKeys(fromFile), ...explicit.keys()]);
  // --help and --version work even if a file is missing.
  if (sourceProblems.length === 0 && (layer.get('help') || layer.get('version'))) {
    return { type: 'settings', settings: settingsFrom(layer), given, notes };
  }

  return validated({ values: layer, given, notes, problems: sourceProblems }, sources);
}

/** `--hf-repo` and `--hf-file` are another way to write `--model`. */
function withHubModel({ values, notes, problems }: Parsed): Parsed {
  const [repository, file] = [values.get('hf_repo'), values.get('hf_file')].map((text) => String(text ?? ''));
  if (!repository) {
    const sentence = '--hf-file needs --hf-repo: the repository on the hub that has the file.';
    return { values, notes, problems: file ? [...problems, badFlags(sentence)] : problems };
  }
  const name = repository.replace(/^hf:/, '');
  const model = file ? `${name.replace(/:[^:]*$/, '')}/${file}` : name;
  const others = [...values].filter(([key]) => key !== 'hf_repo' && key !== 'hf_file');
  return { values: new Map([...others, ['model', [`hf:${model}`]]]), notes, problems };
}

/** Applies the rules between flags to the values of all sources, and checks everything that they refer to. */
export function validated(
  { values, given, notes, problems: sourceProblems }: Parsed & { readonly given: ReadonlySet<FlagKey> },
  sources: Pick<Sources, 'environment' | 'exists'>,
  downloads = true,
): Loaded {
  const beforeRules = settingsFrom(values);
  const ruled = applyRules(beforeRules, given);
  const cached = checkDiskCache(ruled.settings, sources.environment);
  const checked = checkFiles(cached.settings, sources.exists, downloads);
  const problems = [
    ...sourceProblems,
    ...ruled.problems,
    ...gendefaultsProblems(ruled.settings),
    ...cached.problems,
    ...engineProblems(ruled.settings.engine),
    ...remoteProblems(ruled.settings.remote, sources.environment),
    ...aliasProblems(ruled.settings.modelalias),
    ...traceProblems(ruled.settings.trace),
    ...checked.problems,
  ];
  const allNotes = [
    ...notes,
    ...ruled.notes,
    ...settingsNotes(ruled.settings),
    ...gendefaultsNotes(ruled.settings),
    ...checked.notes,
  ];
  if (problems.length === 0)
    return { type: 'settings', settings: checked.settings, beforeRules, given, notes: allNotes };
  // Wrong flags first: the files may exist once the flags are right.
  const exitCode = problems.some((problem) => problem.exitCode === 1) ? 1 : 2;
  return { type: 'refused', settings: beforeRules, problems, notes: allNotes, exitCode };
}

const nothing: Parsed = { values: new Map(), notes: [], problems: [] };

function readNamedFile(commandLine: Layer, readFile: Sources['readFile']): Parsed {
  const path = commandLine.get('config');
  if (typeof path !== 'string' || path === '') return nothing;
  if (/^https?:\/\//i.test(path)) {
    return { ...nothing, problems: [missing(`--config ${path}: downloading is not available yet; name a file.`)] };
  }
  return readConfig(path, commandLine.get('allow_config_onready') === true, readFile);
}

function readConfig(path: string, allowOnready: boolean, readFile: Sources['readFile']): Parsed {
  try {
    return readConfigFile(readFile(path), { allowOnready, path });
  } catch (error) {
    return { ...nothing, problems: [unreadable(path, (error as Error).message)] };
  }
}

function environmentLayer(environment: Sources['environment']): Layer {
  const values = new Map<FlagKey, FlagValue>();
  for (const key of flagKeys) {
    const value = flagOf(key)
      .environment?.map((name) => environment[name])
      .find(Boolean);
    if (value) values.set(key, value);
  }
  return values;
}

const over = (lower: Layer, upper: Layer): Layer => new Map([...lower, ...upper]);

/** Drops file values that exclude an explicit flag: `--usecpu` overrides `usevulkan` of the file. */
function dropExcluded(file: Layer, explicit: Layer): Layer {
  const rivals = exclusiveGroups
    .filter((group) => group.some((key) => used(explicit, key)))
    .flatMap((group) => group.filter((key) => !used(explicit, key)));
  return new Map([...file].filter(([key]) => !rivals.includes(key)));
}

function overrideNotes(file: Layer, explicit: Layer): string[] {
  const remaining = dropExcluded(file, explicit);
  const replaced = [...file.keys()].filter((key) => explicit.has(key) || (!remaining.has(key) && used(file, key)));
  return replaced.map((key) => `Overriding Config Value: ${key}`);
}

function unsupportedNotes(layer: Layer): string[] {
  const unsupported = usedKeys(layer).filter((key) => flagOf(key).unsupported);
  return unsupported.map((key) => `not available yet: ${flagName(key)}`);
}

const usedKeys = (layer: Layer): FlagKey[] => [...layer.keys()].filter((key) => used(layer, key));

function used(layer: Layer, key: FlagKey): boolean {
  const value = layer.get(key);
  return value !== undefined && inUse(key, value);
}

/** What a running server should serve next: a config file, a model file, nothing, or what it served at startup. */
export type ReloadTarget =
  | { readonly type: 'config'; readonly path: string }
  | { readonly type: 'model'; readonly path: string }
  | { readonly type: 'unload' }
  | { readonly type: 'initial' };

/** Keep their values whatever config is loaded. */
const serverKeys = flagKeys.filter((key) => flagOf(key).scope === 'server');

export type Running = Pick<Extract<Loaded, { type: 'settings' }>, 'settings' | 'given'>;

/**
 * Settings for the target: the defaults, overridden by the base config, by the config of the target and by `own`, in which null
 * stands for the default.
 */
export function reloadSettings(
  target: ReloadTarget,
  base: string | undefined,
  initial: Running,
  sources: Pick<Sources, 'readFile' | 'environment' | 'exists'>,
  own: Layer = new Map(),
): Loaded {
  const isInitial = target.type === 'initial';
  if (isInitial && own.size === 0) return { type: 'settings', ...initial, notes: [] };
  const problems: Problem[] = [];
  const notes: string[] = [];
  const layer = new Map<FlagKey, FlagValue>();
  if (isInitial) for (const key of initial.given) layer.set(key, initial.settings[key]);
  const files = [base, target.type === 'config' ? target.path : undefined];
  for (const path of isInitial || target.type === 'unload' ? [] : files) {
    if (path === undefined) continue;
    const parsed = readConfig(path, initial.settings.allow_config_onready, sources.readFile);
    problems.push(...parsed.problems);
    notes.push(...parsed.notes);
    // An empty value in a later file does not override an earlier one.
    for (const [key, value] of parsed.values) if (!isEmpty(value)) layer.set(key, value);
  }
  if (target.type === 'model') layer.set('model', [target.path]).delete('nomodel');
  if (target.type === 'unload') layer.set('nomodel', true);
  const engines = mergedEngines(layer.get('engine'), initial.settings.engine);
  for (const key of serverKeys) {
    if (initial.given.has(key) || inUse(key, initial.settings[key])) layer.set(key, initial.settings[key]);
    else layer.delete(key);
  }
  if (!isInitial && engines) layer.set('engine', engines);
  else if (!isInitial) layer.delete('engine');
  for (const [key, value] of own) value === null ? layer.delete(key) : layer.set(key, value);
  const unchanged = isInitial ? [...layer.keys()] : serverKeys.filter((key) => initial.given.has(key));
  const set = [...own.keys()].filter((key) => layer.has(key));
  const given = new Set([...usedKeys(layer), ...unchanged, ...set]);
  return validated({ values: layer, given, notes: [...notes, ...unsupportedNotes(layer)], problems }, sources, false);
}

function isEmpty(value: FlagValue): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
