import type { FlagDefinition, FlagValue, ValueOf } from './flag.ts';
import { adminFlags } from './flags/admin.ts';
import { audioFlags } from './flags/audio.ts';
import { chatFlags } from './flags/chat.ts';
import { type DeprecatedFlag, deprecatedFlags } from './flags/deprecated.ts';
import { generationFlags } from './flags/generation.ts';
import { hordeFlags } from './flags/horde.ts';
import { imageFlags } from './flags/image.ts';
import { internalFlags } from './flags/internal.ts';
import { mainFlags } from './flags/main.ts';
import { memoryFlags } from './flags/memory.ts';
import { ourFlags } from './flags/ours.ts';
import { runFlags } from './flags/run.ts';
import { serverFlags } from './flags/server.ts';

/** Every flag, by the key that it has in config files and in `Settings`. */
export const flags = {
  ...mainFlags,
  ...memoryFlags,
  ...generationFlags,
  ...chatFlags,
  ...serverFlags,
  ...runFlags,
  ...ourFlags,
  ...hordeFlags,
  ...imageFlags,
  ...audioFlags,
  ...adminFlags,
  ...internalFlags,
};

export type FlagKey = keyof typeof flags;
export type Settings = { readonly [Key in FlagKey]: ValueOf<(typeof flags)[Key]> };

/** Values from one source, before they are put over those of the others. */
export type Layer = ReadonlyMap<FlagKey, FlagValue>;

export interface FlagGroup {
  readonly title: string;
  readonly keys: readonly FlagKey[];
}

const group = (title: string, table: object): FlagGroup => ({ title, keys: Object.keys(table) as FlagKey[] });

export const flagGroups: readonly FlagGroup[] = [
  group('Main', mainFlags),
  group('Model and memory', memoryFlags),
  group('Generation and context', generationFlags),
  group('Chat', chatFlags),
  group('Server', serverFlags),
  group('Other ways to run', runFlags),
  group("Parley's own", ourFlags),
  group('AI Horde', hordeFlags),
  group('Images', imageFlags),
  group('Speech, music and embeddings', audioFlags),
  group('Administration and shared GPUs', adminFlags),
  group('Internal', internalFlags),
];

export const flagKeys = Object.keys(flags) as FlagKey[];

/** At most one flag of each group may be in use. */
export const exclusiveGroups: readonly (readonly FlagKey[])[] = [
  ['usecuda', 'usevulkan', 'usecpu'],
  ['usemmap', 'usedirectio'],
  ['sdvae', 'sdvaeauto'],
  ['sdlora', 'sdquant'],
  ['sdmodel', 'sdremote'],
];

/** The row without its literal types, for code that treats all rows alike. */
export function flagOf(key: FlagKey): FlagDefinition {
  return flags[key];
}

/** The settings that a layer over the defaults makes. Every value in a layer was read by its row, so it has its type. */
export function settingsFrom(layer: Layer): Settings {
  const entries = flagKeys.map((key): [FlagKey, FlagValue] => [key, layer.get(key) ?? flagOf(key).default]);
  return Object.fromEntries(entries) as Record<FlagKey, FlagValue> as Settings;
}

export const defaultSettings: Settings = settingsFrom(new Map());

/** What a name on the command line stands for. */
export type NamedFlag =
  | { readonly type: 'flag'; readonly key: FlagKey; readonly definition: FlagDefinition }
  | { readonly type: 'deprecated'; readonly key: string; readonly definition: DeprecatedFlag };

export const flagByName: ReadonlyMap<string, NamedFlag> = new Map([
  ...flagKeys.flatMap((key) => named(flagOf(key).names, { type: 'flag', key, definition: flagOf(key) })),
  ...Object.entries(deprecatedFlags).flatMap(([key, definition]) =>
    named(definition.names, { type: 'deprecated', key, definition }),
  ),
]);

/** Config files use the long names, older ones too, without dashes in front and with underscores inside. */
export const flagByFileKey: ReadonlyMap<string, NamedFlag> = new Map(
  [...flagByName].filter(([name]) => name.startsWith('--')).map(([name, flag]) => [fileKey(name), flag]),
);

export function fileKey(name: string): string {
  return name.replace(/^--/, '').replaceAll('-', '_');
}

function named(names: readonly string[], flag: NamedFlag): [string, NamedFlag][] {
  return names.map((name) => [name, flag]);
}

/** Whether a value says anything at all, rather than repeating the default. */
export function inUse(key: FlagKey, value: FlagValue): boolean {
  return !sameValue(value, flagOf(key).default);
}

export function sameValue(left: FlagValue, right: FlagValue): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}
