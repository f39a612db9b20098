import type { FlagValue } from './flag.ts';
import { defaultSettings, type FlagKey, flagKeys, flagOf, type Settings } from './flags.ts';
import { missing, type Problem } from './problem.ts';

export interface Checked {
  readonly settings: Settings;
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** Without its certificate the server would serve in the clear, which `--ignoremissing` cannot have meant. */
const neverSkipped: ReadonlySet<FlagKey> = new Set(['ssl']);

/**
 * Finds out at the start that a file is missing, and not when the first request needs it. Flags without effect as yet
 * are left alone: nothing will open their files.
 */
export function checkFiles(settings: Settings, exists: (path: string) => boolean): Checked {
  const notes: string[] = [];
  const problems: Problem[] = [];
  const changes: Partial<Record<FlagKey, FlagValue>> = {};
  for (const key of flagKeys) {
    const [name] = flagOf(key).names;
    for (const path of filesOf(key, settings[key])) {
      if (/^https?:\/\//i.test(path)) {
        problems.push(missing(`${name} ${path}: downloading is not available yet; name a file.`));
      } else if (exists(path)) {
      } else if (exists(path + endingOf(key))) {
        changes[key] = path + endingOf(key);
      } else if (settings.ignoremissing && !neverSkipped.has(key)) {
        notes.push(`${name} is ignored, because ${path} does not exist.`);
        changes[key] = without(key, changes[key] ?? settings[key], path);
      } else {
        problems.push(missing(`${name}: ${path} does not exist.`));
      }
    }
  }
  return { settings: { ...settings, ...(changes as Partial<Settings>) }, notes, problems };
}

function filesOf(key: FlagKey, value: FlagValue): readonly string[] {
  const definition = flagOf(key);
  if (definition.availability === 'later') return [];
  if (!('holds' in definition) || !value) return [];
  if (definition.holds === 'json-file') return String(value).trimStart().startsWith('{') ? [] : [String(value)];
  if (definition.holds !== 'file') return [];
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
