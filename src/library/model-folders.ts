import { isAbsolute, join } from 'node:path';
import { configFolder, dataFolder, ownFolder, type SystemFolders } from '../core/data-folder.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { readText as readTextFile } from '../core/read-text.ts';
import { hubHome } from './hub/access.ts';

export type Layout =
  /** Model files in folders of any depth. */
  | 'files'
  /** Files named by hash, with manifests. */
  | 'ollama'
  /** A folder for each model, with a `model.yml` that names its files. */
  | 'jan'
  /** `models--owner--name/snapshots/revision/file`. */
  | 'hugging-face';

/** A folder that may contain models of a program. */
export interface ModelFolder {
  readonly program: string;
  readonly folder: string;
  readonly layout: Layout;
}

/** The folder of downloads before those of other programs. */
export const withOwnFolder = (folder: string, others: readonly ModelFolder[]): readonly ModelFolder[] => [
  { program: 'Parley', folder, layout: 'files' },
  ...others,
];

/** Undefined for a file that cannot be read. */
type ReadText = (path: string) => string | undefined;

/** Model folders of Parley and of other programs; most do not exist. */
export function knownModelFolders(system: SystemFolders, readText: ReadText = readTextFile): readonly ModelFolder[] {
  const { home, environment } = system;
  const data = dataFolder(system);
  const hub = environment.HF_HUB_CACHE || environment.HUGGINGFACE_HUB_CACHE || join(hubHome(system), 'hub');
  const llamaCpp = environment.LLAMA_CACHE || join(cacheFolder(system), 'llama.cpp');
  const files = (program: string, ...folders: string[]): ModelFolder[] =>
    folders.map((folder) => ({ program, folder, layout: 'files' as const }));
  return [
    ...files('Parley', ownFolder('models', system)),
    ...files('LM Studio', ...lmStudioFolders(system, readText)),
    ...ollamaFolders(system).map((folder) => ({ program: 'Ollama', folder, layout: 'ollama' as const })),
    { program: 'Hugging Face', folder: hub, layout: 'hugging-face' },
    // Since 2026 it has the layout of the hub's cache.
    { program: 'llama.cpp', folder: llamaCpp, layout: 'hugging-face' },
    ...files('llama.cpp', llamaCpp),
    { program: 'Jan', folder: join(janData(system, readText), 'llamacpp', 'models'), layout: 'jan' },
    ...files('Jan', join(configFolder(system), 'Jan', 'data', 'models'), join(home, 'jan', 'models')),
    ...files('GPT4All', join(data, 'nomic.ai', 'GPT4All')),
    ...files('KoboldCpp', join(home, 'koboldcpp'), join(home, 'KoboldCpp'), join(home, 'koboldcpp', 'models')),
  ];
}

function cacheFolder({ home, platform, environment }: SystemFolders): string {
  if (platform === 'darwin') return join(home, 'Library', 'Caches');
  if (platform === 'win32') return environment.LOCALAPPDATA || join(home, 'AppData', 'Local');
  return environment.XDG_CACHE_HOME || join(home, '.cache');
}

function lmStudioFolders({ home, environment }: SystemFolders, readText: ReadText): readonly string[] {
  const own = readText(join(home, '.lmstudio-home-pointer'))?.trim() || join(home, '.lmstudio');
  const old = join(environment.XDG_CACHE_HOME || join(home, '.cache'), 'lm-studio');
  return [
    ...new Set(
      [own, old].map(
        (folder) => setting(join(folder, 'settings.json'), 'downloadsFolder', readText) ?? join(folder, 'models'),
      ),
    ),
  ];
}

/** The data folder of Jan, which its settings can move. */
function janData(system: SystemFolders, readText: ReadText): string {
  if (system.environment.JAN_DATA_FOLDER) return system.environment.JAN_DATA_FOLDER;
  const data = dataFolder(system);
  const folders = [join(data, 'Jan'), join(data, 'jan.ai.app'), join(configFolder(system), 'Jan')];
  const moved = folders.flatMap((folder) => setting(join(folder, 'settings.json'), 'data_folder', readText) ?? []);
  return moved[0] ?? join(data, 'Jan', 'data');
}

/** A text in a JSON file of another program. */
function setting(path: string, name: string, readText: ReadText): string | undefined {
  const content = tryParseJson(readText(path) ?? '');
  const value = isObject(content) ? content[name] : undefined;
  return typeof value === 'string' && isAbsolute(value) ? value : undefined;
}

/** The Ollama service on Linux has its own account. */
function ollamaFolders({ home, platform, environment }: SystemFolders): readonly string[] {
  if (environment.OLLAMA_MODELS) return [environment.OLLAMA_MODELS];
  const own = join(home, '.ollama', 'models');
  return platform === 'linux' ? [own, '/usr/share/ollama/.ollama/models'] : [own];
}
