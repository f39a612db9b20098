import koffi from 'koffi';

export type Pointer = bigint;

/** C types by the names that structs and prototypes use for them, as koffi takes and returns them. */
interface CTypes extends Record<'int' | 'int32' | 'uint32' | 'uint64' | 'size_t' | 'float', number> {
  void: undefined;
  bool: boolean;
  pointer: Pointer;
  nullable: Pointer | null;
  bytes: Uint8Array;
  ints: Int32Array;
  floats: Float32Array;
  buffer: Pointer | Uint8Array | Float32Array | null;
  callback: unknown;
  text: string;
  optionalText: string | null;
  llama_model_params: ModelParams;
  llama_context_params: ContextParams;
  llama_batch: Batch;
  ggml_threadpool_params: object;
  mtmd_context_params: ProjectorParams;
  mtmd_helper_bitmap_wrapper: { readonly bitmap: Pointer | null };
  InputText: InputText;
  pointers: readonly Pointer[];
}

for (const name of ['pointer', 'nullable', 'bytes', 'ints', 'floats', 'buffer', 'callback'])
  koffi.alias(name, 'void *');
for (const name of ['text', 'optionalText']) koffi.alias(name, 'const char *');
koffi.alias('pointers', 'void **');

type CType<Name> = Name extends keyof CTypes ? CTypes[Name] : never;
type OutBuffer = `${'uint8' | 'char'} *${string}`;
type Parameter<Text> = Text extends `_Out_ ${infer Target}`
  ? Target extends OutBuffer
    ? Uint8Array
    : [number | null]
  : Text extends `${infer Type} ${string}`
    ? CType<Type>
    : never;
type Arguments<Text> = Text extends 'void'
  ? []
  : Text extends `${infer First}, ${infer Rest}`
    ? [Parameter<First>, ...Arguments<Rest>]
    : [Parameter<Text>];

/** The function that a C prototype declares. */
export type Prototype<Text> = Text extends `${infer Result} ${string}(${infer List})`
  ? (...parameters: Arguments<List>) => CType<Result>
  : never;

type Struct<Fields> = { -readonly [Name in keyof Fields]: CType<Fields[Name]> };

/** Consecutive fields of one type. */
function fields<Type extends string, Name extends string>(type: Type, ...names: Name[]): Record<Name, Type> {
  return Object.fromEntries(names.map((name) => [name, type])) as Record<Name, Type>;
}

/**
 * The C structures that are passed by value: of llama.cpp 0.4.0 in @node-llama-cpp 3.21.1, and of its fork in @qvac/fabric 0.15.0,
 * which has a few fields more. A field too many or too few is a crash, so `checkLayout` checks a few defaults of the library.
 */
export interface Layout {
  readonly version: string;
  /** The name under which koffi knows its context parameters; all else is the same in both. */
  readonly contextParams: string;
}

export const plainLayout: Layout = { version: '0.4.0', contextParams: 'llama_context_params' };
export const fabricLayout: Layout = { version: '0.1.2-dev', contextParams: 'fabric_context_params' };

export type ModelParams = Struct<typeof modelParams>;
const modelParams = {
  ...fields('buffer', 'devices', 'tensor_buft_overrides'),
  n_gpu_layers: 'int32',
  ...fields('int', 'split_mode', 'load_mode', 'lazy_mode'),
  main_gpu: 'int32',
  tensor_split: 'buffer',
  progress_callback: 'callback',
  progress_callback_user_data: 'nullable',
  kv_overrides: 'buffer',
  ...fields('bool', 'vocab_only', 'check_tensors', 'use_extra_bufts', 'no_host', 'no_alloc', 'load_mtp'),
} as const;
koffi.struct('llama_model_params', modelParams);

const contextSizesToCache = {
  ...fields('uint32', 'n_ctx', 'n_batch', 'n_ubatch', 'n_seq_max', 'n_rs_seq'),
  ...fields('uint32', 'n_outputs_max', 'n_outputs_max_per_seq'),
  ...fields('int32', 'n_threads', 'n_threads_batch'),
  ...fields('int', 'ctx_type', 'rope_scaling_type', 'pooling_type', 'attention_type', 'flash_attn_type'),
  ...fields('float', 'rope_freq_base', 'rope_freq_scale'),
  ...fields('float', 'yarn_ext_factor', 'yarn_attn_factor', 'yarn_beta_fast', 'yarn_beta_slow'),
  yarn_orig_ctx: 'uint32',
  defrag_thold: 'float',
  ...fields('nullable', 'cb_eval', 'cb_eval_user_data'),
  ...fields('int', 'type_k', 'type_v'),
} as const;
const contextAbortToUnified = {
  ...fields('nullable', 'abort_callback', 'abort_callback_data'),
  ...fields('bool', 'embeddings', 'offload_kqv', 'no_perf', 'op_offload', 'swa_full', 'kv_unified'),
};
const contextEnd = { samplers: 'nullable', n_samplers: 'size_t', ctx_other: 'nullable' } as const;
const contextParams = { ...contextSizesToCache, ...contextAbortToUnified, ...contextEnd };
export type ContextParams = Struct<typeof contextParams>;
koffi.struct(plainLayout.contextParams, contextParams);
koffi.struct(fabricLayout.contextParams, {
  ...contextSizesToCache,
  moe_cache_size: 'size_t',
  ...contextAbortToUnified,
  prefetch_weights: 'bool',
  moe_cache_auto: 'bool',
  ...contextEnd,
  ctx_other_share_compute: 'bool',
  training: 'bool',
});

