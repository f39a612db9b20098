import { createReadStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Settings } from '../config/flags.ts';
import { readDiskCache } from '../config/paths.ts';
import { ownFolder } from '../core/data-folder.ts';
import { type Libraries, type Owner, ownerOf, senderOf } from '../core/owner.ts';
import { fileNameOf, jsonFile, type PersonFile, type PersonStore } from '../core/person-data.ts';
import { isSnapshotName } from '../engines/llama/cache-folder.ts';
import type { PersonRecords } from '../protocols/admin/person-data.ts';
import { SavedSummaries } from '../store/state-files.ts';
import { savesFolder } from './client-services.ts';
import { documentFolder } from './document-services.ts';
import type { ServerServices } from './services.ts';

/** Every store of the server that has something of a person, by the name of its folder in an export. */
function personStores(services: ServerServices): Readonly<Record<string, PersonStore>> {
  const { settings, clients = {}, responses, streams, comfy, lastDrawings, requestQueue } = services;
  const { summaries, recalls, conversations, inspected, speechSettings } = services;
  const forgotten = (libraries: Pick<Libraries<unknown>, 'forget'> | undefined) => async (owner: Owner) =>
    libraries?.forget(owner);
  return {
    // First: what runs must not store anything any more.
    batches: inMemory(async (owner) => clients.batches?.stop(owner)),
    jobs: inMemory(async (owner) => requestQueue.jobs.forget(owner)),
    streams: inMemory(async (owner) => streams.forget(owner)),
    responses: {
      async *files(owner) {
        for (const { id, context: _, ...stored } of responses.store.list(owner)) yield jsonFile(`${id}.json`, stored);
      },
      remove: async (owner) => {
        const own = responses.store.of(owner);
        for (const { id } of responses.store.list(owner)) {
          own.delete(id);
          await responses.background.cancel(id);
        }
      },
    },
    images: {
      async *files(owner) {
        for (const [path, { bytes }] of comfy.files.of(owner).all())
          yield { path, bytes: bytes.length, content: () => [bytes] };
        const history = Object.entries(comfy.history(owner));
        if (history.length > 0) yield jsonFile('history.json', Object.fromEntries(history));
      },
      remove: async (owner) => {
        await comfy.forget(owner);
        lastDrawings.forget(owner);
      },
    },
    saves: beginning(savesFolder(settings), forgotten(clients.slots)),
    memories: beginning(ownFolder('memories'), async (owner) => {
      clients.memories?.forget(owner);
      recalls.clear();
    }),
    documents: documentStore(services, documentFolder(settings)),
    files: ownFolderOf(ownFolder('files')),
    speech: ownFolderOf(ownFolder('output'), forgotten(speechSettings)),
    summaries: {
      async *files(owner) {
        const own = await summaries.list(owner);
        if (own.length > 0) yield jsonFile('summaries.json', own);
      },
      remove: async (owner) => {
        await summaries.forget(owner);
        await forgetSummaries(owner, services);
      },
    },
    conversations: {
      async *files(owner) {
        const own = conversations?.list(owner) ?? [];
        if (own.length > 0)
          yield jsonFile(
            'conversations.json',
            own.map(({ sequences: _, ...figures }) => figures),
          );
      },
      remove: async (owner) => {
        conversations?.clear(owner);
        inspected.forget(senderOf(owner).key?.name ?? '');
      },
    },
    prompts: inMemory(() => emptyDiskCache(settings)),
  };
}

/** All that the server has of each person, by the name of the key. */
export function personRecords(services: ServerServices): PersonRecords {
  const { keys, usage, activeCalls } = services;
  const stores = personStores(services);
  const usageOf = (name: string) =>
    (usage?.list(allDays) ?? []).filter(({ client }) => client === ownerOf({ key: { name } }));
  async function* files(name: string): AsyncGenerator<PersonFile> {
    for (const [folder, store] of Object.entries(stores))
      for await (const file of store.files(ownerOf({ key: { name } })))
        yield { ...file, path: `${folder}/${file.path}` };
    const days = usageOf(name).map(({ client: _, ...counts }) => counts);
    if (days.length > 0) yield jsonFile('usage.json', days);
  }
  return {
    files,
    hasAny: async (name) => {
      for await (const _ of files(name)) return true;
      return false;
    },
    end: (name) => activeCalls.end(name, wait),
    remove: async (name) => {
      for (const store of Object.values(stores)) await store.remove(ownerOf({ key: { name } }));
      await usage?.forget(name);
      keys?.forget(name);
    },
  };
}

