import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Batch, BatchLibrary } from '../core/batches.ts';
import { AppError } from '../core/errors.ts';
import { Libraries } from '../core/owner.ts';
import type { FileLibrary, StoredFile, Upload, UploadLibrary } from '../core/stored-files.ts';
import type { JsonObject } from '../http/body.ts';
import type { EndpointShape } from './endpoint.ts';
import { messageBatchEndpoints } from './messages/batches.ts';
import { messagesDialect } from './messages/errors.ts';
import { messagesFileEndpoints } from './messages/files.ts';
import { batchEndpoints } from './openai/batches.ts';
import { openaiDialect } from './openai/errors.ts';
import { fileEndpoints } from './openai/files.ts';
import { bindAll } from './testing/bind.ts';
import { asking, type Proof, proveFidelity, tableOf } from './testing/fidelity-proof.ts';
import { formOf } from './testing/forms.ts';

const day = 24 * 60 * 60;
const stored = (id: string, purpose: StoredFile['purpose']): StoredFile => ({
  id,
  purpose,
  name: `${id}.txt`,
  mime: 'text/plain',
  bytes: 3,
  createdAt: 1000,
});
const allFiles = [stored('file-c', 'assistants'), stored('file-b', 'batch'), stored('file-a', 'assistants')];
const pending: Upload = {
  id: 'upload_a',
  name: 'a.txt',
  purpose: 'assistants',
  createdAt: 1000,
  mime: 'text/plain',
  bytes: 3,
  status: 'pending',
  expiresAt: 4600,
};
const batch = (id: string): Batch => ({
  id,
  status: 'in_progress',
  endpoint: '/v1/chat/completions',
  createdAt: 1000,
  expiresAt: 1000 + day,
  counts: { total: 2, succeeded: 0, failed: 0 },
  usage: { input: 0, cached: 0, output: 0, reasoning: 0 },
});
const prefixes = { openai: 'batch_', messages: 'msgbatch_' } as const;

/** Libraries that hold three of each, and what was asked of them. */
function world() {
  const asked: object[] = [];
  const files: FileLibrary = {
    list: async () => allFiles,
    get: async (id) => allFiles.find((file) => file.id === id),
    add: () => expect.fail('files of forms are moved'),
    move: async (file, path) => {
      asked.push({ file, content: readFileSync(path, 'utf8') });
      return {
        ...stored('file-d', file.purpose),
        ...(file.expiresAfter !== undefined && { expiresAt: 1000 + file.expiresAfter }),
      };
    },
    newId: () => 'file-d',
    path: () => expect.fail('no content is read'),
    delete: async () => true,
  };
  const uploads: UploadLibrary = {
    create: async (upload) => {
      asked.push({ upload });
      return { ...pending, ...upload };
    },
    addPart: async (id, path) => {
      asked.push({ id, part: readFileSync(path, 'utf8') });
      return { id: 'part_a', createdAt: 1000 };
    },
    complete: async (id, parts, md5) => {
      if (md5 === 'wrong') throw new AppError('invalid-field', { field: 'md5', expected: 'that of the file' });
      asked.push({ id, parts, md5 });
      return { ...pending, status: 'completed', file: stored('file-d', 'assistants') };
    },
    cancel: async () => ({ ...pending, status: 'cancelled' }),
  };
  const batches: BatchLibrary = {
    list: async (api) => ['c', 'b', 'a'].map((name) => batch(`${prefixes[api]}${name}`)),
    get: async (id) => batch(id),
    create: async (made) => {
      asked.push({ batch: made });
      const { metadata } = made;
      return { ...batch(`${prefixes[made.api]}d`), endpoint: made.endpoint, ...(metadata && { metadata }) };
    },
    cancel: async (id) => batch(id),
    results: () => expect.fail('none has ended'),
    delete: async () => undefined,
  };
  const services = {
    files: new Libraries(() => files),
    uploads: new Libraries(() => uploads),
    batches: new Libraries(() => batches),
    endpoints: () => batched,
    ...forms,
    now: () => 5_000_000,
  };
  return { asked, services };
}

