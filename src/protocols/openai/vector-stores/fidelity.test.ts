import { expect } from 'vitest';
import type { DocumentLibrary } from '../../../core/documents.ts';
import { Libraries } from '../../../core/owner.ts';
import { memoryLibraries } from '../../../documents/testing/memory-libraries.ts';
import { freshFolders } from '../../../store/testing/folder.ts';
import { bindAll } from '../../testing/bind.ts';
import { asking, type Proof, proveFidelity, tableOf } from '../../testing/fidelity-proof.ts';
import { vectorStoreEndpoints } from './routes.ts';

const freshFolder = freshFolders();
const rows = (services: Parameters<typeof vectorStoreEndpoints>[0]) => vectorStoreEndpoints(services);
const recorded = ['create', 'update', 'addFiles', 'setAttributes', 'search'] as const;

/** Stores `vs1` to `vs3` for each request, the first with the files `file-a` and `file-b`. */
async function world() {
  const { files, documents: held } = memoryLibraries({ folder: freshFolder() });
  const library = held.of({});
  const content = async function* (text: string) {
    yield Buffer.from(text);
  };
  const { signal } = new AbortController();
  for (const id of ['file-a', 'file-b', 'file-c'])
    await files.of({}).add({ id, name: `${id}.txt`, purpose: 'assistants' }, content(`The lamp of ${id}.`), signal);
  const stores = [];
  for (const name of ['one', 'two', 'three']) stores.push(await library.create({ name }));
  const [store] = stores;
  // One after the other, for their order.
  await library.addFiles(store?.id ?? '', [{ file: 'file-a', attributes: { page: 1 } }]);
  await library.addFiles(store?.id ?? '', [{ file: 'file-b', attributes: { page: 2 } }]);
  const asked: object[] = [];
  const told = new Proxy(library, {
    get: (own, name: keyof DocumentLibrary) => {
      const method = own[name] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if ((recorded as readonly string[]).includes(name)) asked.push({ [name]: args });
        return method.apply(own, args);
      };
    },
  });
  const documents = new Libraries(() => told);
  const endpoints = bindAll(rows({ files, documents, newId: (prefix) => `${prefix}n`, now: () => 5_000_000 }), {});
  return { endpoints, asked, ids: stores.map(({ id }) => id) };
}

const windows = { type: 'static', static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 50 } };
const tooSmall = { type: 'static', static: { max_chunk_size_tokens: 5, chunk_overlap_tokens: 0 } };
const asWindows = { type: 'static', maxTokens: 200, overlapTokens: 50 };
const names = (write: 'create' | 'update'): Readonly<Record<string, Proof>> => {
  const asks = (fields: object): object => ({ [write]: write === 'create' ? [fields] : [expect.any(String), fields] });
  return {
    name: {
      send: { name: 'Docs' },
      asks: asks({ name: 'Docs' }),
      tells: /"name":"Docs"/,
      refuses: [{ name: 'a'.repeat(257) }],
    },
    description: {
      send: { description: 'Of us' },
      asks: asks({ description: 'Of us' }),
      tells: /"description":"Of us"/,
    },
    expires_after: {
      send: { expires_after: { anchor: 'last_active_at', days: 9 } },
      tells: /"days":9/,
      refuses: [
        { expires_after: { anchor: 'last_active_at', days: 366 } },
        { expires_after: { anchor: 'x', days: 1 } },
      ],
    },
    metadata: { send: { metadata: { team: 'a' } }, tells: /"team":"a"/, refuses: [{ metadata: { team: 1 } }] },
  };
};
const files = (proof: (file: object) => object): Readonly<Record<string, Proof>> => ({
  attributes: {
    send: { attributes: { author: 'Ada' } },
    asks: proof({ attributes: { author: 'Ada' } }),
    refuses: [{ attributes: { author: [] } }],
  },
  chunking_strategy: {
    send: { chunking_strategy: windows },
    asks: proof({ chunking: asWindows }),
    refuses: [{ chunking_strategy: tooSmall }, { chunking_strategy: { type: 'other' } }],
  },
});
const added = (file: object): object => ({ addFiles: [expect.any(String), [file]] });
const searched = (fields: object): object => ({ search: [fields, expect.anything()] });
/** Of a page that begins with one id and ends with another. */
const pagesOf = (newest: string, oldest: string): Readonly<Record<string, Proof>> => ({
  limit: { send: { limit: 1 }, tells: /"has_more":true/, refuses: [{ limit: 0 }, { limit: 101 }] },
  order: { send: { order: 'asc' }, tells: new RegExp(`"first_id":"${oldest}"`), refuses: [{ order: 'up' }] },
  after: { send: { after: newest }, hides: new RegExp(`"first_id":"${newest}"`) },
  before: { send: { before: oldest }, hides: new RegExp(`"last_id":"${oldest}"`) },
});

