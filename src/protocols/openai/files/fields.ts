import * as f from '../../fields.ts';
import { isMime, queryCount } from '../../stored-files.ts';

const purposes = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const;

export const day = 24 * 60 * 60;

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

const usualLifetime =
  'anchor created_at, seconds 3600 to 2592000. Files for batches live 30 days without it, others until they are deleted.';
const purpose = f.honoured(f.oneOf(...purposes), 'Any purpose will do for every use of a file.');

export const uploadFileFields = {
  file: f.withSchema(f.textSchema, f.aside('honoured', 'The file of the form, at most --filelimit MB.')),
  purpose,
  expires_after: lifetimeField(usualLifetime),
};

export const listFilesFields = {
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

export const createUploadFields = {
  bytes: f.honoured(f.readPositive, 'Of the whole file, at most --filelimit MB.'),
  filename: f.honoured(f.readName),
  mime_type: f.honoured(readMime),
  purpose,
  expires_after: lifetimeField(usualLifetime),
};

export const addPartFields = {
  data: f.withSchema(f.textSchema, f.aside('honoured', 'The file of the form, at most 64 MB.')),
};

export const completeUploadFields = {
  part_ids: f.honoured(f.textList('a list of ids of parts'), 'In the order of the file.'),
  md5: f.honoured(f.optionalText, 'Of the whole file, in hexadecimal digits; refused if it differs.'),
};
