import type { FlagValue } from '../flag.ts';
import { type FlagKey, flagKeys, flagOf, inUse, type Settings } from '../flags.ts';

/**
 * The shortest command line that parses to these settings. A value follows an equals sign, where it may begin
 * with a dash; the values of a list cannot.
 */
export function printCommandLine(settings: Settings): string[] {
  return flagKeys.flatMap((key) => printFlag(key, settings[key]));
}

function printFlag(key: FlagKey, value: FlagValue): string[] {
  if (value === null || !inUse(key, value)) return [];
  const [name] = flagOf(key).names;
  if (value === true) return [name];
  if (Array.isArray(value)) return value.length === 1 ? [`${name}=${value[0]}`] : [name, ...value.map(String)];
  return [`${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`];
}
