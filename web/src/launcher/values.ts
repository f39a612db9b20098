import { number } from '../languages/index.ts';

/** Types of the launcher's responses, as the server defines them. */
export type Value = boolean | number | string | null | readonly (string | number)[] | Readonly<Record<string, unknown>>;
export type Values = Record<string, Value>;

export interface Shape {
  readonly type: 'switch' | 'integer' | 'number' | 'text' | 'choice' | 'json' | 'list';
  readonly default: Value;
  readonly min?: number;
  readonly max?: number;
  readonly only?: readonly number[];
  readonly choices?: readonly string[];
  readonly holds?: 'file' | 'folder' | 'json';
  readonly secret?: true;
  readonly bare?: string | number;
  readonly of?: 'text' | 'integer' | 'number' | 'choice';
  readonly least?: number;
  readonly most?: number;
}

export interface Field {
  readonly key: string;
  readonly flag: string;
  readonly label: string;
  readonly help: string;
  readonly facts: readonly string[];
  readonly available: boolean;
  readonly shape: Shape;
}

export type ServerState =
  | { readonly type: 'idle' | 'starting' | 'stopping' }
  | { readonly type: 'running'; readonly address: string }
  | { readonly type: 'ended'; readonly code: number | null };

export interface Form {
  readonly product: { readonly name: string; readonly version: string; readonly commit?: string };
  readonly tabs: readonly { readonly name: string; readonly keys: readonly string[] }[];
  readonly fields: Readonly<Record<string, Field>>;
  readonly defaults: Values;
  readonly values: Values;
  /** Engine programs of a file, which become part of the values once the person allows them. */
  readonly programs: readonly string[];
  readonly notes: readonly string[];
  readonly places: readonly string[];
  readonly home: string;
  readonly embeddedModel: string;
  readonly availableBytes: number;
  readonly state: ServerState;
  readonly engines: { readonly kinds: readonly string[]; readonly recipes: readonly Recipe[] };
}

/** A program that is known to work as an engine. */
export interface Recipe {
  readonly title: string;
  readonly program: string;
  readonly does: string;
  readonly from: string;
  readonly installed: boolean;
  readonly engine: Readonly<Record<string, unknown>>;
}

export interface Entry {
  readonly name: string;
  readonly path: string;
  readonly folder: boolean;
  readonly bytes?: number;
}

export interface Folder {
  readonly path: string;
  readonly parent?: string;
  readonly entries: readonly Entry[];
  readonly more: number;
  /** Facts of the models among the entries, by name. */
  readonly facts: Readonly<Record<string, ModelFacts>>;
}

export interface Fit {
  readonly needBytes: number;
  readonly availableBytes: number;
  readonly verdict: 'fits' | 'tight' | 'large';
  readonly contextSize: number;
  /** How many layers fit on the graphics cards. */
  readonly cards?: { readonly layers: number; readonly of: number; readonly names: string; readonly freeBytes: number };
}

export interface ModelFacts {
  readonly type: 'model' | 'damaged';
  readonly path: string;
  readonly name?: string;
  readonly program?: string;
  readonly bytes?: number;
  readonly parameters?: number;
  readonly architecture?: string;
  readonly weights?: string;
  readonly context?: number;
  readonly title?: string;
  readonly layers?: number;
  readonly reason?: string;
  readonly fit?: Fit;
}

export interface Checked {
  readonly problems: readonly string[];
  readonly notes: readonly string[];
  readonly command: readonly string[];
}

/** A value as text for a field; lists have one entry per line. */
export function shownText(value: Value): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join('\n');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The value of a field; an empty field means the default. */
export function writtenValue(shape: Shape, text: string): Value {
  if (shape.type === 'list') {
    const entries = text.split('\n').map((line) => line.trim());
    const filled = entries.filter((line) => line !== '');
    return filled.length === 0 ? shape.default : filled;
  }
  if (text.trim() === '') return shape.default;
  return text;
}

export function isDefault(shape: Shape, value: Value): boolean {
  return shownText(value) === shownText(shape.default) && Array.isArray(value) === Array.isArray(shape.default);
}

/** Number of changed settings of a tab. */
export function changedCount(
  keys: readonly string[],
  shapes: (key: string) => Shape | undefined,
  values: Values,
): number {
  return keys.filter((key) => {
    const shape = shapes(key);
    return shape !== undefined && !isDefault(shape, values[key] ?? null);
  }).length;
}

/** Flags whose list may be empty: an empty list means on, null means off. */
export function isSwitchList({ type, least }: Shape): boolean {
  return type === 'list' && least === 0;
}

export function countText(count: number): string {
  if (count >= 1e9) return `${number(count / 1e9, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} B`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(0)} M`;
  return number(count);
}

/** A shell command line; words with special characters are quoted. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w./:=@%+,…-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** The file name of a path, on any system. */
export function nameOf(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

/** Limits and default of a setting as sentences: `From 256 to 524288. Default: 16384.` */
export function factsText(facts: readonly string[]): string {
  return facts.map((fact) => `${fact.charAt(0).toUpperCase()}${fact.slice(1)}.`).join(' ');
}
