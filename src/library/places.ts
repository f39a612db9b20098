import { join } from 'node:path';
import { configFolder, dataFolder, ownFolder, type SystemFolders } from '../core/data-folder.ts';

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

/** Model folders of Parley and of other programs; most do not exist. */
export function knownPlaces(system: SystemFolders): readonly Place[] {
  const { home, platform, environment } = system;
  const data = dataFolder(system);
  const config = configFolder(system);
  const cache = environment.XDG_CACHE_HOME || join(home, '.cache');
  const hub = environment.HF_HUB_CACHE || join(environment.HF_HOME || join(cache, 'huggingface'), 'hub');
  const files = (program: string, ...folders: string[]): Place[] =>
    folders.map((folder) => ({ program, folder, layout: 'files' as const }));
  return [
    ...files('Parley', ownFolder('models', system)),
    ...files('LM Studio', join(home, '.lmstudio', 'models'), join(cache, 'lm-studio', 'models')),
    ...ollamaFolders(system).map((folder) => ({ program: 'Ollama', folder, layout: 'ollama' as const })),
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

/** The Ollama service on Linux has its own account. */
function ollamaFolders({ home, platform, environment }: SystemFolders): readonly string[] {
  if (environment.OLLAMA_MODELS) return [environment.OLLAMA_MODELS];
  const own = join(home, '.ollama', 'models');
  return platform === 'linux' ? [own, '/usr/share/ollama/.ollama/models'] : [own];
}