const batched = [
  ['/v1/chat/completions', openaiDialect],
  ['/v1/embeddings', openaiDialect],
  ['/v1/messages', messagesDialect],
].map(([path, dialect]) => ({ path, dialect, batched: true }) as unknown as EndpointShape);
const form = { maxFileBytes: 100, maxFiles: 1, folder: async () => '' } as never;
const forms = { fileForm: form, partForm: form };
const openai = (services: ReturnType<typeof world>['services']) => [
  ...fileEndpoints(services),
  ...batchEndpoints(services),
];
const anthropic = (services: ReturnType<typeof world>['services']) => [
  ...messagesFileEndpoints(services),
  ...messageBatchEndpoints(services),
];

/** Of a body, the entry of this name is the file of the form. */
const formWith = (field: string) => (body: JsonObject) => {
  const { [field]: content, ...fields } = body;
  const entries = Object.entries(fields).flatMap(([name, value]): [string, string][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([own, one]) => [`${name}[${own}]`, `${one}`])
      : value === undefined
        ? []
        : [[name, `${value}`]],
  );
  return formOf(
    Object.fromEntries(entries),
    content === undefined ? [] : [{ field, name: 'a.txt', bytes: Buffer.from(`${content}`) }],
  );
};

interface Row {
  readonly path: string;
  readonly sent?: string;
  readonly method?: string;
  readonly base?: JsonObject;
  readonly form?: string;
}

function prover(rows: typeof openai | typeof anthropic, headers: Readonly<Record<string, string>> = {}) {
  const tables = rows(world().services);
  return ({ path, sent = path, method = 'POST', base = {}, form: field }: Row, proofs: Record<string, Proof>) =>
    proveFidelity({
      table: tableOf(tables, `${method} ${path}`),
      base,
      ask: asking(
        () => {
          const { services, asked } = world();
          return { asked, endpoints: bindAll(rows(services), {}) };
        },
        method,
        sent,
        async (body) => ({ headers, ...(field !== undefined && (await formWith(field)(body))) }),
      ),
      proofs,
      refusal: (reply) => expect(reply).toMatchObject({ error: { message: expect.any(String) } }),
    });
}

const lifetime = (field: string, asks: object): Proof => ({
  send: { [field]: { anchor: 'created_at', seconds: 3600 } },
  asks,
  refuses: [{ [field]: { anchor: 'created_at', seconds: 1 } }, { [field]: { anchor: 'last_use', seconds: 3600 } }],
});
const metadata: Proof = {
  send: { metadata: { team: 'a' } },
  tells: /"team":"a"/,
  refuses: [{ metadata: { team: 1 } }],
};

