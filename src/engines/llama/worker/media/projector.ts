import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { AppError } from '../../../../core/errors.ts';
import type { Medium } from '../../../../core/request.ts';
import type { LoadOptions, ProjectorOptions } from '../../load-options.ts';
import { type NativeMedia, viewOf } from '../native/native.ts';
import type { ContextParams, Pointer } from '../native/structs.ts';
import { isChunk, type MediumChunk, mediumIds, type ReadMedium } from './media-prompt.ts';

interface ProjectorDeps {
  readonly media: NativeMedia;
  readonly pointer: Pointer;
  readonly options: ProjectorOptions;
  /** Embedding length of an input position. */
  readonly width: number;
  readonly contextSize: number;
  /** The maximum number of positions that the context computes at once. */
  readonly portion: number;
}

/** Runs work that must not overlap with a batch. */
export type Exclusively = <Result>(work: () => Promise<Result>) => Promise<Result>;

const marker = '<__media__>';
const markerAlone = { text: marker, text_len: marker.length, add_special: false, parse_special: true };
const storeBytes = 256 * 2 ** 20;
const textChunk = 0;

/** Encodes images and audio into embeddings that the model takes in place of tokens. Recent results are cached. */
export class Projector {
  readonly inputs: { readonly image: boolean; readonly audio: boolean };
  readonly #store = new MediaStore(storeBytes);
  /** Part of the cache key: another projector or other options encode the same file differently. */
  readonly #identity: string;

  constructor(private readonly deps: ProjectorDeps) {
    const { media, pointer, options } = deps;
    const { size, mtimeMs } = statSync(options.path);
    const { maxSide, minTokens, maxTokens } = options;
    this.#identity = JSON.stringify([size, mtimeMs, maxSide, minTokens, maxTokens]);
    this.inputs = { image: media.seesImages(pointer), audio: media.hearsAudio(pointer) };
  }

  /** `number` is its number in the request, for error messages. */
  async read(medium: Medium, number: number, exclusively: Exclusively): Promise<ReadMedium> {
    const file = Buffer.from(medium.base64, 'base64');
    const key = createHash('sha256').update(`${this.#identity} ${medium.kind} `).update(file).digest('base64');
    const known = this.#store.get(key);
    if (known) return known;
    checkFile(medium.kind, file, number);
    const { media, pointer } = this.deps;
    const { bitmap } = await media.bitmapRead(pointer, file, file.length, false);
    if (!bitmap) throw wrongMedium(medium.kind, number);
    const chunks = media.chunksNew();
    try {
      await this.#tokenize(chunks, bitmap, medium.kind, number);
      const read = { kind: medium.kind, parts: await this.#encode(chunks, key, exclusively) };
      this.#store.put(key, read);
      return read;
    } finally {
      media.chunksFree(chunks);
    }
  }

  /** Computes a chunk into a sequence; returns the library's code. */
  async decode(context: Pointer, chunk: MediumChunk, position: number, sequence: number): Promise<number> {
    const { media, pointer, portion } = this.deps;
    const native = media.chunkLoad(chunk.description, chunk.description.length);
    if (!native) throw new Error('the library does not know its own description of a picture');
    try {
      const { embeddings } = chunk;
      return await media.decode(pointer, context, native, embeddings, position, sequence, portion, [null], null, null);
    } finally {
      media.chunkFree(native);
    }
  }

  /** Always frees the bitmap: the chunks have copied it. */
  async #tokenize(chunks: Pointer, bitmap: Pointer, kind: Medium['kind'], number: number): Promise<void> {
    const { media, pointer } = this.deps;
    const used = kind === 'image' ? this.#shrunk(bitmap) : bitmap;
    try {
      const code = await media.tokenize(pointer, chunks, markerAlone, [used], 1);
      if (code !== 0) throw wrongMedium(kind, number);
    } finally {
      media.bitmapFree(used);
    }
  }

