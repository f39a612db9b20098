import { webcrypto } from 'node:crypto';
import { parse } from 'node:path/posix';
import { AppError } from '../../core/errors.ts';
import type { ImageEdit, ImageEditor, OutputFormat } from '../../core/image-editing.ts';
import type { Owner } from '../../core/owner.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { BoundedMap } from '../../store/bounded-map.ts';
import { readFields, wrong } from '../fields.ts';
import { encodedAs, formImages, needed, type SentImage, sentImage } from '../images/sent-image.ts';
import { formOrBody } from '../recording.ts';
import { originalFields, uploadFields } from './fields.ts';

interface FileName {
  readonly type: 'input' | 'output' | 'temp';
  readonly subfolder: string;
  readonly name: string;
}

interface StoredFile {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** Of images that were sent. */
  readonly digest?: string;
}

/** The files of one owner. */
export type OwnFiles = ReturnType<ComfyFiles['of']>;

/** Images that clients sent and that were generated for them, in memory. Beyond the limits, the oldest of the owner with the most are dropped. */
export class ComfyFiles {
  readonly #files: BoundedMap<StoredFile>;

  constructor(limits = { bytes: 256 * 2 ** 20, entries: 500 }) {
    this.#files = new BoundedMap(limits);
  }

  of(owner: Owner) {
    const folder = `${owner}\n`;
    const keyOf = ({ type, subfolder, name }: FileName): string => `${folder}${type}/${subfolder}/${name}`;
    /** By `TYPE/FOLDER/NAME`. */
    const all = () => this.#files.entriesOf(owner).map(([key, file]) => [key.slice(folder.length), file] as const);
    const get = (file: FileName): StoredFile | undefined => this.#files.get(keyOf(file));
    return {
      get,
      /** The file that a node names; by default one that was sent. */
      named: (text: string): StoredFile | undefined => {
        const file = annotatedName(text, 'input');
        return file && get(file);
      },
      put: (file: FileName, content: StoredFile): void =>
        this.#files.set(keyOf(file), content, content.bytes.length, owner),
      /** The names of the images that were sent. */
      sent: () => all().flatMap(([path]) => /^input\/\/?(.*)$/s.exec(path)?.[1] ?? []),
      all,
    };
  }

  forget(owner: Owner): void {
    this.#files.deleteOf(owner);
  }
}

/** A name in the notation of nodes: `folder/name.png [output]`. Undefined for a path outside of the store. */
export function annotatedName(text: string, defaultType: FileName['type']): FileName | undefined {
  const [, bare = text, type = defaultType] = /^(.*?)(?: \[(input|output|temp)\])?$/s.exec(text) ?? [];
  const slash = bare.lastIndexOf('/');
  const [subfolder, name] = [bare.slice(0, Math.max(0, slash)), bare.slice(slash + 1)];
  return isPlainName(name) && isPlainFolder(subfolder)
    ? { type: type as FileName['type'], subfolder, name }
    : undefined;
}

export function isPlainName(name: string): boolean {
  return name !== '' && name.length <= 255 && !/[/\\]|[^\P{Cc}]/u.test(name) && !/^\.{1,2}$/.test(name);
}

export function isPlainFolder(folder: string): boolean {
  return folder === '' || folder.split('/').every(isPlainName);
}

/** A file name from the prefix of a client, with safe characters only. */
export function outputName(prefix: string, number: number, now: Date): Omit<FileName, 'type'> {
  const dated = prefix.replace(/%date:([^%]{1,40})%/g, (_, format: string) => formatted(format, now));
  const parts = dated.split(/[/\\]+/).map((part) =>
    part
      .replace(/[^A-Za-z0-9._-]+/g, '_')
      .replace(/^\.+/, '')
      .slice(0, 80),
  );
  const plain = parts.filter((part) => part !== '');
  const name = `${plain.at(-1) ?? 'ComfyUI'}_${String(number).padStart(5, '0')}_.png`;
  return { subfolder: plain.slice(0, -1).slice(0, 8).join('/'), name };
}

function formatted(format: string, now: Date): string {
  const [year = '', month = '', day = '', hour = '', minute = '', second = ''] = now.toISOString().split(/[-T:.]/);
  const values: Readonly<Record<string, string>> = { yyyy: year, MM: month, dd: day, hh: hour, mm: minute, ss: second };
  return format.replace(/yyyy|MM|dd|hh|mm|ss/g, (part) => values[part] ?? part);
}

interface StoreDeps {
  /** Of the client. */
  readonly files: OwnFiles;
  readonly editor: ImageEditor;
}