const proveOpenai = prover(openai);
proveOpenai(
  { path: '/v1/files', base: { file: 'Text', purpose: 'assistants' }, form: 'file' },
  {
    file: { send: { file: 'More' }, asks: { content: 'More' }, refuses: [{ file: '' }, { file: undefined }] },
    purpose: { send: { purpose: 'vision' }, asks: { file: { purpose: 'vision' } }, refuses: [{ purpose: 'fun' }] },
    expires_after: lifetime('expires_after', { file: { expiresAfter: 3600 } }),
  },
);
proveOpenai(
  { path: '/v1/files', method: 'GET' },
  {
    purpose: { send: { purpose: 'batch' }, hides: /file-a/ },
    limit: { send: { limit: 1 }, tells: /"has_more":true/, refuses: [{ limit: 0 }, { limit: 10_001 }] },
    order: { send: { order: 'asc' }, tells: /"first_id":"file-a"/, refuses: [{ order: 'up' }] },
    after: { send: { after: 'file-c' }, hides: /file-c/ },
  },
);
proveOpenai(
  { path: '/v1/uploads', base: { bytes: 3, filename: 'a.txt', mime_type: 'text/plain', purpose: 'assistants' } },
  {
    bytes: { send: { bytes: 4 }, asks: { upload: { bytes: 4 } }, refuses: [{ bytes: 0 }] },
    filename: { send: { filename: 'b.txt' }, asks: { upload: { name: 'b.txt' } }, refuses: [{ filename: '' }] },
    mime_type: {
      send: { mime_type: 'text/css' },
      asks: { upload: { mime: 'text/css' } },
      refuses: [{ mime_type: 'css' }],
    },
    purpose: { send: { purpose: 'vision' }, asks: { upload: { purpose: 'vision' } }, refuses: [{ purpose: 'fun' }] },
    expires_after: lifetime('expires_after', { upload: { fileSeconds: 3600 } }),
  },
);
proveOpenai(
  { path: '/v1/uploads/{id}/parts', sent: '/v1/uploads/upload_a/parts', base: { data: 'Text' }, form: 'data' },
  { data: { send: { data: 'More' }, asks: { id: 'upload_a', part: 'More' }, refuses: [{ data: '' }] } },
);
proveOpenai(
  { path: '/v1/uploads/{id}/complete', sent: '/v1/uploads/upload_a/complete', base: { part_ids: ['part_a'] } },
  {
    part_ids: { send: { part_ids: ['b', 'a'] }, asks: { parts: ['b', 'a'] }, refuses: [{ part_ids: 'part_a' }] },
    md5: { send: { md5: 'sum' }, asks: { md5: 'sum' }, refuses: [{ md5: 'wrong' }] },
  },
);
proveOpenai(
  {
    path: '/v1/batches',
    base: { input_file_id: 'file-b', endpoint: '/v1/chat/completions', completion_window: '24h' },
  },
  {
    input_file_id: {
      send: { input_file_id: 'file-a' },
      asks: { batch: { input: { file: 'file-a' } } },
      refuses: [{ input_file_id: 'none' }],
    },
    endpoint: {
      send: { endpoint: '/v1/embeddings' },
      asks: { batch: { endpoint: '/v1/embeddings' } },
      refuses: [{ endpoint: '/v1/files' }],
    },
    completion_window: { send: { completion_window: '24h' }, same: true, refuses: [{ completion_window: '1h' }] },
    metadata,
    output_expires_after: lifetime('output_expires_after', { batch: { outputSeconds: 3600 } }),
  },
);
proveOpenai(
  { path: '/v1/batches', method: 'GET' },
  {
    limit: { send: { limit: 1 }, tells: /"has_more":true/, refuses: [{ limit: 0 }, { limit: 101 }] },
    after: { send: { after: 'batch_c' }, hides: /batch_c/ },
  },
);

const proveMessages = prover(anthropic, { 'anthropic-version': '2023-06-01' });
const beta: Proof = { send: { beta: 'true' }, same: true };
proveMessages(
  { path: '/v1/files', base: { file: 'Text' }, form: 'file' },
  {
    file: { send: { file: 'More' }, asks: { content: 'More' }, refuses: [{ file: '' }, { file: undefined }] },
    expires_in_seconds: {
      send: { expires_in_seconds: 3600 },
      asks: { file: { expiresAfter: 3600 } },
      refuses: [{ expires_in_seconds: 1 }],
    },
  },
);
proveMessages(
  { path: '/v1/files', method: 'GET' },
  {
    limit: { send: { limit: 1 }, tells: /"has_more":true/, refuses: [{ limit: 0 }, { limit: 1001 }] },
    page: { send: { page: 'file_c' }, hides: /file_c/ },
    after_id: { send: { after_id: 'file_c' }, hides: /file_c/ },
    before_id: { send: { before_id: 'file_a' }, hides: /file_a/ },
    'ids[]': { send: { 'ids[]': 'file_b' }, hides: /file_a/ },
    scope_id: { send: { scope_id: 'x' } },
    beta,
  },
);
proveMessages(
  {
    path: '/v1/messages/batches',
    base: { requests: [{ custom_id: 'a', params: { model: 'any', max_tokens: 1, messages: [] } }] },
  },
  {
    requests: {
      send: { requests: [{ custom_id: 'b', params: { model: 'any' } }] },
      asks: { batch: { input: { requests: [{ customId: 'b', body: { model: 'any' } }] } } },
      refuses: [{ requests: [] }, { requests: [{ custom_id: 'a b', params: {} }] }],
    },
  },
);
proveMessages(
  { path: '/v1/messages/batches', method: 'GET' },
  {
    limit: { send: { limit: 1 }, tells: /"has_more":true/, refuses: [{ limit: 0 }, { limit: 1001 }] },
    after_id: { send: { after_id: 'msgbatch_c' }, hides: /msgbatch_c/ },
    before_id: { send: { before_id: 'msgbatch_a' }, hides: /msgbatch_a/ },
    beta,
  },
);
