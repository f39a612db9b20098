/** One row of the flag table. Parsing, help, docs, config files, the launcher and the `Settings` type are derived from it. */
export type FlagDefinition = FlagText & FlagShape;

/** Tabs of the launcher, in their order. */
export const tabNames = [
  'Quick Launch',
  'Hardware',
  'Context',
  'Loaded Files',
  'Network',
  'Tokens/Chat',
  'Image',
  'Audio',
  'Admin',
] as const;
export type TabName = (typeof tabNames)[number];

interface FlagText {
  /** As typed, dashes included; the first is the name, the rest are aliases. */
  readonly names: readonly [string, ...string[]];
  readonly help: string;
  /** Label in the launcher; the name of the flag by default. */
  readonly label?: string;
  /** Tab of the launcher; that of the flag's group by default. */
  readonly tab?: TabName;
  readonly metavar?: string;
  /** Description of the default where the value itself says little. */
  readonly defaultText?: string;
  /** Environment variables that set the value if the command line does not; the first that is set wins. */
  readonly environment?: readonly string[];
  /** `false`: not written to config files, and ignored in them. */
  readonly saved?: false;
  /** `server`: belongs to the running server, not to the model it serves; reloading a config does not change it. */
  readonly scope?: 'server';
  /** Accepted so that existing scripts start, and reported as not available yet. */
  readonly unsupported?: true;
}

export type DeprecatedFlag = FlagShape & {
  readonly names: FlagText['names'];
  /** What to use instead, as the end of a sentence. */
  readonly instead: string;
  /** The equivalent settings; without it the flag has no effect. */
  readonly translate?: ((value: FlagValue) => Readonly<Record<string, FlagValue>>) | undefined;
};

export type FlagShape =
  | { readonly type: 'switch'; readonly default: false }
  | NumberShape
  | TextShape
  | {
      readonly type: 'choice';
      readonly default: string;
      readonly choices: readonly string[];
      /** Older spellings of the choices. */
      readonly synonyms?: Readonly<Record<string, string>>;
    }
  | { readonly type: 'json'; readonly default: null }
  | ListShape;

interface TextShape {
  readonly type: 'text';
  readonly default: string | null;
  readonly bare?: string;
  /** `file` must exist at startup; `json` may be an object in a config file; `json-file` is either. */
  readonly holds?: 'file' | 'folder' | 'json' | 'json-file';
  /** File extension that may be omitted. */
  readonly ending?: string;
  /** Names of what needs no file. */
  readonly words?: readonly string[];
  readonly secret?: true;
}

export interface NumberShape {
  readonly type: 'integer' | 'number';
  readonly default: number;
  readonly min?: number;
  readonly max?: number;
  /** Clamp values outside the range and report it; by default they are rejected. */
  readonly clamp?: true;
  readonly only?: readonly number[];
  /** Value of the flag when none is given. */
  readonly bare?: number;
}

export interface ListShape {
  readonly type: 'list';
  readonly of: 'text' | 'integer' | 'number' | 'choice';
  readonly choices?: readonly string[];
  /** 0: the flag without values is an empty list, as opposed to `null` for a flag that is not given. */
  readonly least: number;
  readonly most?: number;
  readonly default: readonly number[] | null;
  readonly holds?: 'file';
  /** Repeating the flag appends to the list; by default the last occurrence wins. */
  readonly repeats?: true;
}

/** Options of a row besides its shape. */
interface RowOptions extends Omit<FlagText, 'names' | 'help'> {
  /** The first name; by default the key of the row with two dashes. */
  readonly name?: string;
  /** Aliases, dashes included. */
  readonly also?: readonly string[];
}

type NumberOptions = RowOptions & Omit<NumberShape, 'type' | 'default'>;
type TextOptions = RowOptions & Omit<TextShape, 'type' | 'default'>;
type ListOptions = RowOptions & Partial<Omit<ListShape, 'type' | 'of'>>;