  /** Returns the same bitmap, or a smaller one in its place. */
  #shrunk(bitmap: Pointer): Pointer {
    const { media, options } = this.deps;
    const size = { width: media.bitmapWidth(bitmap), height: media.bitmapHeight(bitmap) };
    const target = fittingSize(size, options.maxSide);
    if (target.width === size.width && target.height === size.height) return bitmap;
    const pixels = new Uint8Array(viewOf(media.bitmapData(bitmap), media.bitmapBytes(bitmap)));
    const smaller = media.bitmapNew(target.width, target.height, shrinkImage(pixels, size, target));
    if (!smaller) return bitmap;
    media.bitmapFree(bitmap);
    return smaller;
  }

  async #encode(chunks: Pointer, key: string, exclusively: Exclusively): Promise<ReadMedium['parts']> {
    const { media } = this.deps;
    const list = Array.from({ length: Number(media.chunksCount(chunks)) }, (_, index) => media.chunkAt(chunks, index));
    this.#checkRoom(list);
    const parts: (Int32Array | MediumChunk)[] = [];
    for (const [index, chunk] of list.entries()) {
      const isText = media.chunkType(chunk) === textChunk;
      parts.push(isText ? this.#text(chunk) : await exclusively(() => this.#encodeChunk(chunk, `${key} ${index}`)));
    }
    return parts;
  }

  /** Refuses media that are too long before minutes are spent on them. */
  #checkRoom(chunks: readonly Pointer[]): void {
    const { media, pointer, contextSize, portion } = this.deps;
    const lengths = chunks.map((chunk) => Number(media.chunkTokens(chunk)));
    const total = lengths.reduce((sum, length) => sum + length, 0);
    if (total >= contextSize) throw new AppError('context-overflow', { promptTokens: total, contextSize });
    for (const [index, chunk] of chunks.entries()) {
      const length = lengths[index] as number;
      if (length <= portion || media.chunkType(chunk) === textChunk || !media.looksBothWays(pointer, chunk)) continue;
      throw new AppError('unsupported', {
        feature: `A picture of ${length} tokens`,
        instead: `this model wants all of them in one batch; start the server with --batchsize ${2 ** Math.ceil(Math.log2(length))}`,
      });
    }
  }

  #text(chunk: Pointer): Int32Array {
    const count: [number | null] = [null];
    const pointer = this.deps.media.chunkText(chunk, count);
    return new Int32Array(viewOf(pointer, Number(count[0]) * 4)).slice();
  }

  async #encodeChunk(chunk: Pointer, content: string): Promise<MediumChunk> {
    const { media, pointer, width } = this.deps;
    const code = await media.encode(pointer, chunk);
    const encoded = code === 0 ? media.encoded(pointer) : null;
    if (!encoded) {
      throw new AppError('engine-failed', { capability: 'text', reason: 'the projector could not read the medium' });
    }
    const length = Number(media.chunkTokens(chunk));
    return {
      ids: mediumIds(content, length),
      positions: media.chunkPositions(chunk),
      description: this.#describe(chunk),
      embeddings: new Float32Array(viewOf(encoded, length * width * 4)).slice(),
    };
  }

  #describe(chunk: Pointer): Uint8Array {
    const { media } = this.deps;
    const length: [number | null] = [null];
    media.chunkSave(chunk, null, 0, length);
    const description = new Uint8Array(Number(length[0]));
    if (media.chunkSave(chunk, description, description.length, length) !== 0) {
      throw new Error('the library could not describe a picture');
    }
    return description;
  }
}

interface OpenProjectorDeps extends Pick<ProjectorDeps, 'width' | 'contextSize'> {
  readonly options: LoadOptions;
  readonly model: Pointer;
  readonly gpus: readonly Pointer[];
  readonly params: Pick<ContextParams, 'n_batch' | 'n_ubatch'>;
}

