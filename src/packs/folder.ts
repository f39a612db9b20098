import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the packages of packs lie, as those who look for them expect it. */
export function packageFolder(packsFolder: string, name: string): string {
  return join(packsFolder, 'node_modules', name);
}

/** The version that is there and whole; undefined where none is. */
export function installedVersion(packsFolder: string, name: string): string | undefined {
  const path = join(packageFolder(packsFolder, name), 'package.json');
  if (!existsSync(path)) return undefined;
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { version?: string }).version;
  } catch {
    return undefined;
  }
}
