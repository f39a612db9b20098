import type { StoredFile, Upload, UploadLibrary } from '../../core/stored-files.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { plainFileName } from '../../store/stored-files.ts';
import { read, write } from '../access.ts';
import { ignoredHeader } from '../dialect.ts';
import { bodyOf, type ModelEndpoint, rowBelow, withServices, withShortPath } from '../endpoint.ts';
import * as f from '../fields.ts';
import { bodyOfForm } from '../form-body.ts';
import { listObject, pageOf, queryCount } from '../list-pages.ts';
import {
  contentReply,
  deleteFile,
  type FileServices,
  fileOf,
  filesOf,
  filesPath,
  isMime,
  sentFile,
} from '../stored-files.ts';
import { openaiRow } from './errors.ts';

const purposes = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const;

const day = 24 * 60 * 60;

/** Forms have only texts. */
const readSeconds: f.Read<number> = f.described({ type: 'integer', minimum: 3600, maximum: 30 * day }, (value, path) =>
  f.wholeBetween(3600, 30 * day)(f.looseNumber(value, path), path),
);

const readLifetime: f.Read<number | undefined> = f.described(
  { type: 'object', properties: { anchor: { const: 'created_at' }, seconds: readSeconds.schema ?? {} } },
  f.optional((value, path) => {
    const { anchor, seconds } = f.readObject(value, path);
    if (anchor !== 'created_at') throw f.wrong(`${path}.anchor`, '"created_at"');
    return readSeconds(seconds, `${path}.seconds`);
  }),
);

export const lifetimeField = (note: string) => f.honoured(readLifetime, note);

const defaultLifetime =
  'anchor created_at, seconds 3600 to 2592000. Files for batches live 30 days without it, others until they are deleted.';
const purpose = f.honoured(f.oneOf(...purposes), 'Any purpose will do for every use of a file.');

const uploadFileFields = {
  file: f.withSchema(f.textSchema, f.aside('honoured', 'The file of the form, at most --filelimit MB.')),
  purpose,
  expires_after: lifetimeField(defaultLifetime),
};

const listFilesFields = {
  purpose: f.honoured(f.optionalText, 'Only files of this purpose.'),
  limit: f.honoured(queryCount(10_000, 10_000), '1 to 10000, 10000 by default.'),
  order: f.honoured(f.orElse(f.word('asc', 'desc'), 'desc'), '"desc" by default: the newest first.'),
  after: f.honoured(f.optionalText, 'The id after which the page begins.'),
};

const readMime: f.Read<string> = f.described(f.textSchema, (value, path) => {
  const type = f.readText(value, path);
  if (!isMime(type)) throw f.wrong(path, 'a media type such as text/plain');
  return type;
});

const createUploadFields = {
  bytes: f.honoured(f.readPositive, 'Of the whole file, at most --filelimit MB.'),
  filename: f.honoured(f.readName),
  mime_type: f.honoured(readMime),
  purpose,
  expires_after: lifetimeField(defaultLifetime),
};

const addPartFields = {
  data: f.withSchema(f.textSchema, f.aside('honoured', 'The file of the form, at most 64 MB.')),
};

const completeUploadFields = {
  part_ids: f.honoured(f.textList('a list of ids of parts'), 'In the order of the file.'),
  md5: f.honoured(f.optionalText, 'Of the whole file, in hexadecimal digits; refused if it differs.'),
};

const uploadsPath = '/v1/uploads';

/** Files of clients (`/v1/files`), and uploads in parts (`/v1/uploads`). */
export function fileEndpoints(services: FileServices) {
  const reading = { queued: false, ...read('documents'), method: 'GET' } as const;
  const changing = { queued: false, ...write('documents') };
  const form = services.fileForm;
  const endpoints: readonly ModelEndpoint<FileServices>[] = [
    openaiRow(filesPath, 'Store a file.', create, {
      ...changing,
      form,
      fields: uploadFileFields,
      response: 'file',
    }),
    openaiRow(filesPath, 'The stored files.', list, { ...reading, fields: listFilesFields, response: 'files' }),
    rowBelow(
      openaiRow,
      filesPath,
      `A stored file (${filesPath}/{id}), or its content (${filesPath}/{id}/content).`,
      {
        '{id}': { handle: retrieve, response: 'file' },
        '{id}/content': { handle: contentReply, response: 'fileContent' },
      },
      reading,
    ),
    rowBelow(
      openaiRow,
      filesPath,
      'Delete a file, also from all collections.',
      { '{id}': { handle: remove, response: 'deletedFile' } },
      { ...changing, method: 'DELETE' },
    ),
    openaiRow(uploadsPath, 'Begin a file that is sent in parts.', createUpload, {
      ...changing,
      fields: createUploadFields,
      response: 'upload',
    }),
    rowBelow(
      openaiRow,
      uploadsPath,
      'Add a part to an upload, complete it, or cancel it.',
      {
        '{id}/parts': { handle: addPart, fields: addPartFields, response: 'uploadPart' },
        '{id}/complete': { handle: completeUpload, fields: completeUploadFields, response: 'upload' },
        '{id}/cancel': { handle: cancelUpload, response: 'upload' },
      },
      { ...changing, form: services.partForm },
    ),
  ];
  return withServices(endpoints.flatMap(withShortPath), services);
}