/** Undefined without `--mmproj`, null if the library refuses the file (its reason is on standard error). */
export async function openProjector(
  media: NativeMedia | undefined,
  { options, model, gpus, width, contextSize, params }: OpenProjectorDeps,
): Promise<Projector | undefined | null> {
  const { projector } = options;
  if (!media || !projector) return undefined;
  const [gpu = null] = projector.useGpu ? gpus : [];
  const pointer = await media.projectorNew(projector.path, model, {
    ...media.projectorDefaults(),
    use_gpu: projector.useGpu,
    device: gpu,
    print_timings: false,
    n_threads: options.batchThreads,
    flash_attn_type: options.flashAttention ? -1 : 0,
    image_min_tokens: projector.minTokens,
    image_max_tokens: projector.maxTokens,
  });
  if (!pointer) return null;
  const portion = Math.min(params.n_batch, params.n_ubatch);
  return new Projector({ media, pointer, options: projector, width, contextSize, portion });
}

/** LRU cache of encoded media, limited by bytes: images are sent again with every turn of their chat. */
export class MediaStore {
  readonly #entries = new Map<string, { readonly medium: ReadMedium; readonly bytes: number }>();
  #bytes = 0;

  constructor(private readonly limitBytes: number) {}

  get(key: string): ReadMedium | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.medium;
  }

  put(key: string, medium: ReadMedium): void {
    this.#drop(key);
    const bytes = medium.parts.reduce((sum, part) => sum + (isChunk(part) ? part.embeddings : part).byteLength, 0);
    this.#entries.set(key, { medium, bytes });
    this.#bytes += bytes;
    // A map keeps the order of insertion: the first key is the least recently used.
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.limitBytes) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

/** Encodes all media of a request; undefined if it was aborted meanwhile. Throws an error that names an invalid medium. */
export async function readMedia(
  projector: Projector | undefined,
  media: readonly Medium[],
  exclusively: Exclusively,
  stopped: () => boolean,
): Promise<readonly ReadMedium[] | undefined> {
  for (const { kind } of media) if (!projector?.inputs[kind]) throw notTaken(kind, projector !== undefined);
  const read: ReadMedium[] = [];
  const count = { image: 0, audio: 0 };
  for (const medium of media) {
    if (stopped()) return undefined;
    count[medium.kind] += 1;
    read.push(await (projector as Projector).read(medium, count[medium.kind], exclusively));
  }
  return stopped() ? undefined : read;
}

function notTaken(kind: Medium['kind'], hasProjector: boolean): AppError {
  return new AppError('unsupported', {
    feature: kind === 'image' ? 'Image input' : 'Audio input',
    instead: hasProjector
      ? 'the projector of the loaded model does not take it'
      : 'the loaded model has no projector for it; start the server with --mmproj FILE',
  });
}

type ImageSize = Readonly<Record<'width' | 'height', number>>;

/** The image size in the header of a PNG, JPEG, GIF or BMP file, before it is decoded; undefined for any other file. */
export function imageSize(file: Buffer): ImageSize | undefined {
  return headerReaders.find(({ begins }) => file.subarray(0, begins.length).equals(begins))?.read(file);
}

type Reader = (file: Buffer) => ImageSize | undefined;

const within =
  (bytes: number, read: (file: Buffer) => ImageSize): Reader =>
  (file) =>
    file.length >= bytes ? read(file) : undefined;

const gif = within(10, (file) => ({ width: file.readUInt16LE(6), height: file.readUInt16LE(8) }));

const headerReaders: readonly { readonly begins: Buffer; readonly read: Reader }[] = [
  {
    begins: Buffer.from('89504e470d0a1a0a', 'hex'),
    read: within(24, (file) => ({ width: file.readUInt32BE(16), height: file.readUInt32BE(20) })),
  },
  { begins: Buffer.from('GIF87a'), read: gif },
  { begins: Buffer.from('GIF89a'), read: gif },
  {
    begins: Buffer.from('BM'),
    // A negative height says that the rows come from top to bottom.
    read: within(26, (file) => ({ width: file.readInt32LE(18), height: Math.abs(file.readInt32LE(22)) })),
  },
  { begins: Buffer.from('ffd8ff', 'hex'), read: jpegSize },
];

