import {
  AdapterError,
  type ChatAdapter,
  type DecodedAdapter,
  decodeAdapter,
  fallbackAdapter,
  type Guess,
  turns,
} from './adapter.ts';
import { closedSeedThinking, guessList, guessListWithoutThinking } from './guess-list.ts';

/** Gives the text of a file, or `undefined` when there is none of that name. */
export type ReadFile = (path: string) => Promise<string | undefined>;

export interface LoadedAdapter {
  /** A built-in name, a file path, or `inline`. */
  readonly source: string;
  readonly choice:
    | { readonly type: 'adapter'; readonly adapter: ChatAdapter }
    | { readonly type: 'guess-list'; readonly list: readonly Guess[] };
  readonly warnings: readonly string[];
}

/** The value of the adapter flag: a file, else a built-in name in any case with or without `.json`, else JSON itself. */
export async function loadAdapter(value: string, readFile: ReadFile): Promise<LoadedAdapter> {
  const wanted = value.trim();
  const looksInline = wanted.startsWith('{') || wanted.startsWith('[');
  const file = looksInline ? undefined : await readFile(wanted);
  if (file !== undefined) return fromJson(wanted, file);
  const named = builtIn(wanted);
  if (named !== undefined) return named;
  if (looksInline) return fromJson('inline', wanted);
  throw new AdapterError(
    `the chat adapter ${wanted} is neither a file nor a built-in name; the built-in names are ${builtInNames.join(', ')}`,
  );
}

export interface ChosenAdapter {
  readonly adapter: ChatAdapter;
  /** The name of the recognised format, for those who show it. */
  readonly name: string | undefined;
  readonly consoleLine: string | undefined;
}

const heuristicLine = (name: string): string => `Chat completion heuristic: ${name}`;
export const heuristicFailedLine =
  'Chat template heuristics failed to identify chat completions format. Alpaca will be used.';

/** To be asked again whenever a model is loaded: only a guess list depends on the model's template. */
export function chooseAdapter(loaded: LoadedAdapter, template: string | undefined): ChosenAdapter {
  if (loaded.choice.type === 'adapter') {
    return { adapter: loaded.choice.adapter, name: loaded.source, consoleLine: undefined };
  }
  const guessed = guessAdapter(template, loaded.choice.list);
  return guessed
    ? { ...guessed, consoleLine: heuristicLine(guessed.name) }
    : { adapter: fallbackAdapter, name: undefined, consoleLine: heuristicFailedLine };
}

function builtIn(wanted: string): LoadedAdapter | undefined {
  const plain = wanted.toLowerCase().replace(/\.json$/, '');
  const name = builtInNames.find((candidate) => candidate.toLowerCase() === plain);
  if (name === undefined) return undefined;
  const adapter = builtInAdapters[name];
  const list = builtInGuessLists[name] ?? [];
  return {
    source: name,
    choice: adapter ? { type: 'adapter', adapter } : { type: 'guess-list', list },
    warnings: [],
  };
}

