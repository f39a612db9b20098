import { createHash } from 'node:crypto';
import { AppError } from '../../core/errors.ts';
import type { OutputFormat, PictureEdit, PictureEditor } from '../../core/pictures.ts';
import type { Call, Reply } from '../../http/call.ts';
import { json } from '../../http/call.ts';
import { wrong } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { formPictures, pictureBody } from '../pictures/form-pictures.ts';
import { encodedAs, needed, withAlphaOf } from '../pictures/pixels.ts';
import { pictureOf, type SentPicture } from '../pictures/sent-picture.ts';
import { originalFields, uploadFields } from './fields.ts';
import { annotatedName, type ComfyFiles, type FileName, isPlainFolder, isPlainName, type StoredFile } from './files.ts';

export interface StoreParts {
  readonly files: ComfyFiles;
  readonly editor: PictureEditor;
}

/** Keeps a picture under the name that the client gives it. */
export async function upload(call: Call, { files, editor }: StoreParts, kind: 'image' | 'mask'): Promise<Reply> {
  const { overwrite, type, subfolder, ...fields } = readFields(uploadFields, await pictureBody(call));
  const original = fields.original_ref ?? fields.originalRef;
  const [picture] = await formPictures(call, 'image');
  const sentAs = call.form?.files.find(({ field }) => field === 'image')?.name ?? '';
  if (!picture) throw wrong('image', 'a file of the form');
  if (!isPlainName(sentAs)) throw wrong('image', 'a file with a name');
  if (!isPlainFolder(subfolder)) throw wrong('subfolder', 'a folder inside of the store');
  const kept = kind === 'mask' && original ? await masked(picture, original, { files, editor }) : picture;
  const name = overwrite ? sentAs : freeName({ type, subfolder, name: sentAs }, kept, files);
  files.put({ type, subfolder, name }, { bytes: kept.bytes, contentType: `image/${kept.format}` });
  return json({ name, subfolder, type });
}

async function masked(
  mask: SentPicture,
  original: Readonly<Record<string, unknown>>,
  { files, editor }: StoreParts,
): Promise<SentPicture> {
  const { filename, subfolder, type } = readFields(originalFields, original, 'original_ref');
  const file = files.get({ type, subfolder, name: filename });
  if (!file) throw wrong('original_ref', 'a picture that was sent before');
  return pictureOf(await withAlphaOf(editor, pictureOf(file.bytes, 'original_ref'), mask), 'image');
}

/** The same content may have the same name; another gets a number behind it. */
function freeName(wanted: FileName, picture: SentPicture, files: ComfyFiles): string {
  const digest = digestOf(picture.bytes);
  const dot = wanted.name.lastIndexOf('.');
  const [stem, ending] = dot > 0 ? [wanted.name.slice(0, dot), wanted.name.slice(dot)] : [wanted.name, ''];
  for (let number = 0; ; number++) {
    const name = number === 0 ? wanted.name : `${stem} (${number})${ending}`;
    const there = files.get({ ...wanted, name });
    if (!there || digestOf(there.bytes) === digest) return name;
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}

/** A stored picture, as it is or smaller. Names that lead out of the store lead nowhere. */
export async function view({ query, signal }: Call, { files, editor }: StoreParts): Promise<Reply> {
  const asked = query.get('filename') ?? '';
  const type = query.get('type') || 'output';
  const subfolder = query.get('subfolder') ?? '';
  if (asked === '') {
    throw new AppError('missing-parameter', { parameter: 'filename', expected: 'the name of a picture' });
  }
  if (type !== 'input' && type !== 'output' && type !== 'temp') throw wrong('type', 'input, output or temp');
  if (!isPlainFolder(subfolder)) throw wrong('subfolder', 'a folder inside of the store');
  const place = annotatedName(asked, type);
  if (!place) throw wrong('filename', 'a name inside of the store');
  const inFolder = { ...place, subfolder: [subfolder, place.subfolder].filter((part) => part !== '').join('/') };
  const file = files.get(inFolder);
  if (!file) throw new AppError('not-stored', { what: 'picture', id: asked.slice(0, 200) });
  const { bytes, contentType } = await shown(file, query, editor, signal);
  return {
    status: 200,
    headers: {
      'content-type': contentType,
      'content-disposition': `filename="${place.name.replace(/[^\x20-\x7e]|["\\]/g, '_')}"`,
      'x-content-type-options': 'nosniff',
    },
    body: bytes,
  };
}

/** Packed anew for a preview, which then has the colours that it can; otherwise the channels that are asked for. */
async function shown(
  file: StoredFile,
  query: URLSearchParams,
  editor: PictureEditor,
  signal: AbortSignal,
): Promise<StoredFile> {
  const sent = { bytes: file.bytes, field: 'filename' };
  const only = async (edit: PictureEdit) => needed(await editor.edit(edit, [sent], signal));
  const channel = query.get('channel') ?? '';
  const preview = query.get('preview');
  if (preview !== null) {
    const { format, quality } = previewOf(preview, channel);
    const seen = channel === 'rgb' ? await only({ type: 'colours' }) : file.bytes;
    return { bytes: await encodedAs(editor, seen, format, quality, signal), contentType: `image/${format}` };
  }
  if (channel === '' || channel === 'rgba') return file;
  const edit = channels.get(channel);
  if (!edit) throw wrong('channel', 'rgba, rgb or a');
  return { bytes: await only(edit), contentType: 'image/png' };
}

const channels = new Map<string, PictureEdit>([
  ['rgb', { type: 'colours' }],
  ['a', { type: 'transparency' }],
]);

/** `webp;80`: what is no format that a preview has is WebP, and so is whatever is to be transparent. */
function previewOf(asked: string, channel: string): { readonly format: OutputFormat; readonly quality: number } {
  const parts = asked.split(';');
  const quality = /^\d{1,9}$/.test(parts.at(-1) ?? '') ? Math.min(100, Number(parts.at(-1))) : 90;
  return { format: parts[0] === 'jpeg' && !channel.includes('a') ? 'jpeg' : 'webp', quality };
}
