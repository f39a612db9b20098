import { readConfigFile, unreadable } from './config-file.ts';
import type { FlagValue, Problem } from './flag.ts';
import { type FlagKey, flagKeys, flagOf, inUse, type Settings } from './flags.ts';
import { type Loaded, type Sources, unsupportedNotes, usedKeys, validated } from './load.ts';

/** What a running server should serve next: a config file, a model file, nothing, or what it served at startup. */
export type ReloadTarget =
  | { readonly type: 'config'; readonly path: string }
  | { readonly type: 'model'; readonly path: string }
  | { readonly type: 'unload' }
  | { readonly type: 'initial' };

/** Keep their values whatever config is loaded. */
const serverKeys = flagKeys.filter((key) => flagOf(key).scope === 'server');

export interface Running {
  readonly settings: Settings;
  readonly given: ReadonlySet<FlagKey>;
}

/** Settings for the target: the defaults, overridden by the base config and then by the config of the target. */
export function reloadSettings(
  target: ReloadTarget,
  base: string | undefined,
  initial: Running,
  sources: Pick<Sources, 'readFile' | 'environment' | 'exists'>,
): Loaded {
  if (target.type === 'initial') return { type: 'settings', ...initial, notes: [] };
  const problems: Problem[] = [];
  const notes: string[] = [];
  const layer = new Map<FlagKey, FlagValue>();
  const files = [base, target.type === 'config' ? target.path : undefined];
  for (const path of target.type === 'unload' ? [] : files) {
    if (path === undefined) continue;
    const parsed = read(path, initial.settings.allow_config_onready, sources);
    problems.push(...parsed.problems);
    notes.push(...parsed.notes);
    // An empty value in a later file does not override an earlier one.
    for (const [key, value] of parsed.values) if (!isEmpty(value)) layer.set(key, value);
  }
  if (target.type === 'model') layer.set('model', [target.path]).delete('nomodel');
  if (target.type === 'unload') layer.set('nomodel', true);
  for (const key of serverKeys) {
    if (initial.given.has(key) || inUse(key, initial.settings[key])) layer.set(key, initial.settings[key]);
    else layer.delete(key);
  }
  const given = new Set(usedKeys(layer));
  return validated({ layer, given, notes: [...notes, ...unsupportedNotes(layer)], problems }, sources);
}

function isEmpty(value: FlagValue): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function read(path: string, allowOnready: boolean, { readFile }: Pick<Sources, 'readFile'>) {
  try {
    return readConfigFile(readFile(path), { allowOnready, path });
  } catch (error) {
    return { values: new Map(), notes: [], problems: [unreadable(path, (error as Error).message)] };
  }
}