function fromJson(source: string, text: string): LoadedAdapter {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new AdapterError(`the chat adapter ${source} is not valid JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const decoded = decodeAdapter(value);
  return { source, choice: choiceOf(decoded), warnings: unknownKeyWarnings(source, decoded) };
}

function choiceOf(decoded: DecodedAdapter): LoadedAdapter['choice'] {
  return decoded.type === 'adapter'
    ? { type: 'adapter', adapter: decoded.adapter }
    : { type: 'guess-list', list: decoded.list };
}

function unknownKeyWarnings(source: string, { unknownKeys }: DecodedAdapter): readonly string[] {
  return [...new Set(unknownKeys)].map((key) => `The key ${key} in the chat adapter ${source} means nothing here.`);
}

/** Formats that a person can ask for by name and that no template leads to. */
const ownTags: Readonly<Record<string, ChatAdapter>> = {
  Alpaca: turns(['', '\n\n'], ['### Instruction:\n', '\n\n'], ['### Response:\n', '</s>\n\n']),
  'ChatML-NoThink': turns(
    ['<|im_start|>system\n', '<|im_end|>\n'],
    ['<|im_start|>user\n', '<|im_end|>\n'],
    ['<|im_start|>assistant\n<think>\n\n</think>\n', '<|im_end|>\n'],
  ),
  'GLM-4-NoThink': turns(['<|system|>\n', ''], ['<|user|>\n', '/nothink'], ['<|assistant|>\n<think></think>', '']),
  'GLM-4.7-NoThink': turns(['<|system|>\n', ''], ['<|user|>\n', '/nothink'], ['<|assistant|></think>', '']),
  'Gemma-4-Thinking': turns(
    ['<|turn>system\n', '<turn|>\n'],
    ['<|turn>user\n', '<turn|>\n'],
    ['<|turn>model\n', '<turn|>\n'],
    '<|turn>model\n<|think|><|channel>thought',
  ),
  'Llama-2-Chat': turns(['', ''], ['<s>[INST] ', ''], [' [/INST] ', ' </s>\n']),
  Metharme: turns(['<|system|>', ''], ['<|user|>', ''], ['<|model|>', '']),
  'Mistral-NonTekken': turns(['[INST] ', ''], ['[INST] ', ''], ['[/INST] ', '</s>'], '[/INST]'),
  'OpenAI-Harmony': turns(
    ['<|start|>developer<|message|>', '<|end|>'],
    ['<|start|>user<|message|>', '<|end|>'],
    [
      '<|start|>assistant<|channel|>analysis<|message|>We can answer immediately.<|end|><|start|>assistant<|channel|>final<|message|>',
      '<|end|>',
    ],
  ),
  'Seed-OSS-NoThink': turns(
    ['<seed:bos>system\n', '<seed:eos>'],
    ['<seed:bos>user\n', '<seed:eos>'],
    [closedSeedThinking, '<seed:eos>'],
  ),
  Vicuna: turns(['', '\n\n'], ['USER: ', '\n'], ['ASSISTANT: ', '</s>\n']),
};

/** Names whose tags are those of an entry of the guess list. */
const sameAsGuess: Readonly<Record<string, string>> = {
  ChatML: 'ChatML (Generic)',
  'Command-R': 'Cohere',
  DeepSeek: 'DeepSeek V2.5',
  'GLM-4': 'GLM-4',
  'Gemma-3': 'Google Gemma 3n',
  Gemma: 'Google Gemma 3n',
  'Gemma-4-26B-31B': 'Google Gemma 4 (26B and 31B)',
  'Gemma-4-E2B-E4B': 'Google Gemma 4 (E2B and E4B)',
  'Granite-4': 'Granite 4',
  Jamba: 'Jamba',
  'Llama-3': 'Llama 3.x',
  'Llama-4': 'Llama 4',
  MiniMax: 'MiniMax',
  'Mistral-Tekken': 'Mistral Tekken',
  'Phi-3': 'Phi 3.5',
  'RWKV-World': 'RWKV World',
  'Seed-OSS': 'Seed OSS',
};

export const builtInAdapters: Readonly<Record<string, ChatAdapter>> = {
  ...ownTags,
  ...Object.fromEntries(
    Object.entries(sameAsGuess).flatMap(([name, guessName]) =>
      guessList.filter((guess) => guess.name === guessName).map((guess) => [name, guess.adapter]),
    ),
  ),
};

export const builtInGuessLists: Readonly<Record<string, readonly Guess[]>> = {
  AutoGuess: guessList,
  'AutoGuess-NoThink': guessListWithoutThinking,
};

export const builtInNames: readonly string[] = [
  ...Object.keys(builtInAdapters),
  ...Object.keys(builtInGuessLists),
].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));

interface Guessed {
  readonly name: string;
  readonly adapter: ChatAdapter;
}

/** The first format whose every search string occurs in the model's template. */
export function guessAdapter(template: string | undefined, list: readonly Guess[]): Guessed | undefined {
  if (!template) return undefined;
  const found = list.find(({ search }) => search.every((text) => template.includes(text)));
  return found && { name: found.name, adapter: found.adapter };
}
