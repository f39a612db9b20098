import { join } from 'node:path';
import koffi from 'koffi';
import type { WhisperDriver, WhisperResult, WhisperTask } from './driver.ts';

/** The version whose structures are described here. Others may have other ones. */
const libraryVersion = '1.8.3';

const pointer = 'void *';
const text = 'const char *';

/** `whisper_context_params`. */
const contextParameters = koffi.struct({
  use_gpu: 'bool',
  flash_attn: 'bool',
  gpu_device: 'int',
  dtw_token_timestamps: 'bool',
  dtw_aheads_preset: 'int',
  dtw_n_top: 'int',
  dtw_aheads: koffi.struct({ n_heads: 'size_t', heads: pointer }),
  dtw_mem_size: 'size_t',
});

/** `whisper_full_params`. */
const runParameters = koffi.struct({
  strategy: 'int',
  n_threads: 'int',
  n_max_text_ctx: 'int',
  offset_ms: 'int',
  duration_ms: 'int',
  translate: 'bool',
  no_context: 'bool',
  no_timestamps: 'bool',
  single_segment: 'bool',
  print_special: 'bool',
  print_progress: 'bool',
  print_realtime: 'bool',
  print_timestamps: 'bool',
  token_timestamps: 'bool',
  thold_pt: 'float',
  thold_ptsum: 'float',
  max_len: 'int',
  split_on_word: 'bool',
  max_tokens: 'int',
  debug_mode: 'bool',
  audio_ctx: 'int',
  tdrz_enable: 'bool',
  suppress_regex: pointer,
  initial_prompt: text,
  carry_initial_prompt: 'bool',
  prompt_tokens: pointer,
  prompt_n_tokens: 'int',
  language: text,
  detect_language: 'bool',
  suppress_blank: 'bool',
  suppress_nst: 'bool',
  temperature: 'float',
  max_initial_ts: 'float',
  length_penalty: 'float',
  temperature_inc: 'float',
  entropy_thold: 'float',
  logprob_thold: 'float',
  no_speech_thold: 'float',
  best_of: 'int',
  beam_size: 'int',
  patience: 'float',
  new_segment_callback: pointer,
  new_segment_callback_user_data: pointer,
  progress_callback: pointer,
  progress_callback_user_data: pointer,
  encoder_begin_callback: pointer,
  encoder_begin_callback_user_data: pointer,
  abort_callback: pointer,
  abort_callback_user_data: pointer,
  logits_filter_callback: pointer,
  logits_filter_callback_user_data: pointer,
  grammar_rules: pointer,
  n_grammar_rules: 'size_t',
  i_start_rule: 'size_t',
  grammar_penalty: 'float',
  vad: 'bool',
  vad_model_path: pointer,
  vad_params: koffi.struct({
    threshold: 'float',
    min_speech_duration_ms: 'int',
    min_silence_duration_ms: 'int',
    max_speech_duration_s: 'float',
    speech_pad_ms: 'int',
    samples_overlap: 'float',
  }),
});

const greedy = 0;
/** Times of the library are in steps of 10 ms. */
const stepMs = 10;

/** whisper.cpp by FFI, from a folder with its library and those of ggml for all processors. The processor is used only. */
export async function openLibrary(folder: string, model: string): Promise<WhisperDriver> {
  const native = loadLibrary(folder);
  const context = await native.load(model);
  return {
    suppressesNonSpeech: true,
    transcribe: (samples, task, signal) => native.run(context, samples, task, signal),
    close: () => native.free(context),
  };
}

