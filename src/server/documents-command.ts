import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runningServer } from '../agents/running-server.ts';
import type { Collection, DocumentLibrary, IndexCounts, Passage } from '../core/documents.ts';
import { isObject } from '../core/json.ts';
import { noKey } from '../core/owner.ts';
import { byteSize, tableLines } from '../core/readable.ts';
import { hostName, isLoopback } from '../http/address.ts';
import { printable } from '../observe/printable.ts';
import { documentsPath } from '../protocols/native/documents.ts';
import { type Command, CommandError, command, print, text } from './command.ts';

interface DocumentsCommand extends Pick<Command, 'args' | 'terminal' | 'fetch' | 'folder'> {
  readonly pauseMs?: number;
}

const usage = `parley documents list
parley documents add FOLDER [--collection NAME]
parley documents search WORDS [--collection NAME]
parley documents rm NAME
Options: --port PORT or --url URL of the server (default port 5001), --password KEY, --documentsdir FOLDER without a server.
Uses the server if one answers, else the folder of the collections itself; the server then adds what needs the embedding model.`;
const defaultCollection = 'documents';
const resultCount = 5;

/** The collections of a running server, or of the folder itself. */
interface Collections {
  list(): Promise<readonly ListedCollection[]>;
  create(name: string): Promise<{ readonly id: string }>;
  addFolder(id: string, path: string): Promise<unknown>;
  delete(id: string): Promise<unknown>;
  /** In all collections, unless one is named. */
  search(query: string, collection: string | undefined): Promise<readonly FoundPassage[]>;
  /** The message after a folder was added. */
  added(id: string, path: string): Promise<string>;
  close(): Promise<void>;
}

interface ListedCollection extends Pick<Collection, 'id' | 'name' | 'passages' | 'bytes'> {
  readonly files: Pick<IndexCounts, 'total' | 'inProgress' | 'failed'>;
}
type FoundPassage = Pick<Passage, 'name' | 'headings' | 'text'>;

/** `parley documents` */
export const documentsCommand = command(
  { usage, options: { collection: text, port: text, url: text, password: text, documentsdir: text }, failureCode: 3 },
  async ({ values, positionals: [action = '', ...names] }, context: DocumentsCommand) => {
    const argument = names.join(' ');
    const act = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (!act || (action === 'list') !== (argument === '')) return undefined;
    const { collection, password, port = '5001', url = `http://localhost:${port}`, documentsdir } = values;
    const server = await runningServer(url, password, context.fetch);
    const collections = server
      ? await ofServer(server.url, password, context.fetch)
      : await ofFolder({ ...context, folder: documentsdir === undefined ? context.folder : resolve(documentsdir) });
    try {
      return print(context.terminal, await act(collections, argument, collection));
    } finally {
      await collections.close();
    }
  },
);

type Action = (from: Collections, argument: string, collection: string | undefined) => Promise<readonly string[]>;

const actions: Readonly<Record<string, Action>> = {
  list: async (from) => {
    const rows = (await from.list()).map(({ name, files: { total, inProgress, failed }, passages, bytes }) => {
      return [printable(name), ...[total, inProgress, failed, passages].map(String), byteSize(bytes)];
    });
    const header = ['Collection', 'Files', 'Not indexed yet', 'Failed', 'Passages', 'Size'];
    return rows.length === 0 ? ['There are no collections.'] : tableLines([header, ...rows]);
  },
  add: async (from, path, name = defaultCollection) => {
    const known = await named(from, name);
    const { id } = known ?? (await from.create(name));
    try {
      await from.addFolder(id, path);
    } catch (error) {
      // The first error is what went wrong.
      if (!known) await from.delete(id).catch(() => undefined);
      throw error;
    }
    return [`${printable(name)}: ${await from.added(id, path)}`];
  },
  search: async (from, query, collection) =>
    (await from.search(query, collection)).flatMap(({ name, headings, text: passage }) =>
      [[name, ...headings].join(' › '), `  ${passage.replace(/\s+/g, ' ').slice(0, 300)}`, ''].map((line) =>
        printable(line, 2000),
      ),
    ),
  rm: async (from, name) => {
    const known = await named(from, name);
    if (!known) throw new CommandError(`There is no collection ${JSON.stringify(name)}.`, 1);
    await from.delete(known.id);
    return [];
  },
};