const tables = rows({} as never);
const { ids } = await world();
const [store = '', , last = ''] = ids;
const prove = (method: string, path: string, below: string, base: object, proofs: Readonly<Record<string, Proof>>) =>
  proveFidelity({
    table: tableOf(tables, `${method} /v1/vector_stores${path}`),
    base: base as never,
    ask: asking(world, method, `/v1/vector_stores${below}`),
    proofs,
    refusal: (reply) => expect(reply).toMatchObject({ error: { message: expect.any(String) } }),
  });

prove(
  'POST',
  '',
  '',
  {},
  {
    ...names('create'),
    file_ids: { send: { file_ids: ['file-a'] }, asks: added({ file: 'file-a' }), tells: /"total":1/ },
    chunking_strategy: {
      beside: { file_ids: ['file-a'] },
      send: { chunking_strategy: windows },
      asks: added({ file: 'file-a', chunking: asWindows }),
      refuses: [{ chunking_strategy: tooSmall }],
    },
  },
);
prove('GET', '', '', {}, pagesOf(last, store));
prove('POST', '/{id}', `/${store}`, {}, names('update'));
prove(
  'POST',
  '/{id}/search',
  `/${store}/search`,
  { query: 'lamp' },
  {
    query: {
      send: { query: ['lamp', 'file-b'] },
      asks: searched({ queries: ['lamp', 'file-b'] }),
      refuses: [{ query: ' ' }],
    },
    filters: {
      send: { filters: { type: 'eq', key: 'page', value: 2 } },
      hides: /file-a/,
      refuses: [{ filters: { type: 'like', key: 'page', value: 2 } }],
    },
    max_num_results: { send: { max_num_results: 1 }, asks: searched({ limit: 1 }), refuses: [{ max_num_results: 51 }] },
    'ranking_options.ranker': {
      send: { ranking_options: { ranker: 'none' } },
      asks: searched({ rerank: false }),
      refuses: [{ ranking_options: { ranker: 'best' } }],
    },
    'ranking_options.score_threshold': {
      send: { ranking_options: { score_threshold: 0.5 } },
      asks: searched({ threshold: 0.5 }),
      refuses: [{ ranking_options: { score_threshold: 2 } }],
    },
    rewrite_query: { send: { rewrite_query: true }, same: true },
  },
);
prove(
  'POST',
  '/{id}/files',
  `/${store}/files`,
  { file_id: 'file-c' },
  {
    file_id: { send: { file_id: 'file-b' }, asks: added({ file: 'file-b' }) },
    ...files((file) => added({ file: 'file-c', ...file })),
  },
);
prove(
  'GET',
  '/{id}/files',
  `/${store}/files`,
  {},
  {
    ...pagesOf('file-b', 'file-a'),
    filter: { send: { filter: 'failed' }, hides: /file-a/, refuses: [{ filter: 'lost' }] },
  },
);
prove(
  'POST',
  '/{id}/files/{file_id}',
  `/${store}/files/file-a`,
  { attributes: {} },
  {
    attributes: { send: { attributes: { page: 7 } }, tells: /"page":7/, refuses: [{ attributes: 1 }] },
  },
);
prove(
  'POST',
  '/{id}/file_batches',
  `/${store}/file_batches`,
  { file_ids: ['file-c'] },
  {
    file_ids: { send: { file_ids: ['file-b'] }, asks: added({ file: 'file-b' }), refuses: [{ file_ids: [] }] },
    files: {
      send: { file_ids: undefined, files: [{ file_id: 'file-b', attributes: { page: 3 } }] },
      asks: added({ file: 'file-b', attributes: { page: 3 } }),
      refuses: [{ files: [{ file_id: 'file-b' }] }],
    },
    ...files((file) => added({ file: 'file-c', ...file })),
  },
);
