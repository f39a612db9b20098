import { readConfigFile, unreadable } from './config-file.ts';
import type { FlagValue } from './flag.ts';
import { type FlagKey, inUse, type Layer, type Settings } from './flags.ts';
import { type Loaded, laterNotes, type Sources, settled, usedKeys } from './load.ts';
import type { Problem } from './problem.ts';

/** What a running server is told to become: one of its files, a model alone, nothing, or what it was at the start. */
export type ReloadTarget =
  | { readonly type: 'config'; readonly path: string }
  | { readonly type: 'model'; readonly path: string }
  | { readonly type: 'unload' }
  | { readonly type: 'initial' };

/**
 * What belongs to the running server and not to what it serves: where it listens, who may ask, how it is administered. No
 * config that is swapped in changes any of it.
 */
const standing: readonly FlagKey[] = [
  'port',
  'host',
  'ssl',
  'nocertify',
  'password',
  'admin',
  'adminpassword',
  'admindir',
  'adminallowlinks',
  'adminunloadtimeout',
  'routermode',
  'reqtimeout',
  'autoswapmode',
  'maxmodels',
  'allowedorigins',
  'allowedhosts',
  'baseconfig',
  'remotetunnel',
  'benchmark',
  'prompt',
  'cli',
  'config',
  'downloaddir',
  'singleinstance',
  'multiuser',
  'ratelimit',
  'maxrequestsize',
  'stalltimeout',
  'savedatafile',
  'multiplayer',
  'websearch',
  'websearchurl',
  'mcpfile',
  'mcptimeout',
  'rpcmode',
  'rpcport',
  'rpchost',
  'rpcdevice',
  'rpctargets',
  'remote',
  'modelalias',
];

export interface Running {
  readonly settings: Settings;
  readonly given: ReadonlySet<FlagKey>;
}

/** The settings for another thing to serve: defaults, over them the base config, over that what was named. */
export function reloadSettings(
  target: ReloadTarget,
  base: string | undefined,
  initial: Running,
  sources: Pick<Sources, 'readFile' | 'environment' | 'exists'>,
): Loaded {
  if (target.type === 'initial') return { type: 'settings', ...initial, notes: [] };
  const problems: Problem[] = [];
  const notes: string[] = [];
  const layer = new Map<FlagKey, Layer extends ReadonlyMap<FlagKey, infer Value> ? Value : never>();
  const files = [base, target.type === 'config' ? target.path : undefined];
  for (const path of target.type === 'unload' ? [] : files) {
    if (path === undefined) continue;
    const parsed = read(path, initial.settings.allow_config_onready, sources);
    problems.push(...parsed.problems);
    notes.push(...parsed.notes);
    // An empty value of a later file says nothing: it does not undo what an earlier one said.
    for (const [key, value] of parsed.values) if (!isEmpty(value)) layer.set(key, value);
  }
  if (target.type === 'model') layer.set('model', [target.path]).delete('nomodel');
  if (target.type === 'unload') layer.set('nomodel', true);
  for (const key of standing) {
    if (initial.given.has(key) || inUse(key, initial.settings[key])) layer.set(key, initial.settings[key]);
    else layer.delete(key);
  }
  const given = new Set(usedKeys(layer));
  return settled({ layer, given, notes: [...notes, ...laterNotes(layer)], problems }, sources);
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
