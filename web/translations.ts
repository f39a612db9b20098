import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Formats, formatsOf } from './src/languages/formats.ts';
import { languageNames, localeOf } from './src/languages/list.ts';

// What is missing or wrong in the translations of the pages: for the tests, and for `scripts/translations.mjs`.

type Text = string | ((...args: readonly unknown[]) => string);
/** The texts of all areas by their path, such as `settings.tabs.general`. */
export type Leaves = ReadonlyMap<string, Text>;

/** Loads a module by its path below `web/src`. */
type Load = (path: string) => Promise<Record<string, unknown>>;

export interface TranslationFile {
  readonly default: (formats: Formats) => Record<string, unknown>;
  /** Texts that are the same words in English. */
  readonly sameAsEnglish?: readonly string[];
}

const folder = fileURLToPath(new URL('src/translations/', import.meta.url));

/** The languages that have a file. */
export const codes: readonly string[] = Object.keys(languageNames).filter((code) =>
  readdirSync(folder).includes(`${code}.ts`),
);

/** The file of each area, and the name of its texts there. */
export const areas: ReadonlyMap<string, { readonly path: string; readonly name: string }> = new Map(
  [
    ...readFileSync(`${folder}translation.ts`, 'utf8').matchAll(
      /readonly (\w+)\?: Translated<\s*typeof import\('\.\.\/(.+?)'\)\.(\w+)\s*>/g,
    ),
  ].map(([, area = '', path = '', name = '']) => [area, { path, name }]),
);

export async function englishTexts(load: Load): Promise<Leaves> {
  const texts = await Promise.all([...areas].map(async ([area, { path, name }]) => [area, (await load(path))[name]]));
  return leavesOf(Object.fromEntries(texts));
}

export function formatsOfLanguage(code: string): Formats {
  return formatsOf(localeOf(code, []));
}

export function leavesOf(texts: unknown): Leaves {
  return new Map(leaves(texts, ''));
}

function* leaves(texts: unknown, path: string): Generator<[string, Text]> {
  if (typeof texts === 'object' && texts !== null) {
    for (const [key, inner] of Object.entries(texts)) yield* leaves(inner, path === '' ? key : `${path}.${key}`);
  } else if (texts !== undefined) yield [path, texts as Text];
}

/** Words that no language translates: names of programs, formats and companies. */
const names =
  /\b(Parley|parley-mini|OpenAI( Responses)?|Anthropic( Messages)?|Ollama|Kobold(AI|Cpp)?( Lite)?|llama\.cpp|Stable Diffusion web UI|ComfyUI|XTTS|VITS|SillyTavern|Hugging Face|ShareGPT|Markdown|JSON|MCP|GBNF|GGUF|URL|API|OpenAPI|PNG|SVG|CFG|LoRA|DRY|XTC|Mirostat|Adaptive-P|Min-P|Top-[AKP]|Top n-sigma|curl|Enter|Ctrl|Esc|Del|px|srt|qwen3 8b|OK|Q4_K_M|GB|MB|kB)\b/g;

