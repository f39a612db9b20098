import { type ChatAdapter, fallbackAdapter, type Guess } from './adapter.ts';
import { AdapterError, type DecodedAdapter, decodeAdapter } from './decode.ts';
import { guessAdapter } from './guess.ts';
import { builtInAdapters, builtInGuessLists, builtInNames } from './named.ts';

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
