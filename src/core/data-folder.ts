import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where folders of users are, by system. */
export interface SystemFolders {
  readonly home: string;
  readonly platform: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function thisSystem(): SystemFolders {
  return { home: homedir(), platform: process.platform, environment: process.env };
}

/** A folder of Parley's own files. `PARLEY_HOME` moves all of them, `PARLEY_PACKS` the packs. */
export function ownFolder(
  what: 'models' | 'packs' | 'output' | 'stories',
  { home, platform, environment }: SystemFolders = thisSystem(),
): string {
  if (what === 'packs' && environment.PARLEY_PACKS) return environment.PARLEY_PACKS;
  if (environment.PARLEY_HOME) return join(environment.PARLEY_HOME, what);
  const data = dataFolder({ home, platform, environment });
  return join(data, platform === 'linux' ? 'parley' : 'Parley', what);
}

/** The folder for data of programs. */
export function dataFolder({ home, platform, environment }: SystemFolders): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  if (platform === 'win32') return environment.APPDATA || join(home, 'AppData', 'Roaming');
  return environment.XDG_DATA_HOME || join(home, '.local', 'share');
}
