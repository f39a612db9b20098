import { join } from 'node:path';
import { expect } from 'vitest';
import { nativeClient } from '../../live/client.ts';
import type { StartServer } from '../../live/server.ts';
import { type Fault, faultGroup, type Subject } from '../fault.ts';
import { smallDisk } from '../full-disk.ts';
import { childrenOf } from '../processes.ts';
import { until } from '../until.ts';

interface Setting extends Subject {
  readonly collection: string;
  readonly folder: string;
  readonly disk: ReturnType<typeof smallDisk>;
  readonly start: StartServer;
  /** Adds a file with this word in each of its sections, and resolves with its name. */
  add(word: string): Promise<string>;
  /** Resolves when it is found by its word. */
  found(word: string): Promise<void>;
  /** The process that has the collections. */
  store(other?: number): Promise<number>;
  /** The processes that read files. */
  readers(): Promise<readonly number[]>;
  /** As the collection says. */
  file(name: string): Promise<{ readonly status: string; readonly error?: { readonly message: string } }>;
  /** All files of the collection. */
  indexAgain(): Promise<void>;
  close(): Promise<void>;
}

const path = '/api/extra/documents';
let words = 0;
const newWord = (): string => `word${String.fromCharCode(97 + (words % 26), 97 + Math.floor(words++ / 26))}`;
const textOf = (word: string): string =>
  Array.from({ length: 12 }, (_, at) => `# Part ${at}\n\n${`The ${word} number ${at} is here. `.repeat(30)}`).join(
    '\n\n',
  );

async function opened(start: StartServer): Promise<Setting> {
  const disk = smallDisk();
  const folder = join(disk.folder, 'documents');
  const server = await start(['--documentsdir', folder]);
  const { get, post } = nativeClient(server.base);
  const collection = ((await post(path, { name: 'faults' })).json() as { id: string }).id;
  const confirmed: string[] = [];
  const search = async (query: string) => {
    const reply = await post(`${path}/search`, { query, collections: [collection] });
    expect(reply.status, reply.text).toBe(200);
    return (reply.json() as { results: { name: string }[] }).results;
  };
  const isFound = async (word: string) => expect((await search(word))[0]?.name).toBe(`${word}.md`);
  const add = async (word: string) => {
    const reply = await post(`${path}/${collection}/files`, { name: `${word}.md`, text: textOf(word) });
    expect(reply.status, reply.text).toBe(200);
    confirmed.push(`${word}.md`);
    return `${word}.md`;
  };
  const files = async () =>
    ((await get(`${path}/${collection}/files`)).json() as { files: Awaited<ReturnType<Setting['file']>>[] }).files;
  const store: Setting['store'] = (other) =>
    until(() => childrenOf(server.pid, 'documents/worker').find((pid) => pid !== other) ?? false);
  return {
    server,
    collection,
    folder,
    disk,
    start,
    add,
    found: isFound,
    store,
    readers: async () => childrenOf(await store(), 'extraction/worker'),
    file: async (name) => {
      const all = (await get(`${path}/${collection}/files`)).json() as { files: { name: string }[] };
      return all.files.find((one) => one.name === name) as unknown as ReturnType<Setting['file']>;
    },
    indexAgain: async () => {
      expect((await post(`${path}/${collection}/reindex`, {})).status).toBe(200);
    },
    serves: async () => {
      expect((await files()).every(({ status }) => status === 'completed')).toBe(true);
    },
    intact: async () => {
      for (const name of confirmed) await isFound(name.replace('.md', ''));
    },
    close: async () => {
      await server.stop();
      disk.close();
    },
  };
}

const rows: readonly Fault<Setting>[] = [
  {
    name: 'document process killed while it indexes',
    kind: 'storage',
    short: true,
    inject: async ({ add, store }) => {
      await add(newWord());
      process.kill(await store(), 'SIGKILL');
    },
  },
  {
    name: 'document process killed during searches',
    kind: 'storage',
    inject: async ({ add, found, store, serves }) => {
      const word = newWord();
      await add(word);
      await until(() => serves('storage'));
      const searches = Array.from({ length: 8 }, () => found(word));
      process.kill(await store(), 'SIGKILL');
      // Each is done again in the next process.
      await Promise.all(searches);
    },
  },
  {
    name: 'process that reads a file killed while it reads',
    kind: 'storage',
    short: true,
    inject: async ({ add, readers, found }) => {
      // The next file is sent to the idle process, which is stopped.
      await add(newWord());
      const [reader = 0] = await until(async () => {
        const all = await readers();
        return all.length > 0 && all;
      });
      process.kill(reader, 'SIGSTOP');
      const word = newWord();
      await add(word);
      process.kill(reader, 'SIGKILL');
      await until(async () => {
        await found(word);
        return true;
      });
    },
  },
  {
    name: 'process that reads a file killed each time',
    kind: 'storage',
    inject: async ({ add, readers, file, indexAgain }) => {
      const failed = await until(async () => {
        const name = await add(newWord());
        return until(async () => {
          for (const reader of await readers()) process.kill(reader, 'SIGKILL');
          const { status, error } = await file(name);
          if (status === 'in_progress') throw new Error(`${name} is in progress`);
          // It may be read between two looks; then the next one is tried.
          return { error };
        }).then(({ error }) => error ?? false);
      });
      expect(failed.message).toMatch(/ended twice \(SIGKILL\)\. If memory is short, .*read again/);
      await indexAgain();
    },
  },
  {
    name: 'document process stopped',
    kind: 'storage',
    inject: async ({ add, found, store, server, serves }) => {
      const word = newWord();
      await add(word);
      await until(() => serves('storage').then(() => true));
      process.kill(await store(), 'SIGSTOP');
      // Answered without its figures.
      const metrics = await (await fetch(`${server.base}/metrics`)).text();
      expect(metrics).toContain('parley_');
      expect(metrics).not.toMatch(/^parley_document_files /m);
      // It is ended, and the search is done in the next one.
      await found(word);
    },
  },
  {
    name: 'disk of the documents is full',
    kind: 'storage',
    inject: async ({ disk, add, store, server }) => {
      const pids = [await store()];
      disk.fill(pids);
      try {
        await add(newWord()).catch(() => undefined);
        await server.says('Documents are not indexed: the disk is full');
      } finally {
        disk.free(pids);
      }
    },
  },
  {
    name: 'folder of the documents is used by another server',
    kind: 'storage',
    inject: async ({ start, folder }) => {
      const second = await start(['--documentsdir', folder]);
      const reply = await nativeClient(second.base).get(path);
      expect(reply.text).toContain('are used by another server');
      await second.stop();
    },
  },
];

export const documents = (start: StartServer) =>
  faultGroup<Setting>({ name: 'documents', open: () => opened(start), rows });
