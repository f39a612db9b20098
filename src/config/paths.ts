import { basename, join } from 'node:path';
import { badFlags, type FlagValue, missing, type Problem, type Read } from './flag.ts';
import { defaultSettings, type FlagKey, flagKeys, flagName, flagOf, type Settings } from './flags.ts';

/** `--ignoremissing` must not turn HTTPS into plain HTTP. */
const neverIgnored: ReadonlySet<FlagKey> = new Set(['ssl']);

/** A model that is downloaded if it is not here yet: on the hub, at an address, or by any name (`name:`). */
export function isRemoteModel(name: string): boolean {
  return /^(https?:\/\/|hf:|name:|npm:|ollama:|hf\.co\/|huggingface\.co\/)/i.test(name);
}

/** Checks at startup that files exist. Those of unsupported flags are not checked, because nothing opens them. */
export function checkFiles(settings: Settings, exists: (path: string) => boolean, downloads = true) {
  const notes: string[] = [];
  const problems: Problem[] = [];
  const changes: Partial<Record<FlagKey, FlagValue>> = {};
  for (const key of flagKeys) {
    const name = flagName(key);
    for (const path of filesOf(key, settings[key])) {
      if (key === 'model' && isRemoteModel(path)) {
        const how = `it is downloaded only at the start; get it with: parley pull ${path}`;
        if (!downloads) problems.push(missing(`${name} ${path}: ${how}`));
      } else if (/^https?:\/\//i.test(path)) {
        problems.push(missing(`${name} ${path}: downloading is not available yet; name a file.`));
      } else if (exists(path)) {
      } else if (exists(path + endingOf(key))) {
        changes[key] = path + endingOf(key);
      } else if (settings.ignoremissing && !neverIgnored.has(key)) {
        notes.push(`${name} is ignored: ${path} does not exist.`);
        changes[key] = without(key, changes[key] ?? settings[key], path);
      } else {
        problems.push(missing(`${name}: ${path} does not exist.${key === 'model' ? hint(path) : ''}`));
      }
    }
  }
  const checked: Settings = { ...settings, ...(changes as Partial<Settings>) };
  return { settings: checked, notes, problems };
}

/** For the name of a repository, a model or a command that was taken for a path. */
function hint(path: string): string {
  if (/\.gguf$/i.test(path)) return '';
  if (/^[\w-][\w.-]*\/[\w.-]+(:[\w.-]+)?$/.test(path)) return ` To download it from the hub: --model hf:${path}`;
  if (!/^\w[\w-]*(:[\w.-]+)?$/.test(path)) return '';
  return ` Nor is it a command (parley --help lists them). To get a model by its name: parley run ${path}`;
}

function filesOf(key: FlagKey, value: FlagValue): readonly string[] {
  const definition = flagOf(key);
  if (definition.unsupported || !('holds' in definition) || !value) return [];
  if (definition.holds === 'json-file') return String(value).trimStart().startsWith('{') ? [] : [String(value)];
  if (definition.holds !== 'file' || ('words' in definition && definition.words?.includes(String(value)))) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

function endingOf(key: FlagKey): string {
  const definition = flagOf(key);
  return 'ending' in definition ? (definition.ending ?? '') : '';
}

function without(key: FlagKey, value: FlagValue, path: string): FlagValue {
  const rest = Array.isArray(value) ? value.filter((item) => item !== path) : [];
  return rest.length > 0 ? rest : defaultSettings[key];
}

const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };
const defaultBytes = 20 * 2 ** 30;
const minBytes = 2 ** 20;
const diskCacheForm = 'FOLDER or FOLDER:SIZE with a size such as 20G or 500MB';

/** Parses `FOLDER[:SIZE]`. A mistyped size is rejected; a text with a path separator (`C:\cache`) is no size. */
export function readDiskCache(text: string): Read<{ readonly folder: string; readonly bytes: number }> {
  const { folder, size } = /^(?<folder>.*):(?<size>[^:/\\]*)$/s.exec(text)?.groups ?? { folder: text };
  if (folder === undefined || folder.trim() === '' || (size === undefined && bytesOf(folder) !== undefined)) {
    return { ok: false, expected: `${diskCacheForm}, and "${text}" has no folder` };
  }
  if (size === undefined) return { ok: true, folder, bytes: defaultBytes };
  const bytes = bytesOf(size);
  if (bytes === undefined) return { ok: false, expected: `${diskCacheForm}, and "${size}" is not a size` };
  if (bytes < minBytes) return { ok: false, expected: `${diskCacheForm}; ${size} is less than 1 MB` };
  return { ok: true, folder, bytes };
}

/** A size such as 20G, 500MB or 14GiB, in powers of 1024. */
export function bytesOf(text: string): number | undefined {
  const { count, unit = '' } = /^(?<count>\d+(\.\d+)?)((?<unit>[kmgt])(i?b)?|b)?$/i.exec(text)?.groups ?? {};
  const bytes = Math.floor(Number(count) * (units[unit.toLowerCase()] ?? 1));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Shells expand `~` only at the start of a word, so not after `=`, and not in config files. */
export function expandHome(text: string, home: string | undefined): string | undefined {
  if (!/^~([/\\]|$)/.test(text)) return text;
  return home ? `${home}${text.slice(1)}` : undefined;
}

/** A config that is named without a folder is looked for in the working folder, then in the config folder. */
export function configPath(path: string, folder: string, exists: (path: string) => boolean): string {
  const other = join(folder, path);
  return path === basename(path) && !exists(path) && exists(other) ? other : path;
}

/** Expands and validates `--diskcache`. */
export function checkDiskCache(
  settings: Settings,
  { HOME, USERPROFILE }: Readonly<Record<string, string | undefined>>,
): { readonly settings: Settings; readonly problems: readonly Problem[] } {
  if (settings.diskcache === '') return { settings, problems: [] };
  const diskcache = expandHome(settings.diskcache, HOME || USERPROFILE);
  if (diskcache === undefined) {
    const sentence = `--diskcache ${settings.diskcache}: the home folder is unknown; give the full path.`;
    return { settings, problems: [badFlags(sentence)] };
  }
  const reading = readDiskCache(diskcache);
  const problems = reading.ok ? [] : [badFlags(`--diskcache must be ${reading.expected}.`)];
  return { settings: { ...settings, diskcache }, problems };
}
