import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';

/** Where folders of users are, by system. */
export interface SystemFolders {
  readonly home: string;
  readonly platform: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function thisSystem(): SystemFolders {
  return { home: homedir(), platform: process.platform, environment: process.env };
}

type Kind = 'data' | 'cache' | 'config';

interface OwnFolder {
  readonly kind: Kind;
  /** Below the folder of the kind; empty for that folder itself. */
  readonly name: string;
  readonly content: string;
  /** Environment variable that moves this folder alone. */
  readonly variable?: string;
}

/** Every folder that Parley chooses by itself. docs/configuration.md lists them from here. */
export const ownFolders = {
  models: { kind: 'data', name: 'models', content: 'Models of `parley pull`.' },
  packs: { kind: 'data', name: 'packs', content: 'Engines of `parley pack add`.', variable: 'PARLEY_PACKS' },
  output: {
    kind: 'data',
    name: 'output',
    content: 'Speech that clients of the XTTS API save on the server; each key has its own folder.',
  },
  stories: { kind: 'data', name: 'stories', content: 'The story of `--multiplayer`, one for each port.' },
  memories: { kind: 'data', name: 'memories', content: 'What people want remembered; each key has its own file.' },
  state: {
    kind: 'data',
    name: 'state',
    content:
      'The model that an administrator switched to last, for the next start; one file for each port. Unfinished downloads, likewise. The usage of clients by day (`usage.json`). Summaries of `--contextoverflow compact` (`summaries-PORT.json`). Invitations (`invitations.json`) and who is signed in on which device (`sessions-PORT.json`), with hashes of their tokens.',
  },
  files: {
    kind: 'data',
    name: 'files',
    content: 'Files that clients upload (`/v1/files`), and batches: a folder for each owner.',
  },
  documents: {
    kind: 'data',
    name: 'documents',
    content:
      'Collections of documents: a folder for each owner, a file for each collection (`--documentsdir` moves it).',
  },
  config: {
    kind: 'config',
    name: '',
    content: 'Config files: `--config NAME` finds them, and the launcher offers them; logins of MCP servers.',
  },
  cache: {
    kind: 'cache',
    name: '',
    content: 'What Parley can make again, such as the parts of the one-file program. It may be deleted at any time.',
  },
} as const satisfies Readonly<Record<string, OwnFolder>>;

/** `PARLEY_HOME` moves all folders. */
export function ownFolder(what: keyof typeof ownFolders, system: SystemFolders = thisSystem()): string {
  const { kind, name, variable }: OwnFolder = ownFolders[what];
  const moved = variable === undefined ? undefined : system.environment[variable];
  return moved || pathOf(system).join(kindFolder(kind, system), name);
}

function kindFolder(kind: Kind, system: SystemFolders): string {
  const { platform, environment } = system;
  const { join } = pathOf(system);
  if (environment.PARLEY_HOME) return join(environment.PARLEY_HOME, kind === 'data' ? '' : kind);
  const product = platform === 'linux' ? 'parley' : 'Parley';
  if (kind === 'data') return join(dataFolder(system), product);
  if (kind === 'config') return join(configFolder(system), product);
  return platform === 'win32' ? join(cacheFolder(system), product, 'Cache') : join(cacheFolder(system), product);
}

/** The folder for data of programs. */
export function dataFolder(system: SystemFolders): string {
  const { home, platform, environment } = system;
  const { join } = pathOf(system);
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  if (platform === 'win32') return environment.APPDATA || join(home, 'AppData', 'Roaming');
  return environment.XDG_DATA_HOME || join(home, '.local', 'share');
}

/** The folder for settings of programs. */
export function configFolder(system: SystemFolders): string {
  if (system.platform === 'darwin' || system.platform === 'win32') return dataFolder(system);
  return system.environment.XDG_CONFIG_HOME || pathOf(system).join(system.home, '.config');
}

/** The folder for what programs can make again. */
function cacheFolder(system: SystemFolders): string {
  const { home, platform, environment } = system;
  const { join } = pathOf(system);
  if (platform === 'darwin') return join(home, 'Library', 'Caches');
  if (platform === 'win32') return environment.LOCALAPPDATA || join(home, 'AppData', 'Local');
  return environment.XDG_CACHE_HOME || join(home, '.cache');
}

const pathOf = ({ platform }: SystemFolders) => (platform === 'win32' ? win32 : posix);