const batch = {
  n_tokens: 'int32',
  token: 'pointer',
  embd: 'nullable',
  ...fields('pointer', 'pos', 'n_seq_id', 'seq_id', 'logits'),
} as const;
export type Batch = Struct<typeof batch>;
koffi.struct('llama_batch', batch);

koffi.struct('ggml_threadpool_params', {
  cpumask: koffi.array('bool', 512),
  n_threads: 'int',
  prio: 'int',
  poll: 'uint32',
  strict_cpu: 'bool',
  paused: 'bool',
});

const projectorParams = {
  use_gpu: 'bool',
  device: 'nullable',
  print_timings: 'bool',
  n_threads: 'int',
  image_marker: 'optionalText',
  media_marker: 'text',
  flash_attn_type: 'int',
  warmup: 'bool',
  ...fields('int', 'image_min_tokens', 'image_max_tokens'),
  ...fields('nullable', 'cb_eval', 'cb_eval_user_data'),
  batch_max_tokens: 'int32',
  ...fields('nullable', 'progress_callback', 'progress_callback_user_data'),
  backend_device: 'optionalText',
  ...fields('int', 'image_tile_mode', 'image_max_tiles', 'image_no_upscale'),
  skip_audio: 'bool',
} as const;
type ProjectorParams = Struct<typeof projectorParams>;
koffi.struct('mtmd_context_params', projectorParams);
const inputText = { text: 'text', text_len: 'size_t', add_special: 'bool', parse_special: 'bool' } as const;
type InputText = Struct<typeof inputText>;
koffi.alias('InputText', koffi.pointer(koffi.struct('mtmd_input_text', inputText)));
koffi.struct('mtmd_helper_bitmap_wrapper', { bitmap: 'nullable', video_ctx: 'nullable' });

koffi.proto('bool ProgressCallback(float progress, void *user_data)');
koffi.proto('void *ThreadpoolNew(ggml_threadpool_params *params)');

/** The defaults are spread over the structures: a layout that is off by one field cannot have all of them right. */
export function checkLayout(model: ModelParams, context: ContextParams): void {
  const modelValues = [model.split_mode, model.load_mode, model.n_gpu_layers, model.vocab_only, model.check_tensors];
  const { n_ctx, n_batch, n_ubatch, type_k, type_v, offload_kqv, kv_unified, n_samplers, ctx_other } = context;
  const contextValues = [n_ctx, n_batch, n_ubatch, type_k, type_v, offload_kqv, kv_unified, n_samplers, ctx_other];
  if (`${modelValues} ${contextValues}` !== '1,-1,-1,false,false 512,2048,512,1,1,true,false,0,') {
    throw new Error(`the llama.cpp library has another layout than expected (${modelValues} ${contextValues})`);
  }
}

export function checkProjectorLayout(params: ProjectorParams): void {
  const { use_gpu, media_marker, flash_attn_type, image_min_tokens, batch_max_tokens } = params;
  const { image_tile_mode, image_max_tiles, image_no_upscale } = params;
  const tiles = [image_tile_mode, image_max_tiles, image_no_upscale];
  const values = [use_gpu, media_marker, flash_attn_type, image_min_tokens, batch_max_tokens, ...tiles];
  if (`${values}` !== 'true,<__media__>,-1,-1,1024,1,-1,-1') {
    throw new Error(`the library for pictures and sound has another layout than expected (${values})`);
  }
}

/** koffi runs `.async` on its own thread and calls back; the event loop stays free. */
export function asynchronous<Arguments extends unknown[], Result>(callable: (...parameters: Arguments) => Result) {
  const { async: start } = callable as unknown as { async(...parameters: unknown[]): void };
  return (...parameters: Arguments): Promise<Result> =>
    new Promise((resolve, reject) => {
      start(...parameters, (error: Error | null, result: Result) => (error ? reject(error) : resolve(result)));
    });
}
