import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runningServer } from '../agents/running-server.ts';
import type { Collection, DocumentLibrary } from '../core/documents.ts';
import { isObject } from '../core/json.ts';
import { noKey } from '../core/owner.ts';
import { byteSize, tableLines } from '../core/readable.ts';
import { hostName, isLoopback } from '../http/address.ts';
import { printable } from '../observe/printable.ts';
import { documentsPath } from '../protocols/native/documents.ts';
import { type Command, readWords, showUsage, text } from './command.ts';

interface DocumentsCommand extends Pick<Command, 'words' | 'terminal' | 'fetch' | 'folder'> {
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

type Wire = Readonly<Record<string, unknown>>;

/** What the command does, by a server or in the folder itself. */
interface Access {
  collections(): Promise<readonly { readonly name: string; readonly line: readonly string[] }[]>;
  add(path: string, collection: string): Promise<string>;
  search(query: string, collection: string | undefined): Promise<readonly string[]>;
  remove(name: string): Promise<boolean>;
  close(): Promise<void>;
}

/** `parley documents`: resolves to the exit code. */
export async function documentsCommand(command: DocumentsCommand): Promise<number> {
  const { terminal } = command;
  const options = { collection: text, port: text, url: text, password: text, documentsdir: text };
  const { values, others = [] } = readWords(command.words, options) ?? {};
  const [what, ...names] = others;
  const argument = names.join(' ');
  const isKnown =
    what === 'list' ? names.length === 0 : ['add', 'search', 'rm'].includes(what ?? '') && argument !== '';
  if (!values || !isKnown) return showUsage(terminal, usage, { words: command.words, options });
  const { collection } = values;
  let access: Access | undefined;
  try {
    const url = values.url ?? `http://localhost:${values.port ?? '5001'}`;
    const server = await runningServer(url, values.password, command.fetch);
    access = server ? await overHttp(server.url, values.password, command.fetch) : await inFolder(command);
    switch (what) {
      case 'list': {
        const rows = (await access.collections()).map(({ line }) => line);
        const heads = ['Collection', 'Files', 'Not indexed yet', 'Failed', 'Passages', 'Size'];
        for (const line of rows.length === 0 ? ['There are no collections.'] : tableLines([heads, ...rows]))
          terminal.line(line);
        return 0;
      }
      case 'add':
        terminal.line(await access.add(argument, collection ?? defaultCollection));
        return 0;
      case 'search':
        for (const line of await access.search(argument, collection)) terminal.line(printable(line, 2000));
        return 0;
      default:
        if (await access.remove(argument)) return 0;
        terminal.line(`There is no collection ${JSON.stringify(argument)}.`);
        return 1;
    }
  } catch (error) {
    terminal.line((error as Error).message);
    return 3;
  } finally {
    await access?.close();
  }
}

/** Without a server: files are read here, and embedded when a server has the collection. */
async function inFolder({ folder, pauseMs = 200, terminal }: DocumentsCommand): Promise<Access> {
  const { openDocuments } = await import('../documents/open-documents.ts');
  const documents = openDocuments({
    folder,
    embedding: () => undefined,
    files: () => undefined,
    turn: async () => () => undefined,
    warn: (sentence) => terminal.line(sentence),
  });
  const library: DocumentLibrary = documents.of(noKey);
  const settled = async (name: string): Promise<Collection | undefined> => {
    await documents.scanned();
    for (;;) {
      const collection = await library.collection(name);
      if (!collection || collection.files.inProgress === 0) return collection;
      await pause(pauseMs);
    }
  };
  return {
    collections: async () =>
      (await library.collections()).map((one) => ({
        name: one.name,
        line: lineOf(one.name, one.files.total, one.files.inProgress, one.files.failed, one.passages, one.bytes),
      })),
    add: async (path, name) => {
      const known = await library.collection(name);
      const { id } = known ?? (await library.create({ name }));
      await orUndo(library.addFolder(id, { path }), async () => {
        if (!known) await library.delete(id);
      });
      const collection = await settled(id);
      const { total = 0, failed = 0 } = collection?.files ?? {};
      return `${printable(name)}: ${total} ${total === 1 ? 'file' : 'files'}, ${failed} could not be read. The next server that is started makes their vectors.`;
    },
    search: async (query, collection) => {
      const names = collection === undefined ? (await library.collections()).map(({ id }) => id) : [collection];
      const request = { queries: [query], collections: names, limit: resultCount };
      const { hits } = await library.search(request, new AbortController().signal);
      return hits.flatMap(({ passage }) => resultLines(passage.name, passage.headings, passage.text));
    },
    remove: async (name) => {
      const collection = await library.collection(name);
      if (collection) await library.delete(collection.id);
      return collection !== undefined;
    },
    close: () => documents.stop(),
  };
}

async function overHttp(url: string, key: string | undefined, ask: typeof fetch): Promise<Access> {
  const isLocal = isLoopback(hostName(new URL(url).host) ?? '');
  const owner = isLocal && key === undefined ? await ownerToken(url, ask) : undefined;
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
  const all = async () => ((await call('GET')).collections ?? []) as readonly Wire[];
  const named = async (name: string) => (await all()).find((one) => one.name === name || one.id === name);
  return {
    collections: async () =>
      (await all()).map(({ name, files, passages, bytes }) => {
        const { total, in_progress: waiting, failed } = files as Readonly<Record<string, number>>;
        return { name: String(name), line: lineOf(name, total, waiting, failed, passages, bytes) };
      }),
    add: async (given, name) => {
      // The server has a folder of its own in which it runs.
      const folder = isLocal ? resolve(given) : given;
      const known = await named(name);
      const { id } = known ?? (await call('POST', '', { name }));
      await orUndo(call('POST', `/${String(id)}/folders`, { path: folder }), async () => {
        if (!known) await call('DELETE', `/${String(id)}`);
      });
      return `${printable(name)}: the server indexes ${printable(folder)}. "parley documents list" shows how far it is.`;
    },
    search: async (query, collection) => {
      const { results = [] } = await call('POST', '/search', {
        query,
        limit: resultCount,
        ...(collection && { collections: [collection] }),
      });
      return (results as readonly Wire[]).flatMap(({ name, headings, text: own }) =>
        resultLines(String(name), headings as readonly string[], String(own)),
      );
    },
    remove: async (name) => {
      const collection = await named(name);
      if (collection) await call('DELETE', `/${String(collection.id)}`);
      return collection !== undefined;
    },
    close: async () => undefined,
  };
}

/** Undoes what was done for `work` where that fails, and throws its error: that is what went wrong. */
async function orUndo(work: Promise<unknown>, undo: () => Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    await undo().catch(() => undefined);
    throw error;
  }
}

/** That of the page: whoever runs this command on the machine of the server may do what the page may. */
async function ownerToken(url: string, ask: typeof fetch): Promise<string | undefined> {
  const headers = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' };
  const answer: unknown = await (await ask(`${url}/api/extra/owner`, { headers })).json().catch(() => undefined);
  return isObject(answer) && typeof answer.token === 'string' ? answer.token : undefined;
}

function lineOf(...[name, total, waiting, failed, passages, bytes]: readonly unknown[]): readonly string[] {
  return [printable(String(name)), ...[total, waiting, failed, passages].map(String), byteSize(Number(bytes))];
}

function resultLines(name: string, headings: readonly string[], own: string): readonly string[] {
  return [[name, ...headings].join(' › '), `  ${own.replace(/\s+/g, ' ').slice(0, 300)}`, ''];
}

function sentenceIn(answer: unknown): string {
  const detail = isObject(answer) ? (answer.detail ?? answer.error) : undefined;
  return isObject(detail) ? String(detail.msg ?? detail.message) : String(detail ?? 'no reason');
}
