import { aliasProblems } from './aliases.ts';
import { gendefaultsProblems } from './check-defaults.ts';
import { readConfigFile, unreadable } from './config-file.ts';
import { expandHome, readDiskCache } from './disk-cache.ts';
import { checkFiles } from './files.ts';
import type { FlagValue } from './flag.ts';
import {
  exclusiveGroups,
  type FlagKey,
  flagKeys,
  flagOf,
  inUse,
  type Layer,
  type Settings,
  settingsFrom,
} from './flags.ts';
import { gendefaultsNotes } from './gen-defaults.ts';
import { type Parsed, parseCommandLine } from './parse.ts';
import { badFlags, exitCodeOf, missing, type Problem } from './problem.ts';
import { remarks } from './remarks.ts';
import { remoteProblems } from './remote.ts';
import { applyRules } from './rules.ts';

export interface Sources {
  /** Without the program's own name. */
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Throws where there is no such file. */
  readonly readFile: (path: string) => string;
  readonly exists: (path: string) => boolean;
}

export type Loaded =
  | {
      readonly type: 'settings';
      readonly settings: Settings;
      /** Without what follows from the rules between flags, for whoever writes them down. */
      readonly said?: Settings;
      /** What somebody said; of a config file, which often repeats every default, only what differs from it. */
      readonly given: ReadonlySet<FlagKey>;
      readonly notes: readonly string[];
    }
  | {
      readonly type: 'refused';
      /** What was said, good or not, for whoever wants to let it be corrected. */
      readonly settings: Settings;
      readonly problems: readonly Problem[];
      readonly notes: readonly string[];
      readonly exitCode: number;
    };

/** The settings to start with: defaults, over them the config file, the environment and the command line. */
export function loadSettings(sources: Sources): Loaded {
  const commandLine = parseCommandLine(sources.arguments);
  const file = readNamedFile(commandLine.values, sources.readFile);
  const explicit = over(environmentLayer(sources.environment), commandLine.values);
  const kept = dropExcluded(file.values, explicit);
  const layer = over(kept, explicit);

  const notes = [...commandLine.notes, ...file.notes, ...overrideNotes(file.values, explicit), ...laterNotes(layer)];
  const found = [...commandLine.problems, ...file.problems];
  const given = new Set([...usedKeys(kept), ...explicit.keys()]);
  // Somebody who asks for the help or the version wants that, and not to hear of a missing file.
  if (found.length === 0 && (layer.get('help') || layer.get('version'))) {
    return { type: 'settings', settings: settingsFrom(layer), given, notes };
  }

  return settled({ layer, given, notes, problems: found }, sources);
}

export interface Unsettled {
  readonly layer: Layer;
  readonly given: ReadonlySet<FlagKey>;
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** What was said, with the rules between flags applied and everything that it names looked for. */
export function settled(
  { layer, given, notes, problems: found }: Unsettled,
  sources: Pick<Sources, 'environment' | 'exists'>,
): Loaded {
  const ruled = applyRules(settingsFrom(layer));
  const placed = placeDiskCache(ruled.settings, sources.environment);
  const checked = checkFiles(placed.settings, sources.exists);
  const defaults = gendefaultsProblems(ruled.settings);
  const aliases = aliasProblems(ruled.settings.modelalias);
  const remote = remoteProblems(ruled.settings.remote, sources.environment);
  const problems = [
    ...found,
    ...ruled.problems,
    ...defaults,
    ...placed.problems,
    ...remote,
    ...aliases,
    ...checked.problems,
  ];
  const allNotes = [
    ...notes,
    ...ruled.notes,
    ...remarks(ruled.settings),
    ...gendefaultsNotes(ruled.settings),
    ...checked.notes,
  ];
  if (problems.length > 0)
    return {
      type: 'refused',
      settings: settingsFrom(layer),
      problems,
      notes: allNotes,
      exitCode: exitCodeOf(problems),
    };
  return { type: 'settings', settings: checked.settings, said: settingsFrom(layer), given, notes: allNotes };
}

const nothing: Parsed = { values: new Map(), notes: [], problems: [] };

function readNamedFile(commandLine: Layer, readFile: Sources['readFile']): Parsed {
  const path = commandLine.get('config');
  if (typeof path !== 'string' || path === '') return nothing;
  if (/^https?:\/\//i.test(path)) {
    return { ...nothing, problems: [missing(`--config ${path}: downloading is not available yet; name a file.`)] };
  }
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ...nothing, problems: [unreadable(path, reason)] };
  }
  return readConfigFile(text, { allowOnready: commandLine.get('allow_config_onready') === true, path });
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

/** The folder with the home in its place; a value that names none is refused before anything is started for it. */
function placeDiskCache(
  settings: Settings,
  { HOME, USERPROFILE }: Sources['environment'],
): { readonly settings: Settings; readonly problems: readonly Problem[] } {
  if (settings.diskcache === '') return { settings, problems: [] };
  const diskcache = expandHome(settings.diskcache, HOME || USERPROFILE);
  if (diskcache === undefined) {
    const sentence = `--diskcache ${settings.diskcache}: the home folder is not known here; name the folder in full.`;
    return { settings, problems: [badFlags(sentence)] };
  }
  const reading = readDiskCache(diskcache);
  const problems = reading.ok ? [] : [badFlags(`--diskcache must be ${reading.expected}.`)];
  return { settings: { ...settings, diskcache }, problems };
}

const over = (lower: Layer, upper: Layer): Layer => new Map([...lower, ...upper]);

/** `--usecpu` beside a file that says Vulkan means the CPU, and not a contradiction. */
function dropExcluded(file: Layer, explicit: Layer): Layer {
  const rivals = exclusiveGroups
    .filter((group) => group.some((key) => used(explicit, key)))
    .flatMap((group) => group.filter((key) => !used(explicit, key)));
  return new Map([...file].filter(([key]) => !rivals.includes(key)));
}

function overrideNotes(file: Layer, explicit: Layer): string[] {
  const kept = dropExcluded(file, explicit);
  const replaced = [...file.keys()].filter((key) => explicit.has(key) || (!kept.has(key) && used(file, key)));
  return replaced.map((key) => `Overriding Config Value: ${key}`);
}

export function laterNotes(layer: Layer): string[] {
  const later = usedKeys(layer).filter((key) => flagOf(key).availability === 'later');
  return later.map((key) => `not available yet: ${flagOf(key).names[0]}`);
}

export const usedKeys = (layer: Layer): FlagKey[] => [...layer.keys()].filter((key) => used(layer, key));

function used(layer: Layer, key: FlagKey): boolean {
  const value = layer.get(key);
  return value !== undefined && inUse(key, value);
}