/** Completes a row: `help` that of a current flag, `instead` that of a deprecated one. */
const row = <Row>(shape: Row) => ({
  help: (help: string) => ({ ...shape, help }),
  instead: (instead: string, translate?: DeprecatedFlag['translate']) => ({ ...shape, instead, translate }),
});

export const toggle = (options: RowOptions = {}) => row({ type: 'switch', default: false, ...options } as const);

export const integer = (metavar: string, initial: number, options: NumberOptions = {}) =>
  row({ type: 'integer', default: initial, metavar, ...options } as const);

export const number = (metavar: string, initial: number, options: NumberOptions = {}) =>
  row({ type: 'number', default: initial, metavar, ...options } as const);

export const text = <const Initial extends string | null>(
  metavar: string,
  initial: Initial,
  options: TextOptions = {},
) => row({ type: 'text', default: initial, metavar, ...options } as const);

export const file = (options: TextOptions) => text('FILE', '', { holds: 'file', ...options });

export const folder = (options: TextOptions) => text('FOLDER', '', { holds: 'folder', ...options });

/** The first choice is the default. */
export const choice = <const Choices extends readonly [string, ...string[]]>(
  choices: Choices,
  options: RowOptions & { readonly synonyms?: Readonly<Record<string, string>> },
) => row({ type: 'choice', default: choices[0] as string, choices, ...options } as const);

export const json = (options: RowOptions = {}) =>
  row({ type: 'json', default: null, metavar: 'JSON', ...options } as const);

const listDefaults = { type: 'list', least: 1, default: null } as const;

/** A list of one or more values; `least` 0 allows none. */
export const list = <const Of extends ListShape['of'], const Options extends ListOptions>(
  of: Of,
  metavar: string,
  options: Options,
) =>
  row({ ...listDefaults, of, metavar, ...options } as Omit<typeof listDefaults, keyof Options> &
    Options & { readonly of: Of });

/** Adds the names to the rows. */
export function flagTable<const Rows extends Readonly<Record<string, RowOptions & FlagShape>>>(rows: Rows) {
  const entries = Object.entries(rows).map(([key, { name = `--${key}`, also = [], ...row }]) => [
    key,
    { names: [name, ...also], ...row },
  ]);
  return Object.fromEntries(entries) as { readonly [Key in keyof Rows]: Rows[Key] & Pick<FlagText, 'names'> };
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export type FlagValue = boolean | number | string | null | JsonObject | readonly (string | number)[];

/** Type of the setting that a row defines. */
export type ValueOf<Definition extends Pick<FlagShape, 'type'>> =
  | Values<Definition>[Definition['type']]
  | (Definition extends { readonly default: null } ? null : never);

interface Values<Definition> {
  readonly switch: boolean;
  readonly integer: number;
  readonly number: number;
  readonly text: string;
  readonly json: JsonObject;
  readonly choice: Definition extends { readonly choices: readonly (infer Choice)[] } ? Choice : never;
  readonly list: ListValue<Definition>;
}

type ListValue<Definition> = Definition extends { readonly of: 'text'; readonly least: 2; readonly most: 2 }
  ? readonly [string, string]
  : Definition extends { readonly of: 'text' }
    ? readonly string[]
    : Definition extends { readonly of: 'choice'; readonly choices: readonly (infer Choice)[] }
      ? readonly Choice[]
      : readonly number[];

/** A parsed value, or what was expected, as the end of the sentence "--flag must be …". */
export type Read<Value> = ({ readonly ok: true } & Value) | { readonly ok: false; readonly expected: string };

/** A reason not to start, as one sentence. Exit code 1: wrong flags; 2: a missing file or model. */
export interface Problem {
  readonly exitCode: 1 | 2;
  readonly sentence: string;
}

export const badFlags = (sentence: string): Problem => ({ exitCode: 1, sentence });
export const missing = (sentence: string): Problem => ({ exitCode: 2, sentence });
