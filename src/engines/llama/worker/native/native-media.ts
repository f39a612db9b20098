import koffi from 'koffi';
import { asynchronous, type Pointer } from './structs.ts';

koffi.struct('mtmd_context_params', {
  use_gpu: 'bool',
  device: 'void *',
  print_timings: 'bool',
  n_threads: 'int',
  image_marker: 'const char *',
  media_marker: 'const char *',
  flash_attn_type: 'int',
  warmup: 'bool',
  image_min_tokens: 'int',
  image_max_tokens: 'int',
  cb_eval: 'void *',
  cb_eval_user_data: 'void *',
  batch_max_tokens: 'int32',
  progress_callback: 'void *',
  progress_callback_user_data: 'void *',
  backend_device: 'const char *',
  image_tile_mode: 'int',
  image_max_tiles: 'int',
  image_no_upscale: 'int',
  skip_audio: 'bool',
});
koffi.struct('mtmd_input_text', {
  text: 'const char *',
  text_len: 'size_t',
  add_special: 'bool',
  parse_special: 'bool',
});
koffi.struct('mtmd_helper_bitmap_wrapper', { bitmap: 'void *', video_ctx: 'void *' });

export interface ProjectorParams {
  use_gpu: boolean;
  device: Pointer | null;
  print_timings: boolean;
  n_threads: number;
  media_marker: string;
  flash_attn_type: number;
  image_min_tokens: number;
  image_max_tokens: number;
  batch_max_tokens: number;
  image_tile_mode: number;
  image_max_tiles: number;
  image_no_upscale: number;
}

export interface InputText {
  readonly text: string;
  readonly text_len: number;
  readonly add_special: boolean;
  readonly parse_special: boolean;
}

/** Every call into libmtmd, the part of the library that reads pictures and sound. */
export type NativeMedia = ReturnType<typeof bindMedia>;

export function bindMedia(library: ReturnType<typeof koffi.load>) {
  const declare = <Signature>(prototype: string) => library.func(prototype) as unknown as Signature;
  const media = {
    projectorDefaults: declare<() => ProjectorParams>('mtmd_context_params mtmd_context_params_default(void)'),
    projectorNew: asynchronous<(path: string, model: Pointer, params: ProjectorParams) => Pointer | null>(
      library.func('void *mtmd_init_from_file(const char *path, void *model, mtmd_context_params params)'),
    ),
    seesImages: declare<(projector: Pointer) => boolean>('bool mtmd_support_vision(void *projector)'),
    hearsAudio: declare<(projector: Pointer) => boolean>('bool mtmd_support_audio(void *projector)'),
    /** Whether all places of a chunk look at each other, and must therefore be computed in one portion. */
    looksBothWays: declare<(projector: Pointer, chunk: Pointer | null) => boolean>(
      'bool mtmd_decode_use_non_causal(void *projector, void *chunk)',
    ),

    bitmapRead: asynchronous<
      (projector: Pointer, file: Uint8Array, length: number, placeholder: boolean) => { bitmap: Pointer | null }
    >(
      library.func(
        'mtmd_helper_bitmap_wrapper mtmd_helper_bitmap_init_from_buf(void *projector, const void *file, size_t length, bool placeholder)',
      ),
    ),
    bitmapNew: declare<(width: number, height: number, pixels: Uint8Array) => Pointer | null>(
      'void *mtmd_bitmap_init(uint32 width, uint32 height, const void *pixels)',
    ),
    bitmapWidth: declare<(bitmap: Pointer) => number>('uint32 mtmd_bitmap_get_nx(void *bitmap)'),
    bitmapHeight: declare<(bitmap: Pointer) => number>('uint32 mtmd_bitmap_get_ny(void *bitmap)'),
    bitmapData: declare<(bitmap: Pointer) => Pointer>('void *mtmd_bitmap_get_data(void *bitmap)'),
    bitmapBytes: declare<(bitmap: Pointer) => number>('size_t mtmd_bitmap_get_n_bytes(void *bitmap)'),
    bitmapIsAudio: declare<(bitmap: Pointer) => boolean>('bool mtmd_bitmap_is_audio(void *bitmap)'),
    bitmapFree: declare<(bitmap: Pointer) => void>('void mtmd_bitmap_free(void *bitmap)'),

    chunksNew: declare<() => Pointer>('void *mtmd_input_chunks_init(void)'),
    chunksFree: declare<(chunks: Pointer) => void>('void mtmd_input_chunks_free(void *chunks)'),
    chunksCount: declare<(chunks: Pointer) => number>('size_t mtmd_input_chunks_size(void *chunks)'),
    chunkAt: declare<(chunks: Pointer, index: number) => Pointer>(
      'void *mtmd_input_chunks_get(void *chunks, size_t index)',
    ),
    tokenize: asynchronous<
      (projector: Pointer, into: Pointer, text: InputText, bitmaps: readonly Pointer[], count: number) => number
    >(
      library.func(
        'int32 mtmd_tokenize(void *projector, void *into, mtmd_input_text *text, void **bitmaps, size_t count)',
      ),
    ),
    /** 0 for text. */
    chunkType: declare<(chunk: Pointer) => number>('int mtmd_input_chunk_get_type(void *chunk)'),
    chunkTokens: declare<(chunk: Pointer) => number>('size_t mtmd_input_chunk_get_n_tokens(void *chunk)'),
    chunkPositions: declare<(chunk: Pointer) => number>('int32 mtmd_input_chunk_get_n_pos(void *chunk)'),
    chunkText: declare<(chunk: Pointer, count: [number | null]) => Pointer>(
      'void *mtmd_input_chunk_get_tokens_text(void *chunk, _Out_ size_t *count)',
    ),
    chunkSave: declare<(chunk: Pointer, into: Uint8Array | null, capacity: number, length: [number | null]) => number>(
      'int32 mtmd_input_chunk_save(void *chunk, void *into, size_t capacity, _Out_ size_t *length)',
    ),
    chunkLoad: declare<(saved: Uint8Array, length: number) => Pointer | null>(
      'void *mtmd_input_chunk_load(const void *saved, size_t length)',
    ),
    chunkFree: declare<(chunk: Pointer) => void>('void mtmd_input_chunk_free(void *chunk)'),

    encode: asynchronous<(projector: Pointer, chunk: Pointer) => number>(
      library.func('int32 mtmd_encode_chunk(void *projector, void *chunk)'),
    ),
    encoded: declare<(projector: Pointer) => Pointer | null>('void *mtmd_get_output_embd(void *projector)'),
    decode: asynchronous<
      (
        projector: Pointer,
        context: Pointer,
        chunk: Pointer,
        embeddings: Float32Array,
        position: number,
        sequence: number,
        batchSize: number,
        end: [number | null],
        callback: null,
        callbackData: null,
      ) => number
    >(
      library.func(
        'int32 mtmd_helper_decode_image_chunk(void *projector, void *context, void *chunk, void *embeddings, int32 position, int32 sequence, int32 batchSize, _Out_ int32 *end, void *callback, void *callbackData)',
      ),
    ),
  };
  checkProjectorLayout(media.projectorDefaults());
  return media;
}

function checkProjectorLayout(params: ProjectorParams): void {
  const seen = [
    params.use_gpu,
    params.media_marker,
    params.flash_attn_type,
    params.image_min_tokens,
    params.batch_max_tokens,
    params.image_tile_mode,
    params.image_max_tiles,
    params.image_no_upscale,
  ];
  if (`${seen}` !== 'true,<__media__>,-1,-1,1024,1,-1,-1') {
    throw new Error(`the library for pictures and sound has another layout than expected (${seen})`);
  }
}
