/** Where computed prompts are kept, and how much they may take. */
export interface DiskCache {
  readonly folder: string;
  readonly bytes: number;
}

export type DiskCacheReading =
  | ({ readonly ok: true } & DiskCache)
  /** The end of the sentence "--diskcache must be …". */
  | { readonly ok: false; readonly expected: string };

const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };
const usualBytes = 20 * 2 ** 30;
const leastBytes = 2 ** 20;
const form = 'FOLDER or FOLDER:SIZE with a size such as 20G or 500MB';

/**
 * What follows the last colon is a size, unless it goes on with a path (`C:\cache`): a mistyped size would otherwise become
 * the name of a folder, without a limit that anybody asked for.
 */
export function readDiskCache(text: string): DiskCacheReading {
  const { folder, size } = /^(?<folder>.*):(?<size>[^:/\\]*)$/s.exec(text)?.groups ?? { folder: text };
  if (folder === undefined || folder.trim() === '' || (size === undefined && bytesOf(folder) !== undefined)) {
    return { ok: false, expected: `${form}, and "${text}" names no folder` };
  }
  if (size === undefined) return { ok: true, folder, bytes: usualBytes };
  const bytes = bytesOf(size);
  if (bytes === undefined) return { ok: false, expected: `${form}, and "${size}" is not a size` };
  if (bytes < leastBytes) return { ok: false, expected: `${form}; ${size} is less than 1 MB, which holds nothing` };
  return { ok: true, folder, bytes };
}

function bytesOf(text: string): number | undefined {
  const { count, unit = '' } = /^(?<count>\d+(\.\d+)?)((?<unit>[kmgt])(i?b)?|b)?$/i.exec(text)?.groups ?? {};
  const bytes = Math.floor(Number(count) * (units[unit.toLowerCase()] ?? 1));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Shells replace `~` only where a word begins with it, which it does not in a config file or after `=`. */
export function expandHome(text: string, home: string | undefined): string | undefined {
  if (!/^~([/\\]|$)/.test(text)) return text;
  return home ? `${home}${text.slice(1)}` : undefined;
}