const named = async (from: Collections, name: string): Promise<ListedCollection | undefined> =>
  (await from.list()).find((one) => one.name === name || one.id === name);

/** Without a server: files are read here, and embedded when a server has the collection. */
async function ofFolder({ folder, pauseMs = 200, terminal }: DocumentsCommand): Promise<Collections> {
  const { openDocuments } = await import('../documents/open-documents.ts');
  const documents = openDocuments({
    folder,
    embedding: () => undefined,
    files: () => undefined,
    turn: async () => () => undefined,
    warn: (sentence) => terminal.line(sentence),
  });
  const library: DocumentLibrary = documents.of(noKey);
  return {
    list: () => library.collections(),
    create: (name) => library.create({ name }),
    addFolder: (id, path) => library.addFolder(id, { path }),
    delete: (id) => library.delete(id),
    added: async (id) => {
      await documents.scanned();
      let collection = await library.collection(id);
      while (collection && collection.files.inProgress > 0) {
        await pause(pauseMs);
        collection = await library.collection(id);
      }
      const { total = 0, failed = 0 } = collection?.files ?? {};
      return `${total} ${total === 1 ? 'file' : 'files'}, ${failed} could not be read. The next server that is started makes their vectors.`;
    },
    search: async (query, collection) => {
      const collections = collection === undefined ? (await library.collections()).map(({ id }) => id) : [collection];
      const request = { queries: [query], collections, limit: resultCount };
      return (await library.search(request, new AbortController().signal)).hits.map(({ passage }) => passage);
    },
    close: () => documents.stop(),
  };
}

type Wire = Readonly<Record<string, unknown>>;

async function ofServer(url: string, key: string | undefined, ask: typeof fetch): Promise<Collections> {
  const isLocal = isLoopback(hostName(new URL(url).host) ?? '');
  const owner = isLocal && key === undefined ? await ownerToken(url, ask) : undefined;
  // The server has a folder of its own in which it runs.
  const pathOf = (path: string) => (isLocal ? resolve(path) : path);
  const call = async (method: string, rest = '', body?: object): Promise<Wire> => {
    const reply = await ask(`${url}${documentsPath}${rest}`, {
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(owner !== undefined && { 'x-parley-owner': owner }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await reply.json().catch(() => undefined);
    if (reply.ok) return isObject(answer) ? answer : {};
    throw new Error(`The server answered ${reply.status}: ${sentenceIn(answer)}`);
  };
  return {
    list: async () => {
      const { collections = [] } = (await call('GET')) as { readonly collections?: readonly WireCollection[] };
      return collections.map(({ files: { in_progress: inProgress, ...files }, ...one }) => {
        return { ...one, files: { ...files, inProgress } };
      });
    },
    create: async (name) => (await call('POST', '', { name })) as { readonly id: string },
    addFolder: (id, path) => call('POST', `/${id}/folders`, { path: pathOf(path) }),
    delete: (id) => call('DELETE', `/${id}`),
    added: async (_, path) =>
      `the server indexes ${printable(pathOf(path))}. "parley documents list" shows how far it is.`,
    search: async (query, collection) => {
      const request = { query, limit: resultCount, ...(collection && { collections: [collection] }) };
      return ((await call('POST', '/search', request)).results ?? []) as readonly FoundPassage[];
    },
    close: async () => undefined,
  };
}

interface WireCollection extends Omit<ListedCollection, 'files'> {
  readonly files: { readonly total: number; readonly in_progress: number; readonly failed: number };
}

/** That of the page: a user on the machine of the server may do what the page may. */
async function ownerToken(url: string, ask: typeof fetch): Promise<string | undefined> {
  const headers = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' };
  const answer: unknown = await (await ask(`${url}/api/extra/owner`, { headers })).json().catch(() => undefined);
  return isObject(answer) && typeof answer.token === 'string' ? answer.token : undefined;
}

function sentenceIn(answer: unknown): string {
  const detail = isObject(answer) ? (answer.detail ?? answer.error) : undefined;
  return isObject(detail) ? String(detail.msg ?? detail.message) : String(detail ?? 'no reason');
}
