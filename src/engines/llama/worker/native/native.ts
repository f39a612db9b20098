import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import koffi from 'koffi';
import { bindMedia, type NativeMedia } from './native-media.ts';
import {
  asynchronous,
  type Batch,
  type ContextParams,
  checkLayout,
  fabricLayout,
  type Layout,
  type ModelParams,
  type Pointer,
  plainLayout,
} from './structs.ts';

/**
 * Every call into the C library, declared once and typed. Nothing above this file knows about FFI, and nothing in it
 * decides anything.
 */
export type Native = ReturnType<typeof bind>;

export type Library = ReturnType<typeof koffi.load>;

interface Libraries {
  readonly base: Library;
  readonly ggml: Library;
  readonly llama: Library;
  /** Where the backends lie that are loaded at run time. */
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

/** The one library of `@qvac/fabric`, which can also read pictures and sound. On Linux its backends lie beside it. */
export function openFabric(folder: string): { readonly native: Native; readonly media: NativeMedia } {
  enlargeStacks();
  const library = koffi.load(join(folder, 'qvac__fabric.bare'));
  const beside = join(folder, 'qvac__fabric');
  const backendFolder = existsSync(beside) ? beside : folder;
  const native = checked({ base: library, ggml: library, llama: library, backendFolder, layout: fabricLayout });
  return { native, media: bindMedia(library) };
}

type Tokenize = (
  vocabulary: Pointer,
  text: Uint8Array,
  length: number,
  into: Int32Array,
  capacity: number,
  addSpecial: boolean,
  parseSpecial: boolean,
) => number;

const tokenizePrototype =
  'int32 llama_tokenize(void *vocab, const void *text, int32 length, void *tokens, int32 max, bool add, bool parse)';

/** Graph building in C++ is deep; the stacks that koffi gives by default (128 KiB for async calls) overflow. */
function enlargeStacks(): void {
  koffi.config({ ...koffi.config(), sync_stack_size: 16 << 20, async_stack_size: 16 << 20, async_heap_size: 1 << 20 });
}

function checked(libraries: Libraries): Native {
  const native = bind(libraries);
  const version = native.version();
  const wanted = libraries.layout.version;
  if (!version.startsWith(wanted)) {
    throw new Error(`the llama.cpp library is ${version}; this version of Parley needs ${wanted}`);
  }
  checkLayout(native.modelDefaults(), native.contextDefaults());
  return native;
}

function bind({ base, ggml, llama, backendFolder: folder, layout }: Libraries) {
  const files = readdirSync(folder);
  const { contextParams } = layout;
  const declare = <Signature>(library: Library, prototype: string) => library.func(prototype) as unknown as Signature;

  return {
    folder,
    version: declare<() => string>(llama, 'const char *llama_version(void)'),
    backendInit: declare<() => void>(llama, 'void llama_backend_init(void)'),

    cpuVariants: () => cpuVariants(folder, files),
    backendLoad: declare<(path: string) => Pointer | null>(ggml, 'void *ggml_backend_load(const char *path)'),
    backendLoadAll: declare<(folder: string) => void>(ggml, 'void ggml_backend_load_all_from_path(const char *dir)'),
    backendFiles: (pattern: RegExp) => files.filter((file) => pattern.test(file)).map((file) => join(folder, file)),
    deviceCount: declare<() => number>(ggml, 'size_t ggml_backend_dev_count(void)'),
    device: declare<(index: number) => Pointer>(ggml, 'void *ggml_backend_dev_get(size_t index)'),
    deviceByType: declare<(type: number) => Pointer | null>(ggml, 'void *ggml_backend_dev_by_type(int type)'),
    deviceName: declare<(device: Pointer) => string>(base, 'const char *ggml_backend_dev_name(void *device)'),
    deviceDescription: declare<(device: Pointer) => string>(
      base,
      'const char *ggml_backend_dev_description(void *device)',
    ),
    deviceType: declare<(device: Pointer) => number>(base, 'int ggml_backend_dev_type(void *device)'),
    deviceMemory: declare<(device: Pointer, free: [number | null], total: [number | null]) => void>(
      base,
      'void ggml_backend_dev_memory(void *device, _Out_ size_t *free, _Out_ size_t *total)',
    ),
    deviceBufferType: declare<(device: Pointer) => Pointer>(base, 'void *ggml_backend_dev_buffer_type(void *device)'),
    cpuBufferType: declare<() => Pointer>(base, 'void *ggml_backend_cpu_buffer_type(void)'),
    deviceRegistry: declare<(device: Pointer) => Pointer>(base, 'void *ggml_backend_dev_backend_reg(void *device)'),
    registrySymbol: declare<(registry: Pointer, name: string) => Pointer | null>(
      base,
      'void *ggml_backend_reg_get_proc_address(void *registry, const char *name)',
    ),
    threadpoolDefaults: declare<(threads: number) => object>(
      base,
      'ggml_threadpool_params ggml_threadpool_params_default(int threads)',
    ),
    threadpoolNew: (address: Pointer, params: object) =>
      (koffi.decode(address, 'ThreadpoolNew') as (params: object) => Pointer | null)(params),
    /** Returns whether a tensor's first dimension is 0; with a scratch block in place of a tensor it is a native flag. */
    isEmpty: (base as unknown as { symbol(name: string): Pointer }).symbol('ggml_is_empty'),

    modelDefaults: declare<() => ModelParams>(llama, 'llama_model_params llama_model_default_params(void)'),
    contextDefaults: declare<() => ContextParams>(llama, `${contextParams} llama_context_default_params(void)`),
    modelLoad: asynchronous<(path: string, params: ModelParams) => Pointer | null>(
      llama.func('void *llama_model_load_from_file(const char *path, llama_model_params params)'),
    ),
    progressCallback: (listener: (fraction: number) => boolean) => {
      const pointer = koffi.register((fraction: number) => listener(fraction), 'ProgressCallback *');
      return { pointer, release: () => koffi.unregister(pointer) };
    },
    modelVocabulary: declare<(model: Pointer) => Pointer>(llama, 'void *llama_model_get_vocab(void *model)'),
    modelParameters: declare<(model: Pointer) => number>(llama, 'uint64 llama_model_n_params(void *model)'),
    modelSize: declare<(model: Pointer) => number>(llama, 'uint64 llama_model_size(void *model)'),
    modelLayers: declare<(model: Pointer) => number>(llama, 'int32 llama_model_n_layer(void *model)'),
    /** How many numbers a place of the input takes, where it is no token. */
    modelWidth: declare<(model: Pointer) => number>(llama, 'int32 llama_model_n_embd(void *model)'),
    modelInputWidth: declare<(model: Pointer) => number>(llama, 'int32 llama_model_n_embd_inp(void *model)'),
    modelOutputWidth: declare<(model: Pointer) => number>(llama, 'int32 llama_model_n_embd_out(void *model)'),
    /** How many figures a model for ranking gives for a text. */
    modelClasses: declare<(model: Pointer) => number>(llama, 'uint32 llama_model_n_cls_out(void *model)'),
    modelTrainedContext: declare<(model: Pointer) => number>(llama, 'int32 llama_model_n_ctx_train(void *model)'),
    modelTemplate: declare<(model: Pointer, name: string | null) => string | null>(
      llama,
      'const char *llama_model_chat_template(void *model, const char *name)',
    ),
    modelDescription: declare<(model: Pointer, buffer: Uint8Array, size: number) => number>(
      llama,
      'int32 llama_model_desc(void *model, _Out_ char *buffer, size_t size)',
    ),
    modelMetadata: declare<(model: Pointer, key: string, buffer: Uint8Array, size: number) => number>(
      llama,
      'int32 llama_model_meta_val_str(void *model, const char *key, _Out_ char *buffer, size_t size)',
    ),
    modelIsRecurrent: declare<(model: Pointer) => boolean>(llama, 'bool llama_model_is_recurrent(void *model)'),
    modelIsHybrid: declare<(model: Pointer) => boolean>(llama, 'bool llama_model_is_hybrid(void *model)'),
    /** How far the layers with a sliding window see; 0 where there are none. */
    modelWindow: declare<(model: Pointer) => number>(llama, 'int32 llama_model_n_swa(void *model)'),
    modelHasDecoder: declare<(model: Pointer) => boolean>(llama, 'bool llama_model_has_decoder(void *model)'),
    modelHasEncoder: declare<(model: Pointer) => boolean>(llama, 'bool llama_model_has_encoder(void *model)'),

    contextNew: declare<(model: Pointer, params: ContextParams) => Pointer | null>(
      llama,
      `void *llama_init_from_model(void *model, ${contextParams} params)`,
    ),
    attachThreadpool: declare<(context: Pointer, generation: Pointer, batch: Pointer) => void>(
      llama,
      'void llama_attach_threadpool(void *context, void *generation, void *batch)',
    ),
    memory: declare<(context: Pointer) => Pointer>(llama, 'void *llama_get_memory(void *context)'),
    sequenceRemove: declare<(memory: Pointer, sequence: number, from: number, to: number) => boolean>(
      llama,
      'bool llama_memory_seq_rm(void *memory, int32 sequence, int32 from, int32 to)',
    ),
    sequenceMove: declare<(memory: Pointer, sequence: number, from: number, to: number, by: number) => void>(
      llama,
      'void llama_memory_seq_add(void *memory, int32 sequence, int32 from, int32 to, int32 by)',
    ),
    sequenceCopy: declare<(memory: Pointer, from: number, to: number, start: number, end: number) => void>(
      llama,
      'void llama_memory_seq_cp(void *memory, int32 from, int32 to, int32 start, int32 end)',
    ),
    /** The first and the last position that all parts of the memory hold of a sequence; -1 where there is none. */
    sequenceFirst: declare<(memory: Pointer, sequence: number) => number>(
      llama,
      'int32 llama_memory_seq_pos_min(void *memory, int32 sequence)',
    ),
    sequenceLast: declare<(memory: Pointer, sequence: number) => number>(
      llama,
      'int32 llama_memory_seq_pos_max(void *memory, int32 sequence)',
    ),
    /** The state of a sequence; which parts of it is told by the flags (see `Context`). */
    stateSize: declare<(context: Pointer, sequence: number, flags: number) => number>(
      llama,
      'size_t llama_state_seq_get_size_ext(void *context, int32 sequence, uint32 flags)',
    ),
    stateGet: declare<(context: Pointer, into: Uint8Array, size: number, sequence: number, flags: number) => number>(
      llama,
      'size_t llama_state_seq_get_data_ext(void *context, void *into, size_t size, int32 sequence, uint32 flags)',
    ),
    stateSet: declare<(context: Pointer, from: Uint8Array, size: number, sequence: number, flags: number) => number>(
      llama,
      'size_t llama_state_seq_set_data_ext(void *context, void *from, size_t size, int32 sequence, uint32 flags)',
    ),
    memoryCanShift: declare<(memory: Pointer) => boolean>(llama, 'bool llama_memory_can_shift(void *memory)'),
    batchNew: declare<(tokens: number, embedding: number, sequences: number) => Batch>(
      llama,
      'llama_batch llama_batch_init(int32 tokens, int32 embedding, int32 sequences)',
    ),
    decodeNow: declare<(context: Pointer, batch: Batch) => number>(
      llama,
      'int32 llama_decode(void *context, llama_batch batch)',
    ),
    decode: asynchronous<(context: Pointer, batch: Batch) => number>(
      llama.func('int32 llama_decode(void *context, llama_batch batch)'),
    ),
    encode: asynchronous<(context: Pointer, batch: Batch) => number>(
      llama.func('int32 llama_encode(void *context, llama_batch batch)'),
    ),
    /** The vector of a whole sequence, or that of one place of the batch, by how the context pools. */
    sequenceVector: declare<(context: Pointer, sequence: number) => Pointer | null>(
      llama,
      'void *llama_get_embeddings_seq(void *context, int32 sequence)',
    ),
    placeVector: declare<(context: Pointer, index: number) => Pointer | null>(
      llama,
      'void *llama_get_embeddings_ith(void *context, int32 index)',
    ),
    logits: declare<(context: Pointer, index: number) => Pointer | null>(
      llama,
      'void *llama_get_logits_ith(void *context, int32 index)',
    ),

    vocabularySize: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_n_tokens(void *vocab)'),
    vocabularyType: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_type(void *vocab)'),
    tokenBos: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_bos(void *vocab)'),
    tokenEos: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_eos(void *vocab)'),
    tokenEot: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_eot(void *vocab)'),
    tokenSeparator: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_sep(void *vocab)'),
    tokenGapPrefix: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_fim_pre(void *vocab)'),
    tokenGapSuffix: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_fim_suf(void *vocab)'),
    tokenGapMiddle: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_fim_mid(void *vocab)'),
    tokenRepository: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_fim_rep(void *vocab)'),
    tokenFile: declare<(vocabulary: Pointer) => number>(llama, 'int32 llama_vocab_fim_sep(void *vocab)'),
    addsBos: declare<(vocabulary: Pointer) => boolean>(llama, 'bool llama_vocab_get_add_bos(void *vocab)'),
    addsEos: declare<(vocabulary: Pointer) => boolean>(llama, 'bool llama_vocab_get_add_eos(void *vocab)'),
    addsSeparator: declare<(vocabulary: Pointer) => boolean>(llama, 'bool llama_vocab_get_add_sep(void *vocab)'),
    isControlToken: declare<(vocabulary: Pointer, token: number) => boolean>(
      llama,
      'bool llama_vocab_is_control(void *vocab, int32 token)',
    ),
    tokenAttributes: declare<(vocabulary: Pointer, token: number) => number>(
      llama,
      'int32 llama_vocab_get_attr(void *vocab, int32 token)',
    ),
    isEndToken: declare<(vocabulary: Pointer, token: number) => boolean>(
      llama,
      'bool llama_vocab_is_eog(void *vocab, int32 token)',
    ),
    tokenize: declare<Tokenize>(llama, tokenizePrototype),
    tokenizeAside: asynchronous<Tokenize>(llama.func(tokenizePrototype)),
    tokenPiece: declare<
      (
        vocabulary: Pointer,
        token: number,
        into: Uint8Array,
        capacity: number,
        strip: number,
        special: boolean,
      ) => number
    >(
      llama,
      'int32 llama_token_to_piece(void *vocab, int32 token, _Out_ uint8 *buffer, int32 length, int32 strip, bool special)',
    ),

    loraNew: declare<(model: Pointer, path: string) => Pointer | null>(
      llama,
      'void *llama_adapter_lora_init(void *model, const char *path)',
    ),
    loraSet: declare<(context: Pointer, adapters: readonly Pointer[], count: number, scales: Float32Array) => number>(
      llama,
      'int32 llama_set_adapters_lora(void *context, void **adapters, size_t count, float *scales)',
    ),

    alloc: (bytes: number): Pointer => koffi.alloc('uint8', bytes) as unknown as Pointer,
    free: (pointer: Pointer): void => koffi.free(pointer),
    view: viewOf,
  };
}

/** The library's own memory, seen as ours. */
export function viewOf(pointer: Pointer, bytes: number): ArrayBuffer {
  return koffi.view(pointer, bytes) as ArrayBuffer;
}

/** CPU builds in this folder that this processor says it can run, best first. Where there is one build only: none. */
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

/** Threads for contexts that never compute at the same time. */
export interface Threadpools {
  attach(context: Pointer): void;
}

/** Pools that live as long as the contexts: without one every decode makes and joins its threads (−40 % speed). */
export function makeThreadpools(native: Native, threads: number, batchThreads: number): Threadpools {
  const cpu = native.deviceByType(0);
  const create = cpu && native.registrySymbol(native.deviceRegistry(cpu), 'ggml_threadpool_new');
  if (!create) return { attach: () => {} };
  const pool = (count: number) => native.threadpoolNew(create, native.threadpoolDefaults(count));
  const generation = pool(threads);
  const batch = batchThreads === threads ? generation : pool(batchThreads);
  return {
    attach: (context) => {
      if (generation && batch) native.attachThreadpool(context, generation, batch);
    },
  };
}

/** What a model's file says under a key, as text; empty where it says nothing. */
export function metadata(native: Native, model: Pointer, key: string): string {
  const buffer = new Uint8Array(512);
  const length = native.modelMetadata(model, key, buffer, buffer.length);
  return length > 0 ? Buffer.from(buffer.subarray(0, length)).toString() : '';
}
