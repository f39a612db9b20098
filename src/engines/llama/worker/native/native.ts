import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import koffi from 'koffi';
import {
  asynchronous,
  checkLayout,
  checkProjectorLayout,
  fabricLayout,
  type Layout,
  type Pointer,
  type Prototype,
  plainLayout,
} from './structs.ts';

/** Every call into the C library. No other file of the worker uses FFI on it. */
export type Native = ReturnType<typeof bind>;

export type Library = ReturnType<typeof koffi.load>;

interface Libraries {
  readonly base: Library;
  readonly ggml: Library;
  readonly llama: Library;
  /** The folder of the backends that are loaded at run time. */
  readonly backendFolder: string;
  readonly layout: Layout;
}

/** The libraries of an `@node-llama-cpp` package. */
export function openLibraries(folder: string): Native {
  enlargeStacks();
  const files = readdirSync(folder);
  const open = (pattern: RegExp) => {
    const name = files.find((file) => pattern.test(file));
    if (!name) throw new Error(`no library like ${pattern.source} in ${folder}`);
    return koffi.load(join(folder, name));
  };
  return checked({
    base: open(/^(lib)?ggml-base\.(so|dylib|dll)$/),
    ggml: open(/^(lib)?ggml\..*v\d.*\.(so|dylib|dll)$/),
    llama: open(/^(lib)?llama\..*v\d.*\.(so|dylib|dll)$/),
    backendFolder: folder,
    layout: plainLayout,
  });
}

/** The library of `@qvac/fabric`, which also reads images and audio. On Linux its backends are in a subfolder. */
export function openFabric(folder: string): { readonly native: Native; readonly media: NativeMedia } {
  enlargeStacks();
  const library = koffi.load(join(folder, 'qvac__fabric.bare'));
  const subfolder = join(folder, 'qvac__fabric');
  const backendFolder = existsSync(subfolder) ? subfolder : folder;
  const native = checked({ base: library, ggml: library, llama: library, backendFolder, layout: fabricLayout });
  return { native, media: bindMedia(library) };
}

/** Functions of llama.cpp for multi-token prediction, which its libraries export under their C++ names only; the same on x64 and arm64. */
const predictionSymbols = {
  llama_set_embeddings_nextn: {
    gcc: '_Z26llama_set_embeddings_nextnP13llama_contextbb',
    msvc: '?llama_set_embeddings_nextn@@YAXPEAUllama_context@@_N1@Z',
  },
  llama_get_embeddings_nextn: {
    gcc: '_Z26llama_get_embeddings_nextnP13llama_context',
    msvc: '?llama_get_embeddings_nextn@@YAPEAMPEAUllama_context@@@Z',
  },
  llama_get_embeddings_nextn_ith: {
    gcc: '_Z30llama_get_embeddings_nextn_ithP13llama_contexti',
    msvc: '?llama_get_embeddings_nextn_ith@@YAPEAMPEAUllama_context@@H@Z',
  },
} as const;

/** Calls for multi-token prediction. Not part of the stable API, so they are looked up only where they are used. */
export type NativePrediction = ReturnType<typeof bindPrediction>;

function bindPrediction(library: Library) {
  const mangled = <const Text extends string>(prototype: Text) => {
    const [, result = '', name = '', list = ''] = /^(\w+) (\w+)\((.*)\)$/.exec(prototype) ?? [];
    const symbol = predictionSymbols[name as keyof typeof predictionSymbols];
    const types = list.split(', ').map((parameter) => parameter.split(' ')[0] as string);
    const compiler = process.platform === 'win32' ? 'msvc' : 'gcc';
    return library.func(symbol[compiler], result, types) as unknown as Prototype<Text>;
  };
  return {
    layers: declaring(library)('int32 llama_model_n_layer_nextn(pointer model)'),
    /** Whether a context outputs the hidden states of its tokens: of all, or (`masked`) of those with logits. */
    setStates: mangled('void llama_set_embeddings_nextn(pointer context, bool value, bool masked)'),
    /** The buffer with the states of the last batch, and the state of one of its rows in it. */
    states: mangled('nullable llama_get_embeddings_nextn(pointer context)'),
    state: mangled('nullable llama_get_embeddings_nextn_ith(pointer context, int32 row)'),
  };
}

