import koffi from 'koffi';

/**
 * The C structures that are passed by value, for the two libraries that we use: llama.cpp 0.4.0 as shipped in
 * @node-llama-cpp 3.21.1, and its fork in @qvac/fabric 0.15.0, which has a few fields more. A field too many or too few
 * is a crash, so `checkLayout` compares a few defaults that the library reports with what they must be.
 */
export interface Layout {
  readonly version: string;
  /** The name under which koffi knows its context parameters; all else is the same in both. */
  readonly contextParams: string;
}

export const plainLayout: Layout = { version: '0.4.0', contextParams: 'llama_context_params' };
export const fabricLayout: Layout = { version: '0.1.2-dev', contextParams: 'fabric_context_params' };

koffi.struct('llama_model_params', {
  devices: 'void *',
  tensor_buft_overrides: 'void *',
  n_gpu_layers: 'int32',
  split_mode: 'int',
  load_mode: 'int',
  lazy_mode: 'int',
  main_gpu: 'int32',
  tensor_split: 'void *',
  progress_callback: 'void *',
  progress_callback_user_data: 'void *',
  kv_overrides: 'void *',
  vocab_only: 'bool',
  check_tensors: 'bool',
  use_extra_bufts: 'bool',
  no_host: 'bool',
  no_alloc: 'bool',
  load_mtp: 'bool',
});

const contextSizesToCache = {
  n_ctx: 'uint32',
  n_batch: 'uint32',
  n_ubatch: 'uint32',
  n_seq_max: 'uint32',
  n_rs_seq: 'uint32',
  n_outputs_max: 'uint32',
  n_outputs_max_per_seq: 'uint32',
  n_threads: 'int32',
  n_threads_batch: 'int32',
  ctx_type: 'int',
  rope_scaling_type: 'int',
  pooling_type: 'int',
  attention_type: 'int',
  flash_attn_type: 'int',
  rope_freq_base: 'float',
  rope_freq_scale: 'float',
  yarn_ext_factor: 'float',
  yarn_attn_factor: 'float',
  yarn_beta_fast: 'float',
  yarn_beta_slow: 'float',
  yarn_orig_ctx: 'uint32',
  defrag_thold: 'float',
  cb_eval: 'void *',
  cb_eval_user_data: 'void *',
  type_k: 'int',
  type_v: 'int',
};

const contextAbortToUnified = {
  abort_callback: 'void *',
  abort_callback_data: 'void *',
  embeddings: 'bool',
  offload_kqv: 'bool',
  no_perf: 'bool',
  op_offload: 'bool',
  swa_full: 'bool',
  kv_unified: 'bool',
};

const contextEnd = {
  samplers: 'void *',
  n_samplers: 'size_t',
  ctx_other: 'void *',
};

koffi.struct(plainLayout.contextParams, { ...contextSizesToCache, ...contextAbortToUnified, ...contextEnd });
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

koffi.struct('llama_batch', {
  n_tokens: 'int32',
  token: 'void *',
  embd: 'void *',
  pos: 'void *',
  n_seq_id: 'void *',
  seq_id: 'void *',
  logits: 'void *',
});

koffi.struct('ggml_threadpool_params', {
  cpumask: koffi.array('bool', 512),
  n_threads: 'int',
  prio: 'int',
  poll: 'uint32',
  strict_cpu: 'bool',
  paused: 'bool',
});

koffi.proto('bool ProgressCallback(float progress, void *user_data)');
koffi.proto('void *ThreadpoolNew(ggml_threadpool_params *params)');

export type Pointer = bigint;

export interface ModelParams {
  devices: Pointer | Uint8Array | null;
  tensor_buft_overrides: Pointer | Uint8Array | null;
  n_gpu_layers: number;
  split_mode: number;
  load_mode: number;
  main_gpu: number;
  tensor_split: Float32Array | null;
  progress_callback: unknown;
  kv_overrides: Uint8Array | null;
  vocab_only: boolean;
  check_tensors: boolean;
}

export interface ContextParams {
  n_ctx: number;
  n_batch: number;
  n_ubatch: number;
  n_seq_max: number;
  n_outputs_max: number;
  n_outputs_max_per_seq: number;
  n_threads: number;
  n_threads_batch: number;
  pooling_type: number;
  flash_attn_type: number;
  rope_freq_base: number;
  rope_freq_scale: number;
  type_k: number;
  type_v: number;
  abort_callback: Pointer | null;
  abort_callback_data: Pointer | null;
  embeddings: boolean;
  offload_kqv: boolean;
  no_perf: boolean;
  swa_full: boolean;
  kv_unified: boolean;
  n_samplers: number;
  ctx_other: Pointer | null;
}

export interface Batch {
  n_tokens: number;
  readonly token: Pointer;
  readonly pos: Pointer;
  readonly n_seq_id: Pointer;
  readonly seq_id: Pointer;
  readonly logits: Pointer;
}

/** The defaults lie all over both structures: a layout that moved by one field cannot show all of them right. */
export function checkLayout(model: ModelParams, context: ContextParams): void {
  const seen = [model.split_mode, model.load_mode, model.n_gpu_layers, model.vocab_only, model.check_tensors];
  const seenToo = [
    context.n_ctx,
    context.n_batch,
    context.n_ubatch,
    context.type_k,
    context.type_v,
    context.offload_kqv,
    context.kv_unified,
    context.n_samplers,
    context.ctx_other,
  ];
  if (`${seen} ${seenToo}` !== '1,-1,-1,false,false 512,2048,512,1,1,true,false,0,') {
    throw new Error(`the llama.cpp library has another layout than expected (${seen} ${seenToo})`);
  }
}

/** koffi runs `.async` on its own thread and calls back; the event loop stays free. */
export function asynchronous<Signature extends (...parameters: never[]) => unknown>(callable: unknown) {
  const { async: start } = callable as { async(...parameters: unknown[]): void };
  return (...parameters: Parameters<Signature>): Promise<ReturnType<Signature>> =>
    new Promise((resolve, reject) => {
      start(...parameters, (error: Error | null, result: ReturnType<Signature>) =>
        error ? reject(error) : resolve(result),
      );
    });
}