/** What is code as a whole: commands, flags, addresses, paths, file patterns, a grammar, a schema. A sentence that begins with it is none. */
const codeOnly = /^(parley( --\w+( \d+)?)+|--\w+|https?:\/\/\S*|[/*]\S+(, \S*[/*]\S*)*|root ::= .+|\{".+\})$/;

/** Whether a text has no words of a language: code, names. */
function isNeutral(text: string): boolean {
  if (codeOnly.test(text)) return true;
  return !/\p{L}{2,}/u.test(text.replace(/--\w+|\{\{\w+\}\}|\$\{\w+\}/g, '').replace(names, ''));
}

const isFree = (text: Text): boolean => typeof text === 'string' && isNeutral(text);

export interface Problem {
  readonly path: string;
  readonly what: 'missing' | 'unused' | 'untranslated' | 'argument' | 'too long' | 'broken';
  readonly text: string;
}

/** All that is wrong with the translated texts. */
export function problemsOf(english: Leaves, translated: Leaves, sameAsEnglish: readonly string[] = []): Problem[] {
  const same = new Set(sameAsEnglish);
  const missing = missingIn(english, translated).map(([path, text]) => problem(path, 'missing', text));
  const others = [...translated].flatMap(([path, text]) => {
    const original = english.get(path);
    if (original === undefined || typeof original !== typeof text) return [problem(path, 'unused', text)];
    if (typeof text === 'string') return wrongText(path, original as string, text, same);
    return wrongFunction(path, original as Exclude<Text, string>, text);
  });
  return [...missing, ...others];
}

function missingIn(english: Leaves, translated: Leaves): [string, Text][] {
  return [...english].filter(([path, text]) => !translated.has(path) && !isFree(text));
}

const problem = (path: string, what: Problem['what'], text: Text): Problem => ({ path, what, text: sourceOf(text) });

/** As it was written: Vite names what a module imports in its own way. */
const sourceOf = (text: Text): string =>
  typeof text === 'string'
    ? text
    : String(text)
        .replace(/\(0, ?\w+\.(\w+)\)/g, '$1')
        .replace(/\s*\n\s*/g, ' ');

/** Labels; longer texts have lines to wrap into. */
const longestLabel = 24;

function wrongText(path: string, english: string, text: string, same: ReadonlySet<string>): Problem[] {
  const isLabel = english.length <= longestLabel && !/[.!?]$/.test(english);
  const limit = Math.max(2.2 * english.length, english.length + 10);
  return [
    ...(text === english && !isNeutral(english) && !same.has(english) ? [problem(path, 'untranslated', text)] : []),
    ...(isLabel && text.length > limit ? [problem(path, 'too long', text)] : []),
    ...(text.trim() === '' && english.trim() !== '' ? [problem(path, 'missing', english)] : []),
    ...placeholders(english)
      .filter((name) => !text.includes(name))
      .map((name) => problem(path, 'argument', `${name} is not in: ${text}`)),
  ];
}

/** Flags, macros and variables. */
const placeholders = (text: string): readonly string[] => text.match(/--\w+|\{\{\w+\}\}|\$\{\w+\}/g) ?? [];

type Args = readonly unknown[];
const counts = [0, 1, 2, 3, 4, 5, 6, 11, 12, 21, 22, 25, 100, 101, 1000, 1_000_000];

/** Each argument that changes the English text has to change the translated one, and texts of people stay as they are. */
function wrongFunction(path: string, english: Exclude<Text, string>, text: Exclude<Text, string>): Problem[] {
  const args = argsOf(english, text);
  const all = [args, ...counts.map((count) => args.map((arg) => (typeof arg === 'number' ? count : arg)))];
  const broken = all.filter((each) => !isBroken(said(english, each)) && !works(english, text, each));
  const lacking = args.flatMap((arg, index) => {
    const other = args.with(index, changed(arg));
    if (said(english, args) === said(english, other)) return [];
    const isShown = typeof arg === 'string' && said(english, args).includes(arg);
    const shows = isShown ? said(text, args).includes(arg) : said(text, args) !== said(text, other);
    return shows ? [] : [problem(path, 'argument', `argument ${index + 1} is not in: ${said(text, args)}`)];
  });
  return [...new Set(broken.map((each) => said(text, each)))]
    .map((result) => problem(path, 'broken', result))
    .concat(lacking);
}

function said(text: Exclude<Text, string>, args: Args): string {
  try {
    return String(text(...args));
  } catch (thrown) {
    return `NaN: ${thrown}`;
  }
}

const isBroken = (result: string): boolean => /NaN|undefined|\[object|Invalid Date/.test(result);

const marks = (result: string): number => result.split('#').length;

/** Nothing is undefined, and no number is left out of the forms of a plural. */
function works(english: Exclude<Text, string>, text: Exclude<Text, string>, args: Args): boolean {
  const result = said(text, args);
  return !isBroken(result) && marks(result) <= marks(said(english, args));
}

/** Arguments that both texts take, tried out: at runtime they have no types. Texts where they are shown, else numbers. */
function argsOf(english: Exclude<Text, string>, text: Exclude<Text, string>): Args {
  const samples = (index: number): readonly unknown[] => [`Word#${index}`, 4321, [`Word#${index}`, 'Another'], true];
  let all: Args[] = [[]];
  for (let index = 0; index < english.length; index += 1)
    all = all.flatMap((args) => samples(index).map((one) => [...args, one]));
  const possible = all.filter((args) => !isBroken(said(english, args)));
  const shown = (args: Args): number =>
    args.filter((arg, index) => typeof arg === 'string' && said(english, args) !== said(english, args.with(index, '')))
      .length;
  const numbers = (args: Args): number => args.filter((arg) => typeof arg === 'number').length;
  const sorted = possible.toSorted((a, b) => shown(b) - shown(a) || numbers(b) - numbers(a));
  return sorted.find((args) => works(english, text, args)) ?? sorted[0] ?? [];
}

function changed(arg: unknown): unknown {
  if (typeof arg === 'string') return 'Other#1';
  if (typeof arg === 'number') return 98_765;
  return Array.isArray(arg) ? ['Other#1', 'Another'] : !arg;
}

/** The missing texts as TypeScript, with the English ones in place of the translated. Lists are whole. */
export function skeletonOf(english: Leaves, translated: Leaves): string {
  const missing = missingIn(english, translated);
  const listOf = (path: string): string => path.replace(/\.\d+$/, '');
  const isList = (path: string): boolean => english.has(`${path}.0`);
  const lists = new Set(missing.map(([path]) => listOf(path)).filter(isList));
  const printed = [...english].filter(([path]) => lists.has(listOf(path)) || missing.some(([each]) => each === path));
  interface Tree {
    [key: string]: Tree | Text;
  }
  const tree: Tree = {};
  for (const [path, text] of printed) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let place = tree;
    for (const key of keys) {
      place[key] ??= {};
      place = place[key] as Tree;
    }
    place[last] = text;
  }
  const keyText = (key: string): string => (/^[a-z_$][\w$]*$/i.test(key) ? key : `'${key}'`);
  const valueText = (inner: Tree | Text, indent: string): string => {
    if (typeof inner === 'function') return sourceOf(inner);
    if (typeof inner === 'string') return JSON.stringify(inner);
    if ('0' in inner)
      return `[${Object.values(inner)
        .map((each) => valueText(each, indent))
        .join(', ')}]`;
    return `{\n${lines(inner, `${indent}  `)}${indent}}`;
  };
  const lines = (node: Tree, indent: string): string =>
    Object.entries(node)
      .map(([key, inner]) => `${indent}${keyText(key)}: ${valueText(inner, indent)},\n`)
      .join('');
  return lines(tree, '  ');
}
