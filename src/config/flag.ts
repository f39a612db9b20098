/** What one row of the flag table says. Parsing, help, docs, config files and the `Settings` type all read it. */
export type FlagDefinition = FlagText & FlagShape;

export interface FlagText {
  /** As typed, dashes included; the first is the name, the rest are aliases. */
  readonly names: readonly [string, ...string[]];
  readonly help: string;
  /** `later`: accepted, so that existing scripts start, and reported as having no effect yet. */
  readonly availability: 'ready' | 'later';
  readonly metavar?: string;
  /** How the default reads where the value itself says little. */
  readonly defaultText?: string;
  /** Variables that give the value when the command line does not; the first that is set counts. */
  readonly environment?: readonly string[];
  /** `false`: never written to a config file, and ignored in one. */
  readonly saved?: false;
}

export type FlagShape =
  | { readonly type: 'switch'; readonly default: false }
  | NumberShape
  | {
      readonly type: 'text';
      readonly default: string | null;
      readonly bare?: string;
      /** `file` must exist at the start; `json` may be an object in a config file; `json-file` is the one or the other. */
      readonly holds?: 'file' | 'folder' | 'json' | 'json-file';
      /** Of a file: what people may leave out at the end of its name. */
      readonly ending?: string;
      readonly secret?: true;
    }
  | {
      readonly type: 'choice';
      readonly default: string;
      readonly choices: readonly string[];
      /** Older spellings of the choices. */
      readonly synonyms?: Readonly<Record<string, string>>;
    }
  | { readonly type: 'json'; readonly default: null }
  | ListShape;

export interface NumberShape {
  readonly type: 'integer' | 'number';
  readonly default: number;
  readonly min?: number;
  readonly max?: number;
  /** Values outside move to the nearer end and are reported; without it they are refused. */
  readonly clamp?: true;
  readonly only?: readonly number[];
  /** The value of the flag when nothing follows it. */
  readonly bare?: number;
}

export interface ListShape {
  readonly type: 'list';
  readonly of: 'text' | 'integer' | 'number' | 'choice';
  readonly choices?: readonly string[];
  /** 0 makes the bare flag an empty list, which is not the same as a flag that was not given (`null`). */
  readonly least: number;
  readonly most?: number;
  readonly default: readonly number[] | null;
  readonly holds?: 'file';
  /** Each time that the flag is given adds to the list; otherwise the last time counts. */
  readonly repeats?: true;
}

export type FlagTable = Readonly<Record<string, FlagDefinition>>;

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export type FlagValue = boolean | number | string | null | JsonObject | readonly (string | number)[];

/** The type that a row gives to the setting. */
export type ValueOf<Definition> =
  | BaseValue<Definition>
  | (Definition extends { readonly default: null } ? null : never);

type BaseValue<Definition> = Definition extends { readonly type: 'switch' }
  ? boolean
  : Definition extends { readonly type: 'integer' | 'number' }
    ? number
    : Definition extends { readonly type: 'text' }
      ? string
      : Definition extends { readonly type: 'choice'; readonly choices: readonly (infer Choice)[] }
        ? Choice
        : Definition extends { readonly type: 'json' }
          ? JsonObject
          : Definition extends { readonly type: 'list' }
            ? ListValue<Definition>
            : never;

type ListValue<Definition> = Definition extends { readonly of: 'text'; readonly least: 2; readonly most: 2 }
  ? readonly [string, string]
  : Definition extends { readonly of: 'text' }
    ? readonly string[]
    : Definition extends { readonly of: 'choice'; readonly choices: readonly (infer Choice)[] }
      ? readonly Choice[]
      : readonly number[];