/** Walks over the segments to the one that begins the frame. */
function jpegSize(file: Buffer): ImageSize | undefined {
  let at = 2;
  while (at + 9 <= file.length && file[at] === 0xff) {
    const marker = file[at + 1] as number;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) };
    // Fill bytes between segments.
    at += marker === 0xff ? 1 : 2 + file.readUInt16BE(at + 2);
  }
  return undefined;
}

/** The size with which the longer side is at most `maxSide`, in the same proportions. */
export function fittingSize({ width, height }: ImageSize, maxSide: number): ImageSize {
  const scale = Math.min(1, maxSide / Math.max(width, height));
  const scaled = (side: number) => Math.max(1, Math.round(side * scale));
  return { width: scaled(width), height: scaled(height) };
}

const channels = 3;

/** Scales RGB pixels down; each new pixel is the mean of those that it replaces. */
export function shrinkImage(pixels: Uint8Array, from: ImageSize, to: ImageSize): Uint8Array {
  const result = new Uint8Array(to.width * to.height * channels);
  let into = 0;
  for (let y = 0; y < to.height; y += 1) {
    const [top, bottom] = sourceRange(y, from.height, to.height);
    for (let x = 0; x < to.width; x += 1) {
      const [left, right] = sourceRange(x, from.width, to.width);
      let red = 0;
      let green = 0;
      let blue = 0;
      for (let row = top; row < bottom; row += 1) {
        const end = (row * from.width + right) * channels;
        for (let at = (row * from.width + left) * channels; at < end; at += channels) {
          red += pixels[at] as number;
          green += pixels[at + 1] as number;
          blue += pixels[at + 2] as number;
        }
      }
      const count = (bottom - top) * (right - left);
      result[into] = Math.round(red / count);
      result[into + 1] = Math.round(green / count);
      result[into + 2] = Math.round(blue / count);
      into += channels;
    }
  }
  return result;
}

/** The range of old pixels for the new one at `index`: at least one. */
function sourceRange(index: number, old: number, fresh: number): readonly [from: number, to: number] {
  const from = Math.floor((index * old) / fresh);
  return [from, Math.max(from + 1, Math.floor(((index + 1) * old) / fresh))];
}

/** 100 million pixels take 300 MB when decoded. */
const maxPixels = 100e6;

const kinds = {
  image: { field: 'images', files: 'PNG, JPEG, GIF or BMP pictures' },
  audio: { field: 'audio', files: 'WAV, MP3 or FLAC sounds' },
} as const;

/** The library guesses the type of a file, so other types are refused here. */
export function checkFile(kind: Medium['kind'], file: Buffer, number: number): void {
  if (kind === 'audio') {
    if (!isSound(file)) throw wrongMedium(kind, number);
    return;
  }
  const size = imageSize(file);
  if (!size || size.width < 1 || size.height < 1) throw wrongMedium(kind, number);
  if (size.width * size.height > maxPixels) {
    const expected = `pictures of at most ${maxPixels / 1e6} million pixels, and number ${number} has ${size.width} × ${size.height}`;
    throw new AppError('invalid-field', { field: kinds.image.field, expected });
  }
}

function wrongMedium(kind: Medium['kind'], number: number): AppError {
  const { field, files } = kinds[kind];
  const expected = `${files} in base64, and number ${number} cannot be read as one`;
  return new AppError('invalid-field', { field, expected });
}

function isSound(file: Buffer): boolean {
  const text = (from: number, to: number) => file.toString('latin1', from, to);
  if (file.length < 12) return false;
  if (text(0, 4) === 'RIFF') return text(8, 12) === 'WAVE';
  // MP3 files begin with a tag, or with the eleven bits by which a frame is found.
  const isFrame = file[0] === 0xff && ((file[1] as number) & 0xe0) === 0xe0;
  return text(0, 4) === 'fLaC' || text(0, 3) === 'ID3' || isFrame;
}