async function create(call: Call, services: FileServices): Promise<Reply> {
  const { path, ...file } = sentFile(call, 'file');
  const fields = call.form ? bodyOfForm(call.form) : {};
  const { purpose, expires_after: seconds } = f.readFields(uploadFileFields, fields);
  const expiresAfter = lifetimeOf(purpose, seconds);
  const stored = await filesOf(call, services).move({ ...file, purpose, expiresAfter }, path);
  return json(fileObject(stored), 200, ignoredHeader(uploadFileFields, fields));
}

function lifetimeOf(purpose: string, seconds: number | undefined): number | undefined {
  return seconds ?? (purpose === 'batch' ? 30 * day : undefined);
}

async function list(call: Call, services: FileServices): Promise<Reply> {
  const { purpose, limit, order, after } = f.readFields(listFilesFields, Object.fromEntries(call.query));
  const all = (await filesOf(call, services).list()).filter(
    (file) => purpose === undefined || file.purpose === purpose,
  );
  const mark = after?.replace(/^file_/, 'file-');
  const { data, hasMore } = pageOf(order === 'asc' ? all.toReversed() : all, { limit, after: mark });
  return json(listObject({ data: data.map(fileObject), hasMore }));
}

async function retrieve(call: Call, services: FileServices, id: string): Promise<Reply> {
  return json(fileObject(await fileOf(call, services, id)));
}

async function remove(call: Call, services: FileServices, sent: string): Promise<Reply> {
  const { id } = await deleteFile(call, services, sent);
  return json({ id, object: 'file', deleted: true });
}

async function createUpload(call: Call, services: FileServices): Promise<Reply> {
  const body = await bodyOf(call);
  const { bytes, filename, mime_type: mime, purpose, expires_after: seconds } = f.readFields(createUploadFields, body);
  const name = plainFileName(filename, mime);
  if (name === undefined) throw f.wrong('filename', 'a name of at most 255 characters');
  const lifetime = lifetimeOf(purpose, seconds);
  const upload = { name, mime, purpose, bytes, ...(lifetime !== undefined && { fileSeconds: lifetime }) };
  const created = await uploadsOf(call, services).create(upload);
  return json(uploadObject(created), 200, ignoredHeader(createUploadFields, body));
}

async function addPart(call: Call, services: FileServices, upload: string): Promise<Reply> {
  const { id, createdAt } = await uploadsOf(call, services).addPart(upload, sentFile(call, 'data').path);
  return json({ id, object: 'upload.part', created_at: createdAt, upload_id: upload });
}

async function completeUpload(call: Call, services: FileServices, id: string): Promise<Reply> {
  const uploads = uploadsOf(call, services);
  const { part_ids: parts, md5 } = f.readFields(completeUploadFields, await bodyOf(call));
  return json(uploadObject(await uploads.complete(id, parts, md5, call.signal)));
}

async function cancelUpload(call: Call, services: FileServices, id: string): Promise<Reply> {
  return json(uploadObject(await uploadsOf(call, services).cancel(id)));
}

function uploadsOf(call: Call, services: FileServices): UploadLibrary {
  filesOf(call, services);
  return services.uploads?.of(call) as UploadLibrary;
}

function fileObject({ id, name, purpose, bytes, createdAt, expiresAt }: StoredFile) {
  return {
    id,
    object: 'file',
    bytes,
    created_at: createdAt,
    expires_at: expiresAt ?? null,
    filename: name,
    purpose,
    status: 'processed',
    status_details: null,
  };
}

/** An upload has the fields of the file that it becomes. */
function uploadObject({ status, file, ...upload }: Upload) {
  const { status_details: _, ...own } = fileObject(upload);
  return { ...own, object: 'upload', status, file: file ? fileObject(file) : null };
}