const allDays = 100;

/** What is forgotten within minutes, or when the server stops, and is in no export. */
function inMemory(remove: (owner: Owner) => Promise<void>): PersonStore {
  return { files: async function* () {}, remove };
}

/** A folder for each owner. */
function ownFolderOf(folder: string, forget?: (owner: Owner) => Promise<void>): PersonStore {
  const folderOf = (owner: Owner): string => join(folder, fileNameOf(owner));
  return {
    files: (owner) => filesIn(folderOf(owner)),
    remove: async (owner) => {
      await rm(folderOf(owner), { recursive: true, force: true });
      await forget?.(owner);
    },
  };
}

/** Files and folders that begin with the name of the owner, before a dot: also copies of damaged files. */
function beginning(folder: string | undefined, forget: (owner: Owner) => Promise<void>): PersonStore {
  const namesOf = async (owner: Owner): Promise<readonly string[]> => {
    const names = folder === undefined ? [] : await readdir(folder).catch(() => []);
    return names.filter((name) => name.startsWith(`${fileNameOf(owner)}.`));
  };
  return {
    async *files(owner) {
      for (const name of await namesOf(owner)) {
        const end = name.slice(fileNameOf(owner).length + 1);
        yield* filesIn(join(folder ?? '', name), end);
      }
    },
    remove: async (owner) => {
      for (const name of await namesOf(owner)) await rm(join(folder ?? '', name), { recursive: true, force: true });
      await forget(owner);
    },
  };
}

/** A file, or all below a folder. */
async function* filesIn(path: string, name = ''): AsyncGenerator<PersonFile> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isFile()) yield { path: name, bytes: facts.size, content: () => createReadStream(path) };
  if (!facts?.isDirectory()) return;
  for (const entry of (await readdir(path).catch(() => [])).sort())
    yield* filesIn(join(path, entry), name === '' ? entry : `${name}/${entry}`);
}

/** The files of collections are open in another process: their texts are read from there. */
function documentStore({ clients }: Pick<ServerServices, 'clients'>, folder: string): PersonStore {
  const libraryOf = (owner: Owner) => clients?.documents?.of(senderOf(owner));
  return {
    async *files(owner) {
      const library = libraryOf(owner);
      for (const collection of (await library?.collections()) ?? []) {
        const files = (await library?.files(collection.id)) ?? [];
        yield jsonFile(`${collection.id}/collection.json`, { ...collection, files });
        for (const [number, { id }] of files.entries()) {
          const text = Buffer.from((await library?.text(collection.id, id)) ?? '');
          yield { path: `${collection.id}/${number + 1}.txt`, bytes: text.length, content: () => [text] };
        }
      }
    },
    remove: async (owner) => {
      const library = libraryOf(owner);
      for (const { id } of (await library?.collections()) ?? []) await library?.delete(id);
      await rm(join(folder, fileNameOf(owner)), { recursive: true, force: true });
    },
  };
}

/** Of servers on other ports. */
async function forgetSummaries(owner: Owner, { warn }: Pick<ServerServices, 'warn'>): Promise<void> {
  const folder = ownFolder('state');
  for (const name of await readdir(folder).catch(() => [])) {
    if (!/^summaries-\d+\.json$/.test(name)) continue;
    const file = new SavedSummaries({ path: join(folder, name), warn, now: () => new Date() });
    await file.write((await file.read()).filter((one) => one.owner !== owner));
  }
}

/** The owner of a cached prompt is not known, and it can be computed again: all are deleted. */
async function emptyDiskCache({ diskcache }: Pick<Settings, 'diskcache'>): Promise<void> {
  const read = diskcache === '' ? undefined : readDiskCache(diskcache);
  if (!read?.ok) return;
  const folder = resolve(read.folder);
  for (const name of await readdir(folder).catch(() => []))
    if (isSnapshotName(name)) await rm(join(folder, name), { force: true });
}