const decodePrototype = 'int32 llama_decode(pointer context, llama_batch batch)';
const tokenizePrototype =
  'int32 llama_tokenize(pointer vocab, bytes text, int32 length, ints tokens, int32 max, bool add, bool parse)';

/** Graph building is deeply recursive: the default stacks of koffi (128 KiB for async calls) overflow. */
function enlargeStacks(): void {
  koffi.config({ ...koffi.config(), sync_stack_size: 16 << 20, async_stack_size: 16 << 20, async_heap_size: 1 << 20 });
}

function checked(libraries: Libraries): Native {
  const native = bind(libraries);
  const [version, needed] = [native.version(), libraries.layout.version];
  if (!version.startsWith(needed)) {
    throw new Error(`the llama.cpp library is ${version}; this version of Parley needs ${needed}`);
  }
  checkLayout(native.modelDefaults(), native.contextDefaults());
  return native;
}

/** Declares functions of a library by their C prototypes. */
export function declaring(library: Library) {
  return <const Text extends string>(prototype: Text) => library.func(prototype) as unknown as Prototype<Text>;
}

function bind({ base: baseLibrary, ggml: ggmlLibrary, llama: llamaLibrary, backendFolder: folder, layout }: Libraries) {
  const files = readdirSync(folder);
  const [base, ggml, llama] = [declaring(baseLibrary), declaring(ggmlLibrary), declaring(llamaLibrary)];
  /** Both libraries have the fields of `ContextParams`; koffi knows their structures by different names. */
  const withParams = <const Text extends string>(prototype: Text) =>
    llamaLibrary.func(prototype.replace('llama_context_params', layout.contextParams)) as unknown as Prototype<Text>;

  return {
    folder,
    version: llama('text llama_version(void)'),
    backendInit: llama('void llama_backend_init(void)'),

    cpuVariants: () => cpuVariants(folder, files),
    backendLoad: ggml('nullable ggml_backend_load(text path)'),
    backendLoadAll: ggml('void ggml_backend_load_all_from_path(text dir)'),
    backendFiles: (pattern: RegExp) => files.filter((file) => pattern.test(file)).map((file) => join(folder, file)),
    deviceCount: ggml('size_t ggml_backend_dev_count(void)'),
    device: ggml('pointer ggml_backend_dev_get(size_t index)'),
    deviceByType: ggml('nullable ggml_backend_dev_by_type(int type)'),
    deviceName: base('text ggml_backend_dev_name(pointer device)'),
    deviceDescription: base('text ggml_backend_dev_description(pointer device)'),
    deviceType: base('int ggml_backend_dev_type(pointer device)'),
    deviceMemory: base('void ggml_backend_dev_memory(pointer device, _Out_ size_t *free, _Out_ size_t *total)'),
    deviceBufferType: base('pointer ggml_backend_dev_buffer_type(pointer device)'),
    cpuBufferType: base('pointer ggml_backend_cpu_buffer_type(void)'),
    deviceRegistry: base('pointer ggml_backend_dev_backend_reg(pointer device)'),
    registrySymbol: base('nullable ggml_backend_reg_get_proc_address(pointer registry, text name)'),
    threadpoolDefaults: base('ggml_threadpool_params ggml_threadpool_params_default(int threads)'),
    threadpoolNew: (address: Pointer, params: object) =>
      (koffi.decode(address, 'ThreadpoolNew') as (params: object) => Pointer | null)(params),
    /** Returns whether a tensor's first dimension is 0; with a scratch block in place of a tensor it is a native flag. */
    isEmpty: (baseLibrary as unknown as { symbol(name: string): Pointer }).symbol('ggml_is_empty'),

    modelDefaults: llama('llama_model_params llama_model_default_params(void)'),
    contextDefaults: withParams('llama_context_params llama_context_default_params(void)'),
    modelLoad: asynchronous(llama('nullable llama_model_load_from_file(text path, llama_model_params params)')),
    progressCallback: (listener: (fraction: number) => boolean) => {
      const pointer = koffi.register((fraction: number) => listener(fraction), 'ProgressCallback *');
      return { pointer, release: () => koffi.unregister(pointer) };
    },
    modelVocabulary: llama('pointer llama_model_get_vocab(pointer model)'),
    modelParameters: llama('uint64 llama_model_n_params(pointer model)'),
    modelSize: llama('uint64 llama_model_size(pointer model)'),
    modelLayers: llama('int32 llama_model_n_layer(pointer model)'),
    /** Embedding length: of a token, of an input position that is not a token, of an output vector. */
    modelWidth: llama('int32 llama_model_n_embd(pointer model)'),
    modelInputWidth: llama('int32 llama_model_n_embd_inp(pointer model)'),
    modelOutputWidth: llama('int32 llama_model_n_embd_out(pointer model)'),
    /** Number of scores per text of a reranking model. */
    modelClasses: llama('uint32 llama_model_n_cls_out(pointer model)'),
    modelTrainedContext: llama('int32 llama_model_n_ctx_train(pointer model)'),
    modelTemplate: llama('optionalText llama_model_chat_template(pointer model, optionalText name)'),
    modelDescription: llama('int32 llama_model_desc(pointer model, _Out_ char *buffer, size_t size)'),
    modelMetadata: llama('int32 llama_model_meta_val_str(pointer model, text key, _Out_ char *buffer, size_t size)'),
    modelIsRecurrent: llama('bool llama_model_is_recurrent(pointer model)'),
    modelIsHybrid: llama('bool llama_model_is_hybrid(pointer model)'),
    /** Length of the sliding window; 0 without one. */
    modelWindow: llama('int32 llama_model_n_swa(pointer model)'),
    prediction: () => bindPrediction(llamaLibrary),
    modelHasDecoder: llama('bool llama_model_has_decoder(pointer model)'),
    modelHasEncoder: llama('bool llama_model_has_encoder(pointer model)'),

    contextNew: withParams('nullable llama_init_from_model(pointer model, llama_context_params params)'),
    attachThreadpool: llama('void llama_attach_threadpool(pointer context, pointer generation, pointer batch)'),
    setThreads: llama('void llama_set_n_threads(pointer context, int32 generation, int32 batch)'),
    memory: llama('pointer llama_get_memory(pointer context)'),
    sequenceRemove: llama('bool llama_memory_seq_rm(pointer memory, int32 sequence, int32 from, int32 to)'),
    sequenceMove: llama('void llama_memory_seq_add(pointer memory, int32 sequence, int32 from, int32 to, int32 by)'),
    sequenceCopy: llama('void llama_memory_seq_cp(pointer memory, int32 from, int32 to, int32 start, int32 end)'),
    /** The first and the last position that all parts of the memory hold of a sequence; -1 if there is none. */
    sequenceFirst: llama('int32 llama_memory_seq_pos_min(pointer memory, int32 sequence)'),
    sequenceLast: llama('int32 llama_memory_seq_pos_max(pointer memory, int32 sequence)'),
    /** The state of a sequence; the flags select its parts (see `Context`). */
    stateSize: llama('size_t llama_state_seq_get_size_ext(pointer context, int32 sequence, uint32 flags)'),
    stateGet: llama(
      'size_t llama_state_seq_get_data_ext(pointer context, bytes into, size_t size, int32 sequence, uint32 flags)',
    ),
    stateSet: llama(
      'size_t llama_state_seq_set_data_ext(pointer context, bytes from, size_t size, int32 sequence, uint32 flags)',
    ),
    memoryCanShift: llama('bool llama_memory_can_shift(pointer memory)'),
    batchNew: llama('llama_batch llama_batch_init(int32 tokens, int32 embedding, int32 sequences)'),
    decodeNow: llama(decodePrototype),
    decode: asynchronous(llama(decodePrototype)),
    encode: asynchronous(llama('int32 llama_encode(pointer context, llama_batch batch)')),
    /** The vector of a whole sequence, or that of one position of the batch, by the pooling of the context. */
    sequenceVector: llama('nullable llama_get_embeddings_seq(pointer context, int32 sequence)'),
    placeVector: llama('nullable llama_get_embeddings_ith(pointer context, int32 index)'),
    logits: llama('nullable llama_get_logits_ith(pointer context, int32 index)'),
    /** Waits for a GPU, where a decode returns before it is computed. */
    synchronize: llama('void llama_synchronize(pointer context)'),

    vocabularySize: llama('int32 llama_vocab_n_tokens(pointer vocab)'),
    vocabularyType: llama('int32 llama_vocab_type(pointer vocab)'),
    tokenBos: llama('int32 llama_vocab_bos(pointer vocab)'),
    tokenEos: llama('int32 llama_vocab_eos(pointer vocab)'),
    tokenEot: llama('int32 llama_vocab_eot(pointer vocab)'),
    tokenSeparator: llama('int32 llama_vocab_sep(pointer vocab)'),
    tokenGapPrefix: llama('int32 llama_vocab_fim_pre(pointer vocab)'),
    tokenGapSuffix: llama('int32 llama_vocab_fim_suf(pointer vocab)'),
    tokenGapMiddle: llama('int32 llama_vocab_fim_mid(pointer vocab)'),
    tokenRepository: llama('int32 llama_vocab_fim_rep(pointer vocab)'),
    tokenFile: llama('int32 llama_vocab_fim_sep(pointer vocab)'),
    addsBos: llama('bool llama_vocab_get_add_bos(pointer vocab)'),
    addsEos: llama('bool llama_vocab_get_add_eos(pointer vocab)'),
    addsSeparator: llama('bool llama_vocab_get_add_sep(pointer vocab)'),
    isControlToken: llama('bool llama_vocab_is_control(pointer vocab, int32 token)'),
    tokenAttributes: llama('int32 llama_vocab_get_attr(pointer vocab, int32 token)'),
    isEndToken: llama('bool llama_vocab_is_eog(pointer vocab, int32 token)'),
    tokenize: llama(tokenizePrototype),
    tokenizeAside: asynchronous(llama(tokenizePrototype)),
    tokenPiece: llama(
      'int32 llama_token_to_piece(pointer vocab, int32 token, _Out_ uint8 *buffer, int32 length, int32 strip, bool special)',
    ),

    loraNew: llama('nullable llama_adapter_lora_init(pointer model, text path)'),
    loraSet: llama('int32 llama_set_adapters_lora(pointer context, pointers adapters, size_t count, floats scales)'),

    alloc: (bytes: number): Pointer => koffi.alloc('uint8', bytes) as unknown as Pointer,
    free: (pointer: Pointer): void => koffi.free(pointer),
    view: viewOf,
  };
}

