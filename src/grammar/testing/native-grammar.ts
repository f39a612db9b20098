import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accepts, begins, machineOf } from './recognise.ts';

/**
 * llama.cpp's own grammar engine, to test against. A binding of the few functions that this needs, and no more. Whatever it
 * is asked, ours is asked too, and must say the same.
 */
export interface NativeGrammar {
  /** Whether the engine takes the grammar at all. */
  parses(grammar: string): boolean;
  /** Whether the engine lets a model write this text and then stop. */
  accepts(grammar: string, text: string): boolean;
  /** Whether a model may write this text, whatever comes after it. */
  begins(grammar: string, text: string): boolean;
}

const project = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const modelPath = join(project, 'models/parley-mini.gguf');
const packages: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64-vulkan',
  'linux-arm64': 'linux-arm64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
  'win32-x64': 'win-x64-vulkan',
  'win32-arm64': 'win-arm64',
};

/** The engine, or the reason why it cannot be had here. */
export function openNativeGrammar(): NativeGrammar | { readonly missing: string } {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) return { missing: `no llama.cpp package for ${process.platform}-${process.arch}` };
  const folder = join(project, 'node_modules/@node-llama-cpp', name, 'bins', name);
  if (!existsSync(folder)) return { missing: `@node-llama-cpp/${name} is not installed` };
  if (!existsSync(modelPath)) return { missing: 'models/parley-mini.gguf is missing' };
  bound ??= agreeing(bind(folder));
  return bound;
}

/** The types of the library can be declared only once in a process. */
let bound: NativeGrammar | undefined;

function agreeing(native: NativeGrammar): NativeGrammar {
  const same = (ours: boolean, theirs: boolean, grammar: string, text: string): boolean => {
    if (ours === theirs) return theirs;
    throw new Error(
      `of ${JSON.stringify(text)} ours says ${ours} and llama.cpp ${theirs}, under this grammar:\n${grammar}`,
    );
  };
  return {
    parses(grammar) {
      const parsed = native.parses(grammar);
      if (parsed) machineOf(grammar);
      return parsed;
    },
    accepts: (grammar, text) => same(accepts(machineOf(grammar), text), native.accepts(grammar, text), grammar, text),
    begins: (grammar, text) => same(begins(machineOf(grammar), text), native.begins(grammar, text), grammar, text),
  };
}

function bind(folder: string): NativeGrammar {
  const koffi = createRequire(import.meta.url)('koffi');
  const load = (pattern: RegExp) =>
    koffi.load(join(folder, readdirSync(folder).find((file) => pattern.test(file)) ?? ''));
  load(/^(lib)?ggml-base\.(so|dylib|dll)$/);
  load(/^(lib)?ggml\..*v\d.*\.(so|dylib|dll)$/);
  const llama = load(/^(lib)?llama\..*v\d.*\.(so|dylib|dll)$/);

  koffi.struct('GrammarModelParameters', {
    ...pointers('devices', 'bufferOverrides'),
    ...integers('gpuLayers', 'splitMode', 'loadMode', 'lazyMode', 'mainGpu'),
    ...pointers('tensorSplit', 'progress', 'progressData', 'metadata'),
    ...flags('vocabularyOnly', 'check', 'extraBuffers', 'noHost', 'noAllocation', 'loadDraft'),
  });
  const candidates = koffi.struct('GrammarCandidates', {
    data: 'void *',
    size: 'size_t',
    selected: 'int64',
    sorted: 'bool',
  });
  const defaults = llama.func('GrammarModelParameters llama_model_default_params(void)');
  const open = llama.func('void *llama_model_load_from_file(const char *path, GrammarModelParameters parameters)');
  const vocabularyOf = llama.func('void *llama_model_get_vocab(void *model)');
  const endToken = llama.func('int32 llama_vocab_eos(void *vocabulary)');
  const tokenize = llama.func(
    'int32 llama_tokenize(void *vocabulary, const void *text, int32 length, _Out_ int32 *tokens, int32 room, bool special, bool parse)',
  );
  const create = llama.func(
    'void *llama_sampler_init_grammar(void *vocabulary, const char *grammar, const char *root)',
  );
  const apply = llama.func('void llama_sampler_apply(void *sampler, void *candidates)');
  const accept = llama.func('void llama_sampler_accept(void *sampler, int32 token)');
  const free = llama.func('void llama_sampler_free(void *sampler)');
  // A native function of this shape that does nothing keeps the library's log off the test output.
  llama.func('void llama_log_set(void *callback, void *data)')(llama.symbol('llama_opt_param_filter_all'), null);

  const model = open(modelPath, { ...defaults(), gpuLayers: 0, vocabularyOnly: true });
  const vocabulary = vocabularyOf(model);
  const data = koffi.alloc('uint8', 12);
  const view = koffi.view(data, 12) as ArrayBuffer;
  const [ids, logits] = [new Int32Array(view, 0, 1), new Float32Array(view, 4, 1)];
  const list = koffi.alloc(candidates, 1);

  function tokensOf(text: string): Int32Array {
    const bytes = Buffer.from(text);
    const tokens = new Int32Array(bytes.length + 8);
    return tokens.subarray(0, tokenize(vocabulary, bytes, bytes.length, tokens, tokens.length, false, false));
  }
  // Accepting a token that the grammar refuses ends the process, so every token is tried first.
  function allows(sampler: unknown, token: number): boolean {
    ids[0] = token;
    logits[0] = 1;
    koffi.encode(list, candidates, { data, size: 1, selected: -1, sorted: false });
    apply(sampler, list);
    return logits[0] === 1;
  }
  function walk(grammar: string, text: string, atEnd: boolean): boolean {
    const sampler = create(vocabulary, grammar, 'root');
    if (!sampler) throw new Error(`the engine refuses this grammar:\n${grammar}`);
    try {
      for (const token of tokensOf(text)) {
        if (!allows(sampler, token)) return false;
        accept(sampler, token);
      }
      return !atEnd || allows(sampler, endToken(vocabulary));
    } finally {
      free(sampler);
    }
  }
  return {
    parses(grammar) {
      const sampler = create(vocabulary, grammar, 'root');
      if (sampler) free(sampler);
      return Boolean(sampler);
    },
    accepts: (grammar, text) => walk(grammar, text, true),
    begins: (grammar, text) => walk(grammar, text, false),
  };
}

function pointers(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, 'void *']));
}

function integers(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, 'int32']));
}

function flags(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, 'bool']));
}
