import { join } from 'node:path';

export type Layout =
  /** Model files in folders of any depth. */
  | 'files'
  /** Files named by hash, with manifests. */
  | 'ollama'
  /** `models--owner--name/snapshots/revision/file`. */
  | 'hugging-face';

/** A folder that may contain models of a program. */
export interface Place {
  readonly program: string;
  readonly folder: string;
  readonly layout: Layout;
}

interface Surroundings {
  readonly home: string;
  readonly platform: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Folder of Parley for its own files. */
export function ownFolder(
  { home, platform, environment }: Surroundings,
  what: 'models' | 'packs' | 'output' | 'stories' = 'models',
): string {
  if (what === 'packs' && environment.PARLEY_PACKS) return environment.PARLEY_PACKS;
  const named = environment.PARLEY_HOME;
  if (named) return join(named, what);
  return join(dataFolder(home, platform, environment), platform === 'linux' ? 'parley' : 'Parley', what);
}

/** Model folders of Parley and of other programs; most do not exist. */
export function knownPlaces(surroundings: Surroundings): readonly Place[] {
  const { home, platform, environment } = surroundings;
  const data = dataFolder(home, platform, environment);
  const config = platform === 'linux' ? environment.XDG_CONFIG_HOME || join(home, '.config') : data;
  const cache = environment.XDG_CACHE_HOME || join(home, '.cache');
  const hub = environment.HF_HUB_CACHE || join(environment.HF_HOME || join(cache, 'huggingface'), 'hub');
  const files = (program: string, ...folders: string[]): Place[] =>
    folders.map((folder) => ({ program, folder, layout: 'files' as const }));
  return [
    ...files('Parley', ownFolder(surroundings)),
    ...files('LM Studio', join(home, '.lmstudio', 'models'), join(cache, 'lm-studio', 'models')),
    ...ollamaFolders(surroundings).map((folder) => ({ program: 'Ollama', folder, layout: 'ollama' as const })),
    { program: 'Hugging Face', folder: hub, layout: 'hugging-face' },
    ...files(
      'llama.cpp',
      environment.LLAMA_CACHE || join(platform === 'darwin' ? join(home, 'Library', 'Caches') : cache, 'llama.cpp'),
    ),
    ...files(
      'Jan',
      join(data, 'Jan', 'data', 'llamacpp', 'models'),
      join(config, 'Jan', 'data', 'models'),
      join(home, 'jan', 'models'),
    ),
    ...files('GPT4All', join(data, 'nomic.ai', 'GPT4All')),
    ...files('KoboldCpp', join(home, 'koboldcpp'), join(home, 'KoboldCpp'), join(home, 'koboldcpp', 'models')),
  ];
}

function dataFolder(home: string, platform: string, environment: Surroundings['environment']): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  if (platform === 'win32') return environment.APPDATA || join(home, 'AppData', 'Roaming');
  return environment.XDG_DATA_HOME || join(home, '.local', 'share');
}

/** The Ollama service on Linux has its own account. */
function ollamaFolders({ home, platform, environment }: Surroundings): readonly string[] {
  if (environment.OLLAMA_MODELS) return [environment.OLLAMA_MODELS];
  const own = join(home, '.ollama', 'models');
  return platform === 'linux' ? [own, '/usr/share/ollama/.ollama/models'] : [own];
}