/** Stores an image under the name that the client gives. */
export async function upload(call: Call, { files, editor }: StoreDeps, kind: 'image' | 'mask'): Promise<Reply> {
  const { overwrite, type, subfolder, ...fields } = readFields(uploadFields, await formOrBody(call));
  const original = fields.original_ref ?? fields.originalRef;
  const [picture] = await formImages(call, 'image');
  const sentName = call.form?.files.find(({ field }) => field === 'image')?.name ?? '';
  if (!picture) throw wrong('image', 'a file of the form');
  if (!isPlainName(sentName)) throw wrong('image', 'a file with a name');
  if (!isPlainFolder(subfolder)) throw wrong('subfolder', 'a folder inside of the store');
  const stored = kind === 'mask' && original ? await masked(picture, original, { files, editor }) : picture;
  const digest = await digestOf(stored.bytes);
  // Nothing is awaited between the choice of the name and its use.
  const name = overwrite ? sentName : freeName({ type, subfolder, name: sentName }, digest, files);
  files.put({ type, subfolder, name }, { bytes: stored.bytes, contentType: `image/${stored.format}`, digest });
  return json({ name, subfolder, type });
}

async function masked(mask: SentImage, original: JsonObject, { files, editor }: StoreDeps): Promise<SentImage> {
  const { filename, subfolder, type } = readFields(originalFields, original, 'original_ref');
  const file = files.get({ type, subfolder, name: filename });
  if (!file) throw wrong('original_ref', 'a picture that was sent before');
  const pictures = [sentImage(file.bytes, 'original_ref'), mask];
  return sentImage(needed(await editor.edit({ type: 'alpha-of-second' }, pictures)), 'image');
}

/** A number is appended to a name that is taken by other content. */
function freeName(file: FileName, digest: string, files: OwnFiles): string {
  const { name: stem, ext } = parse(file.name);
  for (let number = 0; ; number++) {
    const name = number === 0 ? file.name : `${stem} (${number})${ext}`;
    const taken = files.get({ ...file, name });
    if (!taken || taken.digest === digest) return name;
  }
}

/** In a thread of the pool: an image may have megabytes. */
async function digestOf(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('base64');
}

/** A stored image, unchanged or as a preview. */
export async function view(call: Call, { files, editor }: StoreDeps): Promise<Reply> {
  const { query } = call;
  const filename = query.get('filename') ?? '';
  const type = query.get('type') || 'output';
  const subfolder = query.get('subfolder') ?? '';
  if (filename === '') {
    throw new AppError('missing-parameter', { parameter: 'filename', expected: 'the name of a picture' });
  }
  if (type !== 'input' && type !== 'output' && type !== 'temp') throw wrong('type', 'input, output or temp');
  if (!isPlainFolder(subfolder)) throw wrong('subfolder', 'a folder inside of the store');
  const own = annotatedName(filename, type);
  if (!own) throw wrong('filename', 'a name inside of the store');
  const file = files.get({ ...own, subfolder: [subfolder, own.subfolder].filter((part) => part !== '').join('/') });
  if (!file) throw new AppError('not-stored', { what: 'picture', id: filename.slice(0, 200) });
  const { bytes, contentType } = await requestedForm(file, call, editor);
  return {
    status: 200,
    headers: {
      'content-type': contentType,
      'content-disposition': `filename="${own.name.replace(/[^\x20-\x7e]|["\\]/g, '_')}"`,
      'x-content-type-options': 'nosniff',
    },
    body: bytes,
  };
}

/** Encoded again for a preview; otherwise the requested channels as PNG. */
async function requestedForm(file: StoredFile, { query, signal }: Call, editor: ImageEditor): Promise<StoredFile> {
  const sent = { bytes: file.bytes, field: 'filename' };
  const only = async (edit: ImageEdit) => needed(await editor.edit(edit, [sent], signal));
  const channel = query.get('channel') ?? '';
  const preview = query.get('preview');
  if (preview !== null) {
    const { format, quality } = previewOf(preview, channel);
    const image = channel === 'rgb' ? await only({ type: 'colours' }) : file.bytes;
    return { bytes: await encodedAs(editor, image, format, quality, signal), contentType: `image/${format}` };
  }
  if (channel === '' || channel === 'rgba') return file;
  const edit = channels.get(channel);
  if (!edit) throw wrong('channel', 'rgba, rgb or a');
  return { bytes: await only(edit), contentType: 'image/png' };
}

const channels = new Map<string, ImageEdit>([
  ['rgb', { type: 'colours' }],
  ['a', { type: 'transparency' }],
]);

/** `webp;80`. Everything but opaque JPEG is WebP. */
function previewOf(preview: string, channel: string): { readonly format: OutputFormat; readonly quality: number } {
  const parts = preview.split(';');
  const quality = /^\d{1,9}$/.test(parts.at(-1) ?? '') ? Math.min(100, Number(parts.at(-1))) : 90;
  return { format: parts[0] === 'jpeg' && !channel.includes('a') ? 'jpeg' : 'webp', quality };
}