/** Throws if it is of another version. */
export function loadLibrary(folder: string) {
  // The default stacks of koffi overflow.
  koffi.config({ ...koffi.config(), sync_stack_size: 16 << 20, async_stack_size: 16 << 20, async_heap_size: 1 << 20 });
  const ggml = koffi.load(join(folder, 'libggml.so'));
  const library = koffi.load(join(folder, 'libwhisper.so'));
  const version = library.func('const char *whisper_version(void)')() as string;
  if (version !== libraryVersion) throw new Error(`whisper.cpp is of version ${version}, not ${libraryVersion}`);
  const of = (name: string, result: string, parameters: (string | ReturnType<typeof koffi.struct>)[]) =>
    library.func(name, result, parameters);
  // Picks the build for this processor.
  ggml.func('ggml_backend_load_all_from_path', 'void', [text])(folder);
  const functions = {
    defaults: of('whisper_full_default_params_by_ref', pointer, ['int']),
    freeDefaults: of('whisper_free_params', 'void', [pointer]),
    full: of('whisper_full', 'int', [pointer, runParameters, 'const float *', 'int']),
    language: of('whisper_full_lang_id', 'int', [pointer]),
    languageCode: of('whisper_lang_str', text, ['int']),
    count: of('whisper_full_n_segments', 'int', [pointer]),
    segmentText: of('whisper_full_get_segment_text', text, [pointer, 'int']),
    segmentStart: of('whisper_full_get_segment_t0', 'int64_t', [pointer, 'int']),
    segmentEnd: of('whisper_full_get_segment_t1', 'int64_t', [pointer, 'int']),
    open: of('whisper_init_from_file_with_params', pointer, [text, contextParameters]),
    contextDefaults: library.func('whisper_context_default_params', contextParameters, []),
    free: of('whisper_free', 'void', [pointer]),
  };
  // Called before each step of the computation, on its threads: a function of C that finds a byte set is all it needs.
  const isSet = koffi.load(null).symbol('strlen');

  async function load(model: string): Promise<unknown> {
    const parameters = { ...functions.contextDefaults(), use_gpu: false, flash_attn: true };
    const context = await aside(functions.open, model, parameters);
    if (!context) throw new Error('whisper.cpp cannot read the model');
    return context;
  }

  async function run(
    context: unknown,
    samples: Float32Array,
    task: WhisperTask,
    signal: AbortSignal,
  ): Promise<WhisperResult> {
    signal.throwIfAborted();
    const flag = koffi.alloc('uint8_t', 2);
    const bytes = new Uint8Array(koffi.view(flag, 2));
    bytes.fill(0);
    const abort = (): void => void bytes.fill(1, 0, 1);
    signal.addEventListener('abort', abort, { once: true });
    try {
      const failed = await aside(functions.full, context, parametersOf(task, flag), samples, samples.length);
      signal.throwIfAborted();
      if (failed !== 0) throw new Error(`whisper.cpp failed with code ${failed}`);
      return result(context);
    } finally {
      signal.removeEventListener('abort', abort);
      koffi.free(flag);
    }
  }

  function parametersOf({ words, threads, prompt, suppressNonSpeech, ...task }: WhisperTask, flag: unknown): object {
    const defaults = functions.defaults(greedy);
    try {
      return {
        ...(koffi.decode(defaults, runParameters) as object),
        print_progress: false,
        no_context: true,
        n_threads: threads,
        suppress_nst: suppressNonSpeech,
        language: task.language,
        translate: task.translate,
        temperature: task.temperature,
        initial_prompt: prompt === '' ? null : prompt,
        // A segment per token.
        ...(words ? { token_timestamps: true, max_len: 1 } : {}),
        abort_callback: isSet,
        abort_callback_user_data: flag,
      };
    } finally {
      functions.freeDefaults(defaults);
    }
  }

  function result(context: unknown): WhisperResult {
    const segments = Array.from({ length: functions.count(context) as number }, (_, index) => ({
      text: functions.segmentText(context, index) as string,
      t0: Number(functions.segmentStart(context, index)) * stepMs,
      t1: Number(functions.segmentEnd(context, index)) * stepMs,
    }));
    return { language: functions.languageCode(functions.language(context)) as string, segments };
  }

  return { library, ggml, version, load, run, free: (context: unknown) => void functions.free(context) };
}

/** On another thread. */
function aside(call: { async: (...parameters: unknown[]) => void }, ...parameters: unknown[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    call.async(...parameters, (error: Error | null, value: unknown) => (error ? reject(error) : resolve(value)));
  });
}
