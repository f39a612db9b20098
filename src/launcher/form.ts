import { writeConfigFile } from '../config/config-file.ts';
import { visibleEngine } from '../config/engine.ts';
import { type FlagValue, type TabName, tabNames } from '../config/flag.ts';
import {
  defaultSettings,
  type FlagKey,
  flagGroups,
  flagName,
  flagOf,
  inUse,
  isSecret,
  type Layer,
  type Settings,
  settingsFrom,
} from '../config/flags.ts';
import { flagFacts } from '../config/help.ts';
import { readJson } from '../config/value.ts';
import { isObject } from '../core/json.ts';

/** Tabs, settings and defaults of the page, derived from the flag table. */
export function launcherForm() {
  const tabs = launcherTabs();
  const keys = [...new Set(tabs.flatMap((tab) => tab.keys))];
  return {
    tabs,
    fields: Object.fromEntries(keys.map((key) => [key, fieldOf(key)])),
    defaults: Object.fromEntries(keys.map((key) => [key, defaultSettings[key]])),
  };
}

/** Flags of the first tab, which are in their own tab too. */
const quickLaunch: readonly FlagKey[] = [
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

/** Every flag that a config file can contain, by tab: its own, or that of its group. */
export function launcherTabs(): readonly { readonly name: TabName; readonly keys: readonly FlagKey[] }[] {
  const placed = flagGroups.flatMap((group) =>
    group.keys.filter((key) => flagOf(key).saved !== false).map((key) => ({ key, tab: flagOf(key).tab ?? group.tab })),
  );
  return tabNames.map((name) => ({
    name,
    keys: name === 'Quick Launch' ? quickLaunch : placed.filter(({ tab }) => tab === name).map(({ key }) => key),
  }));
}

function fieldOf(key: FlagKey) {
  const definition = flagOf(key);
  const { names, help, label, tab, metavar, defaultText, environment, saved, scope, unsupported, ...shape } =
    definition;
  return {
    key,
    flag: names[0],
    label: labelOf(key),
    help,
    facts: flagFacts(definition).filter(
      (fact) => !/^without a value: |^one of |^values: |^environment: |^not available/.test(fact),
    ),
    available: !unsupported,
    shape,
  };
}

const labelOf = (key: FlagKey): string => flagOf(key).label ?? flagName(key);

/** Initial values of the page. 0 and 1 of `--multiuser` are shown as its default, as KoboldCpp does. */
export function formValues(settings: Settings): Readonly<Record<string, FlagValue>> {
  const keys = new Set(launcherTabs().flatMap((tab) => tab.keys));
  const values = Object.fromEntries([...keys].map((key) => [key, settings[key] as FlagValue]));
  const { multiuser } = settings;
  return { ...values, multiuser: multiuser < 2 ? defaultSettings.multiuser : multiuser };
}

type FormReading =
  | { readonly type: 'values'; readonly layer: Layer }
  | { readonly type: 'refused'; readonly problems: readonly string[] };

/** Parses the values from the page. Values equal to the default are left out. */
export function readValues(sent: unknown): FormReading {
  if (!isObject(sent)) return { type: 'refused', problems: ['The settings must be an object.'] };
  const known = new Set<string>(launcherTabs().flatMap((tab) => tab.keys));
  const layer = new Map<FlagKey, FlagValue>();
  const problems: string[] = [];
  for (const [key, value] of Object.entries(sent)) {
    if (!known.has(key)) {
      problems.push(`${key} is not a launcher setting.`);
      continue;
    }
    const reading = readJson(flagOf(key as FlagKey), value);
    if (!reading.ok) problems.push(`${labelOf(key as FlagKey)} needs ${reading.expected}.`);
    else if (inUse(key as FlagKey, reading.value)) layer.set(key as FlagKey, reading.value);
  }
  return problems.length > 0 ? { type: 'refused', problems } : { type: 'values', layer };
}

/** A config file with only these settings; the others keep their defaults. */
export function configText(layer: Layer, kind: 'config' | 'template'): string {
  return writeConfigFile(settingsFrom(layer), kind, new Set(layer.keys()));
}

/** The settings as a command line, with secrets replaced by `…`. */
export function commandLine(layer: Layer): readonly string[] {
  return [...layer].flatMap(([key, value]) => {
    const definition = flagOf(key);
    const [name] = definition.names;
    if (definition.type === 'switch') return [name];
    if (isSecret(key)) return [name, '…'];
    if (key === 'engine' && Array.isArray(value)) return [name, ...value.map((text) => visibleEngine(String(text)))];
    if (Array.isArray(value)) return [name, ...value.map(String)];
    return [name, typeof value === 'object' ? JSON.stringify(value) : String(value)];
  });
}
