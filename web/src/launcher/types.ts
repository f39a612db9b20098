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
