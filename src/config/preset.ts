import { versionKey } from '../core/file-version.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { readConfigFile } from './config-file.ts';
import type { JsonObject } from './flag.ts';
import { type FlagKey, flagByFileKey, type Layer, type Settings, settingsFrom } from './flags.ts';
import {
  applyDefaults,
  type DefaultsNames,
  gendefaultsNotes,
  gendefaultsProblems,
  requestDefaults,
} from './gen-defaults.ts';
import { applyRules } from './rules.ts';

/** A message before those of every chat. */
interface PresetMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** Generation settings under a model name of their own, for the loaded engine of another model. */
export interface Preset {
  /** The name of that model. */
  readonly base: string;
  readonly values: Layer;
  readonly messages: readonly PresetMessage[];
}

export type PresetReading =
  | { readonly type: 'preset'; readonly preset: Preset }
  /** The problem is a sentence. */
  | { readonly type: 'faulty'; readonly base: string; readonly problem: string };

/** What is decided for each request. Everything else is decided when the base is loaded. */
const presetKeys: ReadonlySet<string> = new Set<FlagKey>([
  'gendefaults',
  'gendefaultsoverwrite',
  'reasoningeffort',
  'defaultgenamt',
  'contextoverflow',
  'mcpserverloop',
  'mcptools',
  'memory',
  'systemprompt',
  'jinja',
  'jinja_tools',
  'jinja_kwargs',
  'jinjathink',
  'jinjatemplate',
  'chatcompletionsadapter',
]);

const roles: readonly unknown[] = ['system', 'user', 'assistant'] satisfies PresetMessage['role'][];

const keyNames: DefaultsNames = { defaults: 'gendefaults', length: 'defaultgenamt' };

/** Undefined for a config that is no preset: one without `base`. Problems use the `names` of its author: keys of a file, or fields of a request. */
export function readPreset(text: string, names = keyNames): PresetReading | undefined {
  const object = tryParseJson(text.replace(/^\uFEFF/, ''));
  if (!isObject(object) || (object.base ?? null) === null) return undefined;
  const { base, messages = [], ...settings } = object;
  const faulty = (problem: string): PresetReading => ({ type: 'faulty', base: String(base), problem });
  if (typeof base !== 'string' || base === '') return faulty('base must be the name of a model.');
  const isMessage = (one: unknown): boolean =>
    isObject(one) && roles.includes(one.role) && typeof one.content === 'string';
  if (!Array.isArray(messages) || !messages.every(isMessage))
    return faulty('messages must be a list of objects with a role (system, user, assistant) and a text as content.');
  const parsed = readConfigFile(JSON.stringify(settings), { allowOnready: false });
  const own = settingsFrom(parsed.values);
  const [problem] = [
    ...refusedKeys(settings, base),
    ...[...parsed.problems, ...gendefaultsProblems(own, names)].map(({ sentence }) => sentence),
    ...gendefaultsNotes(own, names),
  ];
  return problem === undefined
    ? { type: 'preset', preset: { base, values: parsed.values, messages } }
    : faulty(problem);
}

/** Keys that every config has, whatever is in it. */
const formKeys: ReadonlySet<string> = new Set(['istemplate', versionKey]);

function refusedKeys(settings: Record<string, unknown>, base: string): readonly string[] {
  const others = Object.entries(settings).filter(([key, value]) => value !== null && !formKeys.has(key));
  return others.flatMap(([key]) => {
    const flag = flagByFileKey.get(key);
    if (flag && presetKeys.has(flag.key)) return [];
    if (!flag) return [`${key} is not a setting of a preset.`];
    return [`A preset cannot change how its base is loaded: ${key} belongs in a config of ${base}.`];
  });
}

/** The settings of the base with those of the preset over them: defaults of requests and variables of the template one by one. */
export function presetSettings({ values }: Preset, base: Settings): Settings {
  const own = applyRules(settingsFrom(values)).settings;
  const defaults = requestDefaults(own);
  // The variable would take precedence over an effort of the preset.
  const { enable_thinking, ...others } = base.jinja_kwargs ?? {};
  const below = 'reasoning_effort' in defaults || enable_thinking === undefined ? others : base.jinja_kwargs;
  const variables = { ...below, ...own.jinja_kwargs };
  return {
    ...base,
    ...(Object.fromEntries(values) as Partial<Settings>),
    gendefaults: applyDefaults(defaults, requestDefaults(base), false) as JsonObject,
    reasoningeffort: 'default',
    jinja: values.has('jinja') ? own.jinja : base.jinja || own.jinja,
    jinja_kwargs: Object.keys(variables).length > 0 ? variables : null,
    hordemodelname: '',
  };
}
