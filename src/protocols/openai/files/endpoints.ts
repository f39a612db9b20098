import { AppError } from '../../../core/errors.ts';
import type { StoredFile, Upload, UploadLibrary } from '../../../core/stored-files.ts';
import { type Call, json, type Reply } from '../../../http/call.ts';
import { plainFileName } from '../../../store/stored-files.ts';
import { read, write } from '../../access.ts';
import { ignoredHeader } from '../../dialect.ts';
import { bodyOf, type PlainEndpoint, withShortPath } from '../../endpoint.ts';
import { readFields, wrong } from '../../fields.ts';
import { bodyOfForm } from '../../form-body.ts';
import {
  below,
  contentReply,
  deleteFile,
  type FileServices,
  fileOf,
  filesOf,
  filesPath,
  pageOf,
  sentFile,
} from '../../stored-files.ts';
import { openaiRow } from '../errors.ts';
import {
  addPartFields,
  completeUploadFields,
  createUploadFields,
  day,
  listFilesFields,
  uploadFileFields,
} from './fields.ts';

type Answer = (call: Call, services: FileServices) => Promise<Reply>;

/** Files of clients (`/v1/files`), and uploads in parts (`/v1/uploads`). */
export function fileEndpoints(services: FileServices): readonly PlainEndpoint[] {
  const shared = { queued: false } as const;
  const reading = { ...shared, ...read('documents'), method: 'GET' } as const;
  const changing = { ...shared, ...write('documents') };
  const row = (path: string, summary: string, answer: Answer, own: Parameters<typeof openaiRow>[3]) =>
    openaiRow(path, summary, (call) => answer(call, services), own);
  const deep = { match: 'prefix' } as const;
  return [
    row(filesPath, 'Store a file.', create, { ...changing, form: services.fileForm, fields: uploadFileFields }),
    row(filesPath, 'The stored files.', list, { ...reading, fields: listFilesFields }),
    row(`${filesPath}/`, `A stored file (${filesPath}/{id}), or its content (${filesPath}/{id}/content).`, retrieve, {
      ...{ ...reading, ...deep },
      below: { '{id}': undefined, '{id}/content': undefined },
    }),
    row(`${filesPath}/`, 'Delete a file, also from all collections.', remove, {
      ...{ ...changing, ...deep },
      method: 'DELETE',
      below: { '{id}': undefined },
    }),
    row(uploadsPath, 'Begin a file that is sent in parts.', createUpload, { ...changing, fields: createUploadFields }),
    row(`${uploadsPath}/`, 'Add a part to an upload, complete it, or cancel it.', changeUpload, {
      ...{ ...changing, ...deep },
      form: services.partForm,
      below: { '{id}/parts': addPartFields, '{id}/complete': completeUploadFields, '{id}/cancel': undefined },
    }),
  ].flatMap(withShortPath);
}

const uploadsPath = '/v1/uploads';

async function create(call: Call, services: FileServices): Promise<Reply> {
  const { path, ...file } = sentFile(call, 'file');
  const fields = call.form ? bodyOfForm(call.form) : {};
  const { purpose, expires_after: seconds } = readFields(uploadFileFields, fields);
  const expiresAt = expiry(purpose, seconds, services);
  const stored = await filesOf(call, services).move({ ...file, purpose, ...expiresAt }, path);
  return json(fileObject(stored), 200, ignoredHeader(uploadFileFields, fields));
}

function expiry(purpose: string, seconds: number | undefined, { now }: FileServices) {
  const lifetime = seconds ?? (purpose === 'batch' ? 30 * day : undefined);
  return lifetime === undefined ? {} : { expiresAt: Math.floor(now() / 1000) + lifetime };
}

async function list(call: Call, services: FileServices): Promise<Reply> {
  const { purpose, limit, order, after } = readFields(listFilesFields, Object.fromEntries(call.query));
  const all = (await filesOf(call, services).list()).filter(
    (file) => purpose === undefined || file.purpose === purpose,
  );
  const mark = after?.replace(/^file_/, 'file-');
  const { data, hasMore } = pageOf(order === 'asc' ? all.toReversed() : all, { limit, after: mark });
  return json(listObject(data.map(fileObject), hasMore));
}

async function retrieve(call: Call, services: FileServices): Promise<Reply> {
  const { id, action } = below(call, 'files', ['content']);
  return action === 'content' ? contentReply(call, id, services) : json(fileObject(await fileOf(call, id, services)));
}

async function remove(call: Call, services: FileServices): Promise<Reply> {
  const { id } = await deleteFile(call, below(call, 'files').id, services);
  return json({ id, object: 'file', deleted: true });
}

async function createUpload(call: Call, services: FileServices): Promise<Reply> {
  const body = await bodyOf(call);
  const { bytes, filename, mime_type: mime, purpose, expires_after: seconds } = readFields(createUploadFields, body);
  const name = plainFileName(filename, mime);
  if (name === undefined) throw wrong('filename', 'a name of at most 255 characters');
  const lifetime = seconds ?? (purpose === 'batch' ? 30 * day : undefined);
  const upload = { name, mime, purpose, bytes, ...(lifetime !== undefined && { fileSeconds: lifetime }) };
  return json(
    uploadObject(await uploadsOf(call, services).create(upload)),
    200,
    ignoredHeader(createUploadFields, body),
  );
}

async function changeUpload(call: Call, services: FileServices): Promise<Reply> {
  const uploads = uploadsOf(call, services);
  const { id, action } = below(call, 'uploads', ['parts', 'complete', 'cancel']);
  if (action === 'parts') {
    const part = await uploads.addPart(id, sentFile(call, 'data').path);
    return json({ id: part.id, object: 'upload.part', created_at: part.createdAt, upload_id: id });
  }
  if (action === 'complete') {
    const { part_ids: parts, md5 } = readFields(completeUploadFields, await bodyOf(call));
    return json(uploadObject(await uploads.complete(id, parts, md5, call.signal)));
  }
  if (action === 'cancel') return json(uploadObject(await uploads.cancel(id)));
  throw new AppError('not-found', { method: call.method, path: call.path });
}

function uploadsOf(call: Call, services: FileServices): UploadLibrary {
  filesOf(call, services);
  return services.uploads?.of(call) as UploadLibrary;
}

function fileObject({
  id,
  name,
  purpose,
  bytes,
  createdAt,
  expiresAt = null,
}: Omit<StoredFile, 'expiresAt'> & { readonly expiresAt?: number | null }) {
  return {
    id,
    object: 'file',
    bytes,
    created_at: createdAt,
    expires_at: expiresAt,
    filename: name,
    purpose,
    status: 'processed',
    status_details: null,
  };
}

function uploadObject({ id, bytes, createdAt, expiresAt, name, purpose, status, file }: Upload) {
  return {
    id,
    object: 'upload',
    bytes,
    created_at: createdAt,
    expires_at: expiresAt,
    filename: name,
    purpose,
    status,
    file: file ? fileObject(file) : null,
  };
}

export function listObject(data: readonly { readonly id: string }[], hasMore: boolean) {
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}
