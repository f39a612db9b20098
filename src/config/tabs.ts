import { type FlagKey, flagGroups, flagOf } from './flags.ts';

/** Where the launcher shows a flag. */
export const tabNames = [
  'Quick Launch',
  'Hardware',
  'Context',
  'Loaded Files',
  'Network',
  'Tokens/Chat',
  'Image',
  'Audio',
  'Admin',
] as const;
export type TabName = (typeof tabNames)[number];

/** Shown first, whatever tab they belong to: what most people set, and nothing else. */
const quick: readonly FlagKey[] = [
  'model',
  'contextsize',
  'gpulayers',
  'usecuda',
  'usevulkan',
  'usecpu',
  'smartcache',
  'jinja',
  'port',
  'launch',
];

/** Unless a flag says otherwise, it stands with the others of its group. A flag that is new has a place at once. */
const groupTabs: Readonly<Record<string, TabName>> = {
  Main: 'Hardware',
  'Model and memory': 'Hardware',
  'Generation and context': 'Context',
  Chat: 'Tokens/Chat',
  Server: 'Network',
  "Parley's own": 'Network',
  'AI Horde': 'Network',
  Images: 'Image',
  'Speech, music and embeddings': 'Audio',
  'Administration and shared GPUs': 'Admin',
};

const ownTabs: Partial<Record<FlagKey, TabName>> = {
  model: 'Loaded Files',
  nomodel: 'Loaded Files',
  lora: 'Loaded Files',
  loramult: 'Loaded Files',
  mmproj: 'Loaded Files',
  mmprojcpu: 'Loaded Files',
  draftmodel: 'Loaded Files',
  draftamount: 'Loaded Files',
  draftgpulayers: 'Loaded Files',
  draftgpusplit: 'Loaded Files',
  draftngram: 'Loaded Files',
  usemtp: 'Loaded Files',
  embeddingsmodel: 'Loaded Files',
  embeddingsmaxctx: 'Loaded Files',
  embeddingsgpu: 'Loaded Files',
  chatcompletionsadapter: 'Loaded Files',
  preloadstory: 'Loaded Files',
  mcpfile: 'Loaded Files',
  contextsize: 'Context',
  quantkv: 'Context',
  ropeconfig: 'Context',
  overridenativecontext: 'Context',
  diskcache: 'Context',
  contextoverflow: 'Context',
  deterministic: 'Context',
  batchall: 'Context',
  cpubuild: 'Hardware',
  maxmodels: 'Admin',
  defaultgenamt: 'Tokens/Chat',
  genlimit: 'Tokens/Chat',
  gendefaults: 'Tokens/Chat',
  gendefaultsoverwrite: 'Tokens/Chat',
  reasoningeffort: 'Tokens/Chat',
  enableguidance: 'Tokens/Chat',
  nobostoken: 'Tokens/Chat',
  host: 'Network',
  port: 'Network',
  launch: 'Network',
};

/** For other ways to run than a server, or of this program alone. */
const leftOut: ReadonlySet<string> = new Set(['Other ways to run', 'Internal']);

export interface Tab {
  readonly name: TabName;
  readonly keys: readonly FlagKey[];
}

/** Every flag that a server can be started with once, and those of the first tab before. */
export function launcherTabs(): readonly Tab[] {
  const placed = flagGroups.flatMap(({ title, keys }) =>
    keys
      .filter((key) => flagOf(key).saved !== false && (ownTabs[key] !== undefined || !leftOut.has(title)))
      .map((key) => ({ key, tab: ownTabs[key] ?? groupTabs[title] ?? 'Hardware' })),
  );
  return tabNames.map((name) => ({
    name,
    keys: name === 'Quick Launch' ? quick : placed.filter(({ tab }) => tab === name).map(({ key }) => key),
  }));
}
