import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, extname, join, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import type { DocumentLibrary } from '../core/documents.ts';
import type { MemoryLibrary } from '../core/memories.ts';
import { Libraries, type LibrariesOf, noKey, type Owner } from '../core/owner.ts';
import { fileNameOf } from '../core/person-data.ts';
import type { FileLibrary, UploadLibrary } from '../core/stored-files.ts';
import type { ToolServers } from '../core/tool-servers.ts';
import type { WebSearch } from '../core/web-search.ts';
import { makeFolder } from '../engines/llama/cache-folder.ts';
import { jsonObject } from '../http/body.ts';
import { webSearch } from '../search/web-search.ts';
import { SaveSlots, type SaveSlotsOptions } from '../store/save-slots.ts';
import { SharedStory } from '../store/shared-story.ts';
import { SyncedRecords } from '../store/synced-records.ts';
import type { openFiles } from './file-services.ts';

/** Services for clients besides generation; absent ones are not enabled. */
export interface ClientServices {
  readonly slots?: Libraries<SaveSlots>;
  readonly records?: Libraries<SyncedRecords>;
  readonly story?: SharedStory;
  readonly search?: WebSearch;
  readonly documents?: LibrariesOf<DocumentLibrary>;
  /** What people want remembered. */
  readonly memories?: Libraries<MemoryLibrary>;
  /** Files that clients uploaded. */
  readonly files?: LibrariesOf<FileLibrary>;
  readonly uploads?: LibrariesOf<UploadLibrary>;
  /** They run once it is known how. */
  readonly batches?: ReturnType<typeof openFiles>['batches'];
  /** MCP servers of `--mcpallow`, with the headers of a request. */
  readonly mcp?: (url: string, headers?: Readonly<Record<string, string>>) => ToolServers | undefined;
}

type ClientSettings = Pick<
  Settings,
  'savedatafile' | 'multiplayer' | 'websearch' | 'websearchurl' | 'port' | 'keyfile'
>;

/** `folder` is the default folder of stories. Throws a clear sentence at the start if a file cannot be used. */
export async function openClientServices(
  settings: ClientSettings,
  { folder, warn }: { readonly folder: string; readonly warn: (sentence: string) => void },
): Promise<ClientServices> {
  const { savedatafile, multiplayer, websearch, websearchurl, port, keyfile } = settings;
  const common = { warn, now: () => new Date(), parse };
  return {
    ...(savedatafile === '' ? {} : await openSaves(savedatafile, common, keyfile !== '')),
    ...(multiplayer ? { story: await openStory(folder, port, common) } : {}),
    ...(websearch ? { search: webSearch({ url: websearchurl, warn, extract }) } : {}),
  };
}

/** In the process for documents, with its limits. */
const extract: NonNullable<Parameters<typeof webSearch>[0]['extract']> = async (name, bytes, signal) => {
  const { extractDocument } = await import('../documents/extraction.ts');
  return extractDocument(name, { bytes }, { signal });
};

type Common = Pick<SaveSlotsOptions, 'warn' | 'now' | 'parse'>;

const parse: Common['parse'] = (bytes) => jsonObject(bytes, { empty: 'refuse' });

/** Where the stories, chats and characters of keys are. */
export function savesFolder({ savedatafile }: Pick<Settings, 'savedatafile'>): string | undefined {
  return savedatafile === '' ? undefined : keyFolder(savesPath(savedatafile));
}

const savesPath = (flag: string): string => resolve(flag.endsWith('.jsondb') ? flag : `${flag}.jsondb`);

/** The file of the slots, and next to it a folder for the records of the pages, which is created with the first record. */
async function openSaves(
  flag: string,
  common: Common,
  hasKeys: boolean,
): Promise<Pick<ClientServices, 'slots' | 'records'>> {
  const path = savesPath(flag);
  const slots = new Libraries((library) => new SaveSlots({ ...common, path: pathIn(path, library) }));
  const records = new Libraries(
    (library) => new SyncedRecords({ folder: pathIn(path, library).replace(/\.jsondb$/, '.records'), parse }),
  );
  await usable(`--savedatafile: ${path}`, async () => {
    await access(dirname(path), constants.W_OK);
    await slots.of({}).titles();
    if (hasKeys) await makeFolder(keyFolder(path));
  });
  return { slots, records };
}

/** Named by the port, so that two servers have two stories. */
async function openStory(folder: string, port: number, common: Common): Promise<SharedStory> {
  const path = join(folder, `multiplayer-${port}.json`);
  const story = new SharedStory({ ...common, path, clock: () => performance.now() });
  await usable(`--multiplayer: ${path}`, async () => {
    await makeFolder(folder);
    await access(folder, constants.W_OK);
    await story.turn();
  });
  return story;
}

/** For the libraries of keys, next to the file of the common one: `saves.keys` for `saves.jsondb`. */
function keyFolder(path: string): string {
  return `${path.slice(0, -extname(path).length)}.keys`;
}

function pathIn(path: string, library: Owner): string {
  return library === noKey ? path : join(keyFolder(path), `${fileNameOf(library)}${extname(path)}`);
}

async function usable(what: string, tried: () => Promise<void>): Promise<void> {
  try {
    await tried();
  } catch (error) {
    throw new Error(`${what} cannot be used: ${(error as Error).message}.`, { cause: error });
  }
}
