import { isObject } from '../../core/json.ts';
import {
  builtInAdapters,
  type ChatAdapter,
  type ChatDefaults,
  type ChatTags,
  chatAdapter,
  fallbackAdapter,
  type Guess,
  guessList,
  guessListWithoutThinking,
} from './adapter.ts';

const tag = (name: keyof ChatTags) => ({ part: 'tags', name, type: 'string' }) as const;
const setting = (name: keyof ChatDefaults) => ({ part: 'defaults', name, type: 'number' }) as const;
/** Known, and without effect: requests for images have adapters of their own. */
const unused = (type: 'string' | 'number' | 'boolean') => ({ part: 'unused', name: '', type }) as const;

/** The keys of adapter files. */
const adapterKeys: Readonly<Record<string, ReturnType<typeof tag | typeof setting | typeof unused>>> = {
  chat_start: tag('chatStart'),
  system_start: tag('systemStart'),
  system_end: tag('systemEnd'),
  user_start: tag('userStart'),
  user_end: tag('userEnd'),
  assistant_start: tag('assistantStart'),
  assistant_end: tag('assistantEnd'),
  assistant_gen: tag('assistantGen'),
  tools_start: tag('toolsStart'),
  tools_end: tag('toolsEnd'),
  max_length: setting('maxTokens'),
  temperature: setting('temperature'),
  top_k: setting('topK'),
  top_p: setting('topP'),
  min_p: setting('minP'),
  add_sd_prompt: unused('string'),
  add_sd_negative_prompt: unused('string'),
  add_sd_step_limit: unused('number'),
  add_sd_cfg_limit: unused('number'),
  remove_limits: unused('boolean'),
  circular_x: unused('boolean'),
  circular_y: unused('boolean'),
};

class AdapterError extends Error {
  override readonly name = 'AdapterError';
}

interface LoadedAdapter {
  /** A built-in name, a file path, or `inline`. */
  readonly source: string;
  readonly choice:
    | { readonly type: 'adapter'; readonly adapter: ChatAdapter }
    | { readonly type: 'guess-list'; readonly list: readonly Guess[] };
  readonly warnings: readonly string[];
}

export const builtInGuessLists: Readonly<Record<string, readonly Guess[]>> = {
  AutoGuess: guessList,
  'AutoGuess-NoThink': guessListWithoutThinking,
};

export const builtInNames: readonly string[] = [
  ...Object.keys(builtInAdapters),
  ...Object.keys(builtInGuessLists),
].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));

/** Returns the text of a file; undefined if there is no such file. */
export type ReadFile = (path: string) => Promise<string | undefined>;

/** The value of the adapter flag: a file, else a built-in name in any case with or without `.json`, else JSON itself. */
export async function loadAdapter(value: string, readFile: ReadFile): Promise<LoadedAdapter> {
  const trimmed = value.trim();
  const looksInline = trimmed.startsWith('{') || trimmed.startsWith('[');
  const file = looksInline ? undefined : await readFile(trimmed);
  if (file !== undefined) return fromJson(trimmed, file);
  const plain = trimmed.toLowerCase().replace(/\.json$/, '');
  const name = builtInNames.find((candidate) => candidate.toLowerCase() === plain);
  if (name !== undefined) {
    const adapter = builtInAdapters[name];
    const list = builtInGuessLists[name] ?? [];
    return {
      source: name,
      choice: adapter ? { type: 'adapter', adapter } : { type: 'guess-list', list },
      warnings: [],
    };
  }
  if (looksInline) return fromJson('inline', trimmed);
  throw new AdapterError(
    `the chat adapter ${trimmed} is neither a file nor a built-in name; the built-in names are ${builtInNames.join(', ')}`,
  );
}

export interface ChosenAdapter {
  readonly adapter: ChatAdapter;
  /** The name of the recognised format. */
  readonly name: string | undefined;
  readonly consoleLine: string | undefined;
}

export const heuristicFailedLine =
  'Chat template heuristics failed to identify chat completions format. Alpaca will be used.';

/** To be called for each loaded model: a guess list depends on its template. */
export function chooseAdapter({ choice, source }: LoadedAdapter, template: string | undefined): ChosenAdapter {
  if (choice.type === 'adapter') return { adapter: choice.adapter, name: source, consoleLine: undefined };
  const guessed = guessAdapter(template, choice.list);
  if (!guessed) return { adapter: fallbackAdapter, name: undefined, consoleLine: heuristicFailedLine };
  const { adapter, name } = guessed;
  return { adapter, name, consoleLine: `Chat completion heuristic: ${name}` };
}

/** The first format all of whose search strings occur in the template. */
export function guessAdapter(template: string | undefined, list: readonly Guess[]): Guess | undefined {
  return template ? list.find(({ search }) => search.every((text) => template.includes(text))) : undefined;
}

/** An object is an adapter, a list is a guess list. */
function fromJson(source: string, text: string): LoadedAdapter {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new AdapterError(`the chat adapter ${source} is not valid JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const unknownKeys = new Set<string>();
  const choice = decodeChoice(value, unknownKeys);
  const warnings = [...unknownKeys].map((key) => `The key ${key} in the chat adapter ${source} means nothing here.`);
  return { source, choice, warnings };
}

function decodeChoice(value: unknown, unknownKeys: Set<string>): LoadedAdapter['choice'] {
  if (Array.isArray(value)) {
    return { type: 'guess-list', list: value.map((entry, index) => decodeGuess(entry, index, unknownKeys)) };
  }
  if (!isObject(value)) throw new AdapterError('a chat adapter must be a JSON object or a list of guesses');
  return { type: 'adapter', adapter: decodeAdapter(value, unknownKeys) };
}

function decodeGuess(value: unknown, index: number, unknownKeys: Set<string>): Guess {
  const entryName = `entry ${index + 1} of the guess list`;
  if (!isObject(value)) throw new AdapterError(`${entryName} must be an object with search, name and adapter`);
  const { search, name, adapter } = value;
  if (!Array.isArray(search) || search.length === 0 || !search.every((text) => typeof text === 'string')) {
    throw new AdapterError(`search in ${entryName} must be a list of strings that is not empty`);
  }
  if (typeof name !== 'string') throw new AdapterError(`name in ${entryName} must be a string`);
  if (!isObject(adapter)) throw new AdapterError(`adapter in ${entryName} must be an object`);
  return { search, name, adapter: decodeAdapter(adapter, unknownKeys) };
}

function decodeAdapter(value: Readonly<Record<string, unknown>>, unknownKeys: Set<string>): ChatAdapter {
  const fields: Record<'tags' | 'defaults' | 'unused', Record<string, unknown>> = {
    tags: {},
    defaults: {},
    unused: {},
  };
  for (const [key, entry] of Object.entries(value)) {
    const field = Object.hasOwn(adapterKeys, key) ? adapterKeys[key] : undefined;
    if (!field) {
      unknownKeys.add(key);
      continue;
    }
    const { part, name, type } = field;
    // Adapter files write switches as true or as 1.
    const setting = type === 'boolean' && typeof entry === 'number' ? entry !== 0 : entry;
    if (typeof setting !== type) throw new AdapterError(`${key} in the chat adapter must be a ${type}`);
    fields[part][name] = setting;
  }
  return chatAdapter(fields.tags, fields.defaults);
}
