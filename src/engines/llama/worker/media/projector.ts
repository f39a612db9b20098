import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { AppError } from '../../../../core/errors.ts';
import type { Medium } from '../../../../core/request.ts';
import type { LoadOptions, ProjectorOptions } from '../../load-options.ts';
import { type NativeMedia, viewOf } from '../native/native.ts';
import type { ContextParams, Pointer } from '../native/structs.ts';
import { checkFile, fittingSize, shrinkPicture, wrongMedium } from './media-file.ts';
import { isChunk, type MediumChunk, mediumIds, type ReadMedium } from './media-prompt.ts';

export interface ProjectorParts {
  readonly media: NativeMedia;
  readonly pointer: Pointer;
  readonly options: ProjectorOptions;
  /** Differs where another projector would see other things in the same file. */
  readonly identity: string;
  /** Numbers for one place of the model's input. */
  readonly width: number;
  readonly contextSize: number;
  /** The most places that the context computes at once. */
  readonly portion: number;
}

/** Runs work that must not meet a batch in the library. */
export type Exclusively = <Result>(work: () => Promise<Result>) => Promise<Result>;

const marker = '<__media__>';
const markerAlone = { text: marker, text_len: marker.length, add_special: false, parse_special: true };
const storeBytes = 256 * 2 ** 20;
const textChunk = 0;

/** Turns pictures and sound into what the model takes in the place of tokens, and remembers what it has read. */
export class Projector {
  readonly inputs: { readonly image: boolean; readonly audio: boolean };
  readonly #store = new MediaStore(storeBytes);

  constructor(private readonly parts: ProjectorParts) {
    const { media, pointer } = parts;
    this.inputs = { image: media.seesImages(pointer), audio: media.hearsAudio(pointer) };
  }

  /** `number` is its place in the request, for the words of an error. */
  async read(medium: Medium, number: number, exclusively: Exclusively): Promise<ReadMedium> {
    const file = Buffer.from(medium.base64, 'base64');
    const key = createHash('sha256').update(`${this.parts.identity} ${medium.kind} `).update(file).digest('base64');
    const known = this.#store.get(key);
    if (known) return known;
    checkFile(medium.kind, file, number);
    const { media, pointer } = this.parts;
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
    const { media, pointer, portion } = this.parts;
    const native = media.chunkLoad(chunk.description, chunk.description.length);
    if (!native) throw new Error('the library does not know its own description of a picture');
    try {
      const end: [number | null] = [null];
      return await media.decode(
        pointer,
        context,
        native,
        chunk.embeddings,
        position,
        sequence,
        portion,
        end,
        null,
        null,
      );
    } finally {
      media.chunkFree(native);
    }
  }

  /** Frees the bitmap, however it ends: the chunks have what they need of it. */
  async #tokenize(chunks: Pointer, bitmap: Pointer, kind: Medium['kind'], number: number): Promise<void> {
    const { media, pointer } = this.parts;
    const used = kind === 'image' ? this.#shrunk(bitmap) : bitmap;
    try {
      const code = await media.tokenize(pointer, chunks, markerAlone, [used], 1);
      if (code !== 0) throw wrongMedium(kind, number);
    } finally {
      media.bitmapFree(used);
    }
  }

  /** Gives back the same bitmap, or a smaller one in its place. */
  #shrunk(bitmap: Pointer): Pointer {
    const { media, options } = this.parts;
    const size = { width: media.bitmapWidth(bitmap), height: media.bitmapHeight(bitmap) };
    const wanted = fittingSize(size, options.longestSide);
    if (wanted.width === size.width && wanted.height === size.height) return bitmap;
    const pixels = new Uint8Array(viewOf(media.bitmapData(bitmap), media.bitmapBytes(bitmap)));
    const smaller = media.bitmapNew(wanted.width, wanted.height, shrinkPicture(pixels, size, wanted));
    if (!smaller) return bitmap;
    media.bitmapFree(bitmap);
    return smaller;
  }

  async #encode(chunks: Pointer, key: string, exclusively: Exclusively): Promise<ReadMedium['parts']> {
    const { media } = this.parts;
    const list = Array.from({ length: Number(media.chunksCount(chunks)) }, (_, index) => media.chunkAt(chunks, index));
    this.#checkRoom(list);
    const parts: (Int32Array | MediumChunk)[] = [];
    for (const [index, chunk] of list.entries()) {
      const isText = media.chunkType(chunk) === textChunk;
      parts.push(isText ? this.#text(chunk) : await exclusively(() => this.#encodeChunk(chunk, `${key} ${index}`)));
    }
    return parts;
  }

  /** Sound of an hour, or a picture in many tiles, is refused before it costs minutes. */
  #checkRoom(chunks: readonly Pointer[]): void {
    const { media, pointer, contextSize, portion } = this.parts;
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
    const pointer = this.parts.media.chunkText(chunk, count);
    return new Int32Array(viewOf(pointer, Number(count[0]) * 4)).slice();
  }

  async #encodeChunk(chunk: Pointer, content: string): Promise<MediumChunk> {
    const { media, pointer, width } = this.parts;
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
    const { media } = this.parts;
    const length: [number | null] = [null];
    media.chunkSave(chunk, null, 0, length);
    const description = new Uint8Array(Number(length[0]));
    if (media.chunkSave(chunk, description, description.length, length) !== 0) {
      throw new Error('the library could not describe a picture');
    }
    return description;
  }
}

interface ProjectorSurroundings {
  readonly options: LoadOptions;
  readonly model: Pointer;
  readonly gpus: readonly Pointer[];
  readonly width: number;
  readonly contextSize: number;
  readonly params: Pick<ContextParams, 'n_batch' | 'n_ubatch'>;
}

/** Undefined without `--mmproj`, and null where the library refuses the file: it says why on standard error. */
export async function openProjector(
  media: NativeMedia | undefined,
  { options, model, gpus, width, contextSize, params }: ProjectorSurroundings,
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
    image_min_tokens: projector.minimumTokens,
    image_max_tokens: projector.maximumTokens,
  });
  if (!pointer) return null;
  const portion = Math.min(params.n_batch, params.n_ubatch);
  const identity = identityOf(projector);
  return new Projector({ media, pointer, options: projector, identity, width, contextSize, portion });
}

function identityOf({ path, longestSide, minimumTokens, maximumTokens }: ProjectorOptions): string {
  const { size, mtimeMs } = statSync(path);
  return JSON.stringify([size, mtimeMs, longestSide, minimumTokens, maximumTokens]);
}

/** What the projector will take of the graphics memory, at least. */
export function projectorBytes({ projector }: LoadOptions): number {
  return projector?.useGpu ? statSync(projector.path).size : 0;
}

/** What was read stays, the newest first, as long as it fits: a picture is sent again with every turn of its chat. */
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
    const bytes = sizeOf(medium);
    this.#entries.set(key, { medium, bytes });
    this.#bytes += bytes;
    // A map keeps the order of insertion: the first key is the one that was not used for the longest time.
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

function sizeOf({ parts }: ReadMedium): number {
  return parts.reduce((sum, part) => sum + (isChunk(part) ? part.embeddings.byteLength : part.byteLength), 0);
}

interface Reading {
  readonly exclusively: Exclusively;
  /** Nobody waits for the result any more. */
  readonly stopped: () => boolean;
}

/** Reads all media of a request; undefined when it was stopped on the way. Throws what is wrong with one. */
export async function readMedia(
  projector: Projector | undefined,
  media: readonly Medium[],
  { exclusively, stopped }: Reading,
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