/** Every call into libmtmd, the part of the library that reads pictures and sound. */
export type NativeMedia = ReturnType<typeof bindMedia>;

function bindMedia(library: Library) {
  const mtmd = declaring(library);
  const media = {
    projectorDefaults: mtmd('mtmd_context_params mtmd_context_params_default(void)'),
    projectorNew: asynchronous(
      mtmd('nullable mtmd_init_from_file(text path, pointer model, mtmd_context_params params)'),
    ),
    seesImages: mtmd('bool mtmd_support_vision(pointer projector)'),
    hearsAudio: mtmd('bool mtmd_support_audio(pointer projector)'),
    /** Whether the attention of a chunk is not causal, so that all of it must be in one micro-batch. */
    looksBothWays: mtmd('bool mtmd_decode_use_non_causal(pointer projector, nullable chunk)'),

    bitmapRead: asynchronous(
      mtmd(
        'mtmd_helper_bitmap_wrapper mtmd_helper_bitmap_init_from_buf(pointer projector, bytes file, size_t length, bool placeholder)',
      ),
    ),
    bitmapNew: mtmd('nullable mtmd_bitmap_init(uint32 width, uint32 height, bytes pixels)'),
    bitmapWidth: mtmd('uint32 mtmd_bitmap_get_nx(pointer bitmap)'),
    bitmapHeight: mtmd('uint32 mtmd_bitmap_get_ny(pointer bitmap)'),
    bitmapData: mtmd('pointer mtmd_bitmap_get_data(pointer bitmap)'),
    bitmapBytes: mtmd('size_t mtmd_bitmap_get_n_bytes(pointer bitmap)'),
    bitmapFree: mtmd('void mtmd_bitmap_free(pointer bitmap)'),

    chunksNew: mtmd('pointer mtmd_input_chunks_init(void)'),
    chunksFree: mtmd('void mtmd_input_chunks_free(pointer chunks)'),
    chunksCount: mtmd('size_t mtmd_input_chunks_size(pointer chunks)'),
    chunkAt: mtmd('pointer mtmd_input_chunks_get(pointer chunks, size_t index)'),
    tokenize: asynchronous(
      mtmd('int32 mtmd_tokenize(pointer projector, pointer into, InputText text, pointers bitmaps, size_t count)'),
    ),
    /** 0 for text. */
    chunkType: mtmd('int mtmd_input_chunk_get_type(pointer chunk)'),
    chunkTokens: mtmd('size_t mtmd_input_chunk_get_n_tokens(pointer chunk)'),
    chunkPositions: mtmd('int32 mtmd_input_chunk_get_n_pos(pointer chunk)'),
    chunkText: mtmd('pointer mtmd_input_chunk_get_tokens_text(pointer chunk, _Out_ size_t *count)'),
    chunkSave: mtmd('int32 mtmd_input_chunk_save(pointer chunk, buffer into, size_t capacity, _Out_ size_t *length)'),
    chunkLoad: mtmd('nullable mtmd_input_chunk_load(bytes saved, size_t length)'),
    chunkFree: mtmd('void mtmd_input_chunk_free(pointer chunk)'),

    encode: asynchronous(mtmd('int32 mtmd_encode_chunk(pointer projector, pointer chunk)')),
    encoded: mtmd('nullable mtmd_get_output_embd(pointer projector)'),
    decode: asynchronous(
      mtmd(
        'int32 mtmd_helper_decode_image_chunk(pointer projector, pointer context, pointer chunk, floats embeddings, int32 position, int32 sequence, int32 batchSize, _Out_ int32 *end, nullable callback, nullable callbackData)',
      ),
    ),
  };
  checkProjectorLayout(media.projectorDefaults());
  return media;
}

