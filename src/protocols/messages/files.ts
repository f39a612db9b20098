import type { StoredFile } from '../../core/stored-files.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read, write } from '../access.ts';
import { ignoredHeader } from '../dialect.ts';
import { endpointRow, type ModelEndpoint, rowBelow, withServices } from '../endpoint.ts';
import * as f from '../fields.ts';
import { bodyOfForm } from '../form-body.ts';
import { pageOf, queryCount } from '../list-pages.ts';
import { contentReply, deleteFile, type FileServices, fileOf, filesOf, filesPath, sentFile } from '../stored-files.ts';
import { timestamp } from '../timestamp.ts';
import { messagesDialect, withRequestIds } from './errors.ts';

const readSeconds: f.Read<number | undefined> = f.described(
  { type: 'integer', minimum: 3600, maximum: 7_776_000 },
  f.optional((value, path) => f.wholeBetween(3600, 7_776_000)(f.looseNumber(value, path), path)),
);

const createFields = {
  file: f.withSchema(f.textSchema, f.aside('honoured', 'The file of the form, at most --filelimit MB.')),
  expires_in_seconds: f.honoured(readSeconds, '3600 to 7776000; without it the file stays until it is deleted.'),
};

const readIds: f.Read<readonly string[]> = f.described(
  { type: 'array', items: f.textSchema, maxItems: 100 },
  (value, path) => {
    const ids = f.orElse(f.looseTexts(1000), [])(value, path);
    if (ids.length > 100) throw f.wrong(path, 'at most 100 ids');
    return ids;
  },
);

const listFields = {
  limit: f.honoured(queryCount(1000, 20), '1 to 1000, 20 by default.'),
  page: f.honoured(f.optionalText, 'next_page of the page before.'),
  after_id: f.honoured(f.optionalText, 'The last id of the page before.'),
  before_id: f.honoured(f.optionalText, 'The first id of the page after.'),
  'ids[]': f.honoured(readIds, 'Only these files, at most 100, in one page.'),
  scope_id: f.ignored('Files of a model are not told apart.'),
  beta: f.aside('honoured', 'Of older clients, without effect.'),
};

/** Requests of Anthropic's clients have it; no other ones do. */
const header = 'anthropic-version';
const shared = { queued: false, header, match: 'ending', dialect: messagesDialect } as const;
const get = endpointRow(read('documents'), { ...shared, method: 'GET' });
const change = endpointRow(write('documents'), { ...shared, method: 'POST' });

/** Files in the form of the Messages API, at the paths of the OpenAI API: requests with `anthropic-version` get them. */
export function messagesFileEndpoints(services: FileServices) {
  const endpoints: readonly ModelEndpoint<FileServices>[] = [
    change(filesPath, 'Store a file.', create, { form: services.fileForm, fields: createFields, response: 'file' }),
    get(filesPath, 'The stored files.', list, { fields: listFields, response: 'files' }),
    rowBelow(get, filesPath, 'A stored file, or its content.', {
      '{id}': { handle: retrieve, response: 'file' },
      '{id}/content': { handle: contentReply, response: 'fileContent' },
    }),
    rowBelow(
      change,
      filesPath,
      'Delete a file, also from all collections.',
      { '{id}': { handle: remove, response: 'deletedFile' } },
      { method: 'DELETE' },
    ),
  ];
  return withServices(withRequestIds(endpoints), services);
}

async function create(call: Call, services: FileServices): Promise<Reply> {
  const fields = call.form ? bodyOfForm(call.form) : {};
  const { expires_in_seconds: expiresAfter } = f.readFields(createFields, fields);
  const { path, ...file } = sentFile(call, 'file');
  const stored = await filesOf(call, services).move({ ...file, purpose: 'user_data', expiresAfter }, path);
  return json(fileObject(stored), 200, ignoredHeader(createFields, fields));
}

async function list(call: Call, services: FileServices): Promise<Reply> {
  const ids = call.query.getAll('ids[]');
  const query = { ...Object.fromEntries(call.query), ...(ids.length > 0 && { 'ids[]': ids }) };
  const { limit, page, after_id: afterId, before_id: beforeId, 'ids[]': only } = f.readFields(listFields, query);
  const requested = new Set(only.map(ownId));
  const all = (await filesOf(call, services).list()).filter(({ id }) => requested.size === 0 || requested.has(id));
  const after = page ?? afterId;
  const { data, hasMore } = pageOf(all, {
    limit: requested.size > 0 ? 100 : limit,
    after: after && ownId(after),
    before: beforeId && ownId(beforeId),
  });
  const files = data.map(fileObject);
  const [first = null, last = null] = [files[0]?.id, files.at(-1)?.id];
  const body = { data: files, has_more: hasMore, first_id: first, last_id: last, next_page: hasMore ? last : null };
  return json(body, 200, ignoredHeader(listFields, query));
}

async function retrieve(call: Call, services: FileServices, id: string): Promise<Reply> {
  return json(fileObject(await fileOf(call, services, id)));
}

async function remove(call: Call, services: FileServices, sent: string): Promise<Reply> {
  const { id } = await deleteFile(call, services, sent);
  return json({ id: wireId(id), type: 'file_deleted' });
}

const wireId = (id: string): string => id.replace(/^file-/, 'file_');
const ownId = (id: string): string => id.replace(/^file_/, 'file-');

function fileObject({ id, name, mime, bytes, createdAt, expiresAt }: StoredFile) {
  return {
    id: wireId(id),
    type: 'file',
    filename: name,
    mime_type: mime,
    size_bytes: bytes,
    created_at: timestamp(createdAt),
    // The owner of the server may have back what was stored on it.
    downloadable: true,
    expires_at: expiresAt === undefined ? null : timestamp(expiresAt),
  };
}
