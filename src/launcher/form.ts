import { writeConfigFile } from '../config/config-file.ts';
import type { FlagDefinition, FlagValue } from '../config/flag.ts';
import {
  defaultSettings,
  type FlagKey,
  flagOf,
  inUse,
  type Layer,
  type Settings,
  settingsFrom,
} from '../config/flags.ts';
import { flagFacts } from '../config/help.ts';
import { flagLabel } from '../config/labels.ts';
import { launcherTabs } from '../config/tabs.ts';
import { readJson } from '../config/value.ts';

/** One setting as the page shows it: all that it must know is in the flag table. */
export interface Field {
  readonly key: FlagKey;
  readonly flag: string;
  readonly label: string;
  readonly help: string;
  readonly facts: readonly string[];
  readonly available: boolean;
  readonly shape: Readonly<Record<string, unknown>>;
}

export interface Form {
  readonly tabs: readonly { readonly name: string; readonly keys: readonly FlagKey[] }[];
  readonly fields: Readonly<Record<string, Field>>;
  readonly defaults: Readonly<Record<string, FlagValue>>;
}

export function launcherForm(): Form {
  const tabs = launcherTabs();
  const keys = [...new Set(tabs.flatMap((tab) => tab.keys))];
  return {
    tabs,
    fields: Object.fromEntries(keys.map((key) => [key, fieldOf(key)])),
    defaults: Object.fromEntries(keys.map((key) => [key, defaultSettings[key]])),
  };
}

function fieldOf(key: FlagKey): Field {
  const definition: FlagDefinition = flagOf(key);
  const {
    names,
    help,
    availability,
    metavar: _,
    defaultText: __,
    environment: ___,
    saved: ____,
    ...shape
  } = definition;
  return {
    key,
    flag: names[0],
    label: flagLabel(key),
    help,
    facts: flagFacts(definition).filter(
      (fact) => !/^alone: |^one of |^out of |in the environment$|^not available/.test(fact),
    ),
    available: availability === 'ready',
    shape,
  };
}

/** The queue of one place is a stumbling block in a form; the launcher has always shown it as ten. */
const leastShownQueue = 2;

/** The settings as the page begins with them. */
export function shownValues(settings: Settings): Readonly<Record<string, FlagValue>> {
  const keys = new Set(launcherTabs().flatMap((tab) => tab.keys));
  const values = Object.fromEntries([...keys].map((key) => [key, settings[key] as FlagValue]));
  const { multiuser } = settings;
  return { ...values, multiuser: multiuser < leastShownQueue ? defaultSettings.multiuser : multiuser };
}

export type Written =
  | { readonly type: 'values'; readonly layer: Layer }
  | { readonly type: 'refused'; readonly problems: readonly string[] };

/** What the page sends, read by the same table. Only what differs from the default is said. */
export function readValues(sent: unknown): Written {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
    return { type: 'refused', problems: ['The settings must be an object.'] };
  }
  const known = new Set<string>(launcherTabs().flatMap((tab) => tab.keys));
  const layer = new Map<FlagKey, FlagValue>();
  const problems: string[] = [];
  for (const [key, value] of Object.entries(sent)) {
    if (!known.has(key)) {
      problems.push(`${key} is no setting of the launcher.`);
      continue;
    }
    const reading = readJson(flagOf(key as FlagKey), value);
    if (!reading.ok) problems.push(`${flagLabel(key as FlagKey)} needs ${reading.expected}.`);
    else if (inUse(key as FlagKey, reading.value)) layer.set(key as FlagKey, reading.value);
  }
  return problems.length > 0 ? { type: 'refused', problems } : { type: 'values', layer };
}

/** The text of a config file with these settings and no others: what is left out follows from them, or has its default. */
export function configText(layer: Layer, kind: 'config' | 'template'): string {
  return writeConfigFile(settingsFrom(layer), kind, new Set(layer.keys()));
}

/** The same settings as somebody would type them; secrets stay where they are. */
export function commandLine(layer: Layer): readonly string[] {
  return [...layer].flatMap(([key, value]) => {
    const definition = flagOf(key);
    const [name] = definition.names;
    if (definition.type === 'switch') return [name];
    if ('secret' in definition && definition.secret) return [name, '…'];
    if (Array.isArray(value)) return [name, ...value.map(String)];
    return [name, typeof value === 'object' ? JSON.stringify(value) : String(value)];
  });
}