/** The library's own memory as an ArrayBuffer. */
export function viewOf(pointer: Pointer, bytes: number): ArrayBuffer {
  return koffi.view(pointer, bytes) as ArrayBuffer;
}

/** The CPU builds in this folder that the processor supports, best first; none if there is a single build. */
function cpuVariants(folder: string, files: readonly string[]): string[] {
  return files
    .filter((file) => /^(lib)?(qvac-)?ggml-cpu-[\w.]+\.(so|dll)$/.test(file))
    .map((file) => {
      const path = join(folder, file);
      const score = koffi.load(path).func('int ggml_backend_score(void)') as unknown as () => number;
      return { path, score: score() };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ path }) => path);
}

export function variantName(path: string): string {
  return basename(path)
    .replace(/^(lib)?(qvac-)?ggml-cpu-/, '')
    .replace(/\.(so|dll)$/, '');
}

export type Threadpools = ReturnType<typeof makeThreadpools>;

/**
 * How long threads spin until the next step before they sleep, in units of 131,072 rounds: some milliseconds. The library's default of
 * 50 keeps a core of an x64 processor busy for up to 0.3 s after each reply, because its pause instruction takes long.
 */
const poll = process.arch === 'x64' ? 2 : 50;

/** Persistent thread pools for contexts that do not compute at the same time: without them, each decode creates its threads (−40 %). */
export function makeThreadpools(native: Native, threads: number, batchThreads: number) {
  const cpu = native.deviceByType(0);
  const create = cpu && native.registrySymbol(native.deviceRegistry(cpu), 'ggml_threadpool_new');
  const pools = new Map<number, Pointer | null>();
  const pool = (count: number): Pointer | null => {
    const known = pools.get(count);
    if (known !== undefined) return known;
    const made = create ? native.threadpoolNew(create, { ...native.threadpoolDefaults(count), poll }) : null;
    pools.set(count, made);
    return made;
  };
  const attach = (context: Pointer, generation: number, batch: number): void => {
    const [own, ofBatch] = [pool(generation), pool(batch)];
    if (own && ofBatch) native.attachThreadpool(context, own, ofBatch);
    native.setThreads(context, generation, batch);
  };
  const attached: Pointer[] = [];
  let used: number | undefined;
  return {
    attach: (context: Pointer): void => {
      attached.push(context);
      attach(context, used ?? threads, used ?? batchThreads);
    },
    /** Sets the number of threads for the next batches of all attached contexts. Each number has its own pool: spare threads would spin. */
    use: (count: number): void => {
      used = count;
      for (const context of attached) attach(context, count, count);
    },
  };
}

/** A metadata value of the model as text; empty if there is none. */
export function metadata(native: Native, model: Pointer, key: string): string {
  const buffer = new Uint8Array(512);
  const length = native.modelMetadata(model, key, buffer, buffer.length);
  return length > 0 ? Buffer.from(buffer.subarray(0, length)).toString() : '';
}
