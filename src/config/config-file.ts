import { attempt } from '../core/attempt.ts';
import { checkVersion, NewerFile, versionKey } from '../core/file-version.ts';
import { hideSecrets, withoutQuote } from '../core/hide-secrets.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { engineTexts, engineValues } from './engine.ts';
import { badFlags, type FlagValue, type JsonObject, missing, type Problem } from './flag.ts';
import { type FlagKey, flagByFileKey, flagKeys, flagOf, type NamedFlag, type Settings } from './flags.ts';
import { type Parsed, SourceValues } from './parse.ts';
import { readJson } from './value.ts';

type ConfigKind = 'config' | 'template';

const defaultPort = flagOf('port').default;

/** Ignored in templates: each machine chooses for itself. */
const machineKeys: ReadonlySet<FlagKey> = new Set(['usecuda', 'usevulkan', 'usecpu']);

/** Values of a template for machine-specific settings and secrets. */
const templateValues: Readonly<Record<string, FlagValue>> = {
  gpulayers: -1,
  threads: -1,
  hordekey: '',
  hordeworkername: '',
  sdthreads: 0,
  ttsthreads: 0,
  maingpu: -1,
  sdmaingpu: -1,
  password: null,
  adminpassword: null,
  ssl: null,
  trace: '',
  engine: null,
  usecuda: null,
  usevulkan: null,
  usecpu: null,
  tensor_split: null,
  draftgpusplit: null,
  config: null,
  usemmap: false,
  usemlock: false,
  usedirectio: false,
  debugmode: 0,
  nommq: false,
  splitmode: 'layer',
};

/** Reads a .kcpps or .kcppt file of Parley or of any version of KoboldCpp. */
export function readConfigFile(
  text: string,
  options: { readonly allowOnready: boolean; readonly path?: string },
): Parsed {
  const source = new SourceValues();
  const problems: Problem[] = [];
  const unknown: string[] = [];
  let object: Record<string, unknown>;
  try {
    object = parseObject(text);
    checkVersion(object);
  } catch (error) {
    const reason = error instanceof NewerFile ? error.message : jsonReason(text, error as Error);
    return { values: new Map(), notes: [], problems: [unreadable(options.path, reason)] };
  }
  if ((object.base ?? null) !== null) {
    const reason = `it is a preset of ${JSON.stringify(object.base)} and loads nothing itself; put it into --admindir, start with --routermode, and send its name as the model`;
    return { values: new Map(), notes: [], problems: [unreadable(options.path, reason)] };
  }

  for (const [key, value] of Object.entries(plainKeys(object))) {
    const flag = flagByFileKey.get(key);
    if (!flag) unknown.push(key);
    // null means the default. An alias is ignored if the current name is present.
    if (!flag || value === null || (flag.key !== key && Object.hasOwn(object, flag.key))) continue;
    const refusal = refused(flag, object.istemplate === true, options.allowOnready);
    if (refusal) {
      if (value !== '' && value !== false) source.notes.push(`Config value ignored: ${key} ${refusal}.`);
      continue;
    }
    const reading = readJson(flag.definition, value);
    const visible = 'secret' in flag.definition && flag.definition.secret ? 'this' : hideSecrets(JSON.stringify(value));
    const needs = reading.ok ? '' : `${key} needs ${reading.expected}, not ${visible}`;
    if (reading.ok) source.add(flag, key, reading);
    else
      problems.push(
        badFlags(`In the config ${options.path === undefined ? 'file' : `\`${options.path}\``}, ${needs}.`),
      );
  }

  if (unknown.length > 0) source.notes.push(`Config values not known here and ignored: ${unknown.join(', ')}.`);
  return source.parsed(problems);
}

/** Writes all settings, or `only` some, in the format of KoboldCpp. */
export function writeConfigFile(settings: Settings, kind: ConfigKind, only?: ReadonlySet<FlagKey>): string {
  const isWritten = (key: FlagKey): boolean => only?.has(key) ?? true;
  const saved = flagKeys.filter((key) => key !== 'model' && flagOf(key).saved !== false && isWritten(key));
  const object = {
    model_param: settings.model?.[0] ?? null,
    ...(settings.model && settings.model.length > 1 ? { model: settings.model } : {}),
    ...Object.fromEntries(saved.map((key) => [key, fileValue(key, settings[key])])),
    ...(settings.engine && isWritten('engine') ? { engine: engineValues(settings.engine) } : {}),
    ...(kind === 'template' ? templateValues : {}),
    istemplate: kind === 'template',
    [versionKey]: 1,
  };
  return `${JSON.stringify(object, undefined, 2)}\n`;
}

export const newerConfig = (path: string): string =>
  `${path} was written by a newer version of Parley and is not replaced; choose another name.`;

/** Whether a later version of Parley wrote the file with this text, so that it must not be replaced. */
export function isNewerConfig(text: string): boolean {
  const object = tryParseJson(text);
  return isObject(object) && attempt(() => checkVersion(object), true) === true;
}

export function unreadable(path: string | undefined, reason: string): Problem {
  return missing(`Cannot read config${path === undefined ? '' : ` \`${path}\``}: ${reason}.`);
}

/** The message of JSON.parse, with the line instead of the position. */
function jsonReason(text: string, { message }: Error): string {
  const lineAt = (position: number): number => text.slice(0, position).split('\n').length;
  const { what, position } = /^(?<what>.*?)(?: in JSON)? at position (?<position>\d+)/s.exec(message)?.groups ?? {};
  const end = text.trimEnd().length;
  if (/^Unexpected end of JSON/.test(message) || Number(position) >= end)
    return `unexpected end of JSON at line ${lineAt(end)}`;
  if (what === undefined) return withoutQuote(message);
  return `${what.charAt(0).toLowerCase()}${what.slice(1)} at line ${lineAt(Number(position))}`;
}

function parseObject(text: string): Record<string, unknown> {
  const json: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
  if (!isObject(json)) throw new Error('it is not a JSON object');
  return json;
}

/** Replaces the keys that only config files have with those of the flags. */
function plainKeys(object: Record<string, unknown>): Record<string, unknown> {
  const { istemplate: _, [versionKey]: __, model_param, port_param, ...rest } = object;
  const models = [rest.model ?? []].flat();
  if (typeof model_param === 'string' && model_param !== '') {
    rest.model = models[0] === model_param ? models : [model_param];
  } else if (rest.model !== undefined) {
    rest.model = models.filter((model) => model !== '');
  }
  if (rest.engine !== undefined && rest.engine !== null) rest.engine = engineTexts(rest.engine);
  if (port_param !== undefined && port_param !== null && port_param !== defaultPort) rest.port = port_param;
  return rest;
}

function refused(flag: NamedFlag, template: boolean, allowOnready: boolean): string | undefined {
  if (flag.type === 'deprecated') return undefined;
  if (flag.definition.saved === false) return 'is allowed only on the command line';
  if (flag.key === 'onready' && !allowOnready) return 'would run a command; allow it with --allow-config-onready';
  if (template && flag.key === 'engine')
    return 'would run a command, and templates come from others; use a .kcpps file';
  if (template && machineKeys.has(flag.key)) return 'of a template is chosen by this machine';
  return undefined;
}

/** KoboldCpp writes an empty string for a missing object. */
function fileValue(key: FlagKey, value: FlagValue): FlagValue | JsonObject {
  return value === null && flagOf(key).type === 'json' ? '' : value;
}
