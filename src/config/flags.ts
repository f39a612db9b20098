import type { DeprecatedFlag, FlagDefinition, FlagValue, TabName, ValueOf } from './flag.ts';
import { deprecatedFlags } from './flags/deprecated.ts';
import { audioFlags, embeddingsFlags, imageFlags } from './flags/media.ts';
import { chatFlags, generationFlags, memoryFlags } from './flags/model.ts';
import { musicFiles, musicFlags } from './flags/music.ts';
import {
  adminFlags,
  hordeFlags,
  internalFlags,
  mainFlags,
  parleyFlags,
  runFlags,
  serverFlags,
} from './flags/server.ts';

const soundFlags = { ...audioFlags, ...musicFlags, ...embeddingsFlags };

/** All flags, by their key in config files and in `Settings`. */
export const flags = {
  ...mainFlags,
  ...memoryFlags,
  ...generationFlags,
  ...chatFlags,
  ...serverFlags,
  ...runFlags,
  ...parleyFlags,
  ...hordeFlags,
  ...imageFlags,
  ...soundFlags,
  ...adminFlags,
  ...internalFlags,
};

export type FlagKey = keyof typeof flags;
export type Settings = { readonly [Key in FlagKey]: ValueOf<(typeof flags)[Key]> };

/** Values from one source (command line, config file, environment). */
export type Layer = ReadonlyMap<FlagKey, FlagValue>;

export type FlagGroup = ReturnType<typeof group>;

/** `tab`: the launcher tab of the flags; none for flags that do not configure a server. */
const group = (title: string, table: object, tab?: TabName) => ({ title, keys: Object.keys(table) as FlagKey[], tab });

export const flagGroups: readonly FlagGroup[] = [
  group('Main', mainFlags, 'Hardware'),
  group('Model and memory', memoryFlags, 'Hardware'),
  group('Generation and context', generationFlags, 'Context'),
  group('Chat', chatFlags, 'Tokens/Chat'),
  group('Server', serverFlags, 'Network'),
  group('Other ways to run', runFlags),
  group("Parley's own", parleyFlags, 'Network'),
  group('AI Horde', hordeFlags, 'Network'),
  group('Images', imageFlags, 'Image'),
  group('Speech, music and embeddings', soundFlags, 'Audio'),
  group('Administration and shared GPUs', adminFlags, 'Admin'),
  group('Internal', internalFlags),
];

export const flagKeys = Object.keys(flags) as FlagKey[];

/** At most one flag of each group may be set. */
export const exclusiveGroups: readonly (readonly FlagKey[])[] = [
  ['model', 'hf_repo'],
  ['usecuda', 'usevulkan', 'usecpu'],
  ['usemmap', 'usedirectio'],
  ['sdvae', 'sdvaeauto'],
  ['sdlora', 'sdquant'],
  ['sdmodel', 'sdremote'],
];

/** All files of a group must be set, or none; `rule` says why. */
export const fileGroups: readonly { readonly rule: string; readonly files: readonly FlagKey[] }[] = [
  { rule: 'A music model has four files', files: musicFiles },
];

/** The row without its literal types, for code that handles all rows alike. */
export const flagOf = (key: FlagKey): FlagDefinition => flags[key];

/** Whether the value is a password or a key. */
export function isSecret(key: FlagKey): boolean {
  const flag = flagOf(key);
  return 'secret' in flag && flag.secret === true;
}

/** `--name` */
export const flagName = (key: FlagKey): string => flags[key].names[0];

/** The defaults, overridden by the layer. Layer values were parsed by their rows, so they have the right types. */
export function settingsFrom(layer: Layer): Settings {
  const entries = flagKeys.map((key): [FlagKey, FlagValue] => [key, layer.get(key) ?? flagOf(key).default]);
  return Object.fromEntries(entries) as Record<FlagKey, FlagValue> as Settings;
}

export const defaultSettings: Settings = settingsFrom(new Map());

/** The flag that a name on the command line or a key in a config file refers to. */
export type NamedFlag =
  | { readonly type: 'flag'; readonly key: FlagKey; readonly definition: FlagDefinition }
  | { readonly type: 'deprecated'; readonly key: string; readonly definition: DeprecatedFlag };

export const flagByName: ReadonlyMap<string, NamedFlag> = new Map([
  ...flagKeys.flatMap((key) => named(flagOf(key).names, { type: 'flag', key, definition: flagOf(key) })),
  ...Object.entries(deprecatedFlags).flatMap(([key, definition]) =>
    named(definition.names, { type: 'deprecated', key, definition }),
  ),
]);

export const fileKey = (name: string): string => name.replace(/^--/, '').replaceAll('-', '_');

/** Config files use the long names, including deprecated ones, without leading dashes and with underscores. */
export const flagByFileKey: ReadonlyMap<string, NamedFlag> = new Map(
  [...flagByName].filter(([name]) => name.startsWith('--')).map(([name, flag]) => [fileKey(name), flag]),
);

function named(names: readonly string[], flag: NamedFlag): [string, NamedFlag][] {
  return names.map((name) => [name, flag]);
}

/** Whether a value differs from the default. */
export const inUse = (key: FlagKey, value: FlagValue): boolean => !sameValue(value, flagOf(key).default);

export function sameValue(left: FlagValue, right: FlagValue): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}
