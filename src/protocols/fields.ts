import { attempt } from '../core/attempt.ts';
import { AppError } from '../core/errors.ts';
import { type FieldFidelity, type Handling, isSent, type JsonSchema } from '../core/fidelity.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import type { JsonObject } from '../http/body.ts';

export { isObject };

/** Reads one value of a request, or throws with its path (`messages[3].content[0].text`). Loose readers are more lenient. */
export interface Read<Value> {
  (value: unknown, path: string): Value;
  /** For the description of the API; the reader may accept more. */
  readonly schema?: JsonSchema;
}

export function reader<Value>(expected: string, is: (value: unknown) => boolean, schema: JsonSchema = {}): Read<Value> {
  return described(schema, (value, path) => {
    if (!is(value)) throw wrong(path, expected);
    return value as Value;
  });
}

export function described<Value>(schema: JsonSchema, read: Read<Value>): Read<Value> {
  return Object.assign((value: unknown, path: string) => read(value, path), { schema });
}

export const readText = reader<string>('a string', (value) => typeof value === 'string', { type: 'string' });
export const readName: Read<string> = described({ type: 'string', minLength: 1 }, (value, path) => {
  if (isAbsent(value) || value === '') throw wrong(path, 'a string that is not empty');
  return readText(value, path);
});
export const readFlag = reader<boolean>('true or false', (value) => typeof value === 'boolean', { type: 'boolean' });
export const readNumber = reader<number>('a number', (value) => typeof value === 'number', { type: 'number' });
export const readWhole: Read<number> = described({ type: 'integer' }, (value, path) =>
  wholeNumber(readNumber(value, path), path),
);
/** The whole part of any number. */
export const readTruncated: Read<number> = described({ type: 'integer' }, (value, path) =>
  Math.trunc(readNumber(value, path)),
);
export const readCount = wholeFrom(0, 'a whole number, 0 or more');
export const readPositive = wholeFrom(1, 'a whole number above 0');
const wholeNumber = reader<number>('a whole number', Number.isInteger);
export const readObject = reader<JsonObject>('an object', isObject, { type: 'object' });
export const readList = reader<readonly unknown[]>('an array', Array.isArray, { type: 'array', items: {} });

/** For values that are decoded later. */
export const anyValue: Read<unknown> = (value) => value;

export function oneOf<const Word extends string>(...values: readonly [Word, ...Word[]]): Read<Word> {
  return wordOf(values, `one of ${values.join(', ')}`);
}

/** The same with quoted words in the error. */
export function word<const Word extends string>(...values: readonly [Word, ...Word[]]): Read<Word> {
  return wordOf(values, values.map((one) => `"${one}"`).join(' or '));
}

function wordOf<Word extends string>(values: readonly Word[], expected: string): Read<Word> {
  return reader(expected, (value) => (values as readonly unknown[]).includes(value), { enum: values });
}

/** Values that are not known count as the fallback. */
export function knownOr<Word extends string>(fallback: Word, values: readonly Word[]): Read<Word> {
  return described({ enum: values, default: fallback }, (value) => values.find((one) => one === value) ?? fallback);
}

export function textList(expected: string): Read<readonly string[]> {
  const fits = (value: unknown) => Array.isArray(value) && value.every((entry) => typeof entry === 'string');
  return reader(expected, fits, { type: 'array', items: { type: 'string' } });
}

function wholeFrom(min: number, expected: string): Read<number> {
  const fits = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= min;
  return reader(expected, fits, { type: 'integer', minimum: min });
}

export function wholeBetween(min: number, max: number): Read<number> {
  const fits = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  return reader(`a whole number from ${min} to ${max}`, fits, { type: 'integer', minimum: min, maximum: max });
}

export function listOf<Value>(read: Read<Value>): Read<readonly Value[]> {
  return described({ type: 'array', items: read.schema ?? {} }, (value, path) =>
    readList(value, path).map((entry, index) => read(entry, `${path}[${index}]`)),
  );
}

type Members<Readers> = { readonly [Name in keyof Readers]: Readers[Name] extends Read<infer Value> ? Value : never };

/** An object by the readers of its members; left out, it counts as empty. */
export function objectOf<const Readers extends Readonly<Record<string, Read<unknown>>>>(
  members: Readers,
): Read<Members<Readers>> {
  const properties = Object.fromEntries(Object.entries(members).map(([name, { schema = {} }]) => [name, schema]));
  return described({ type: 'object', properties }, (value, path) => {
    const holder = isAbsent(value) ? {} : readObject(value, path);
    const values: Record<string, unknown> = {};
    for (const name of Object.keys(members)) values[name] = members[name]?.(holder[name], `${path}.${name}`);
    return values as Members<Readers>;
  });
}

/** Null counts as left out. */
export function optional<Value>(read: Read<Value>): Read<Value | undefined> {
  return described(read.schema ?? {}, (value, path) => (isAbsent(value) ? undefined : read(value, path)));
}

/** `fallback` if the field is left out, or if a loose reader found no number in it. */
export function orElse<Value>(read: Read<Value>, fallback: Value): Read<Value> {
  return described({ ...read.schema, ...shownDefault(fallback) }, (value, path) => {
    if (isAbsent(value)) return fallback;
    const result = read(value, path);
    return Number.isNaN(result) ? fallback : result;
  });
}

/** Not for lists and objects, whose read form may differ from the sent one. */
function shownDefault(fallback: unknown): JsonSchema {
  return ['boolean', 'number', 'string'].includes(typeof fallback) && fallback !== '' ? { default: fallback } : {};
}

/** One member of the object at `path`. */
export function readAt<Value>(holder: JsonObject, name: string, path: string, read: Read<Value>): Value {
  return read(holder[name], pathTo(path, name));
}

export function pathTo(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

export const optionalText = optional(readText);
export const optionalName = optional(readName);
export const optionalFlag = optional(readFlag);
export const optionalNumber = optional(readNumber);
export const optionalWhole = optional(readWhole);
export const optionalCount = optional(readCount);
export const optionalObject = optional(readObject);
export const optionalList = optional(readList);

export function wrong(path: string, expected: string): AppError<'invalid-field'> {
  return new AppError('invalid-field', { field: path, expected });
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

export function isTokenId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}

export function clamp(value: number, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.max(value, min), max);
}

/** Accepts numbers as strings, and booleans for 0 and 1. Other values become NaN, for which `orElse` has the default. */
export const looseNumber: Read<number> = described({ type: 'number' }, (value) =>
  finite(typeof value === 'string' ? numberFromText(value) : plainNumber(value)),
);

/** Limited to 32 bits; larger numbers mean "as much as there is". */
export const looseWhole: Read<number> = looseWholeWithin(-(2 ** 31), 2 ** 31 - 1);

export function looseWholeWithin(min: number, max: number): Read<number> {
  return described({ type: 'integer' }, (value) => {
    const number = finite(typeof value === 'string' ? wholeFromText(value) : plainNumber(value));
    return clamp(Math.trunc(number), min, max);
  });
}

/** Unlike numbers, invalid values are refused: no default would be right for them. */
export const looseFlag: Read<boolean> = described({ type: 'boolean' }, (value, path) => {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  const word = typeof value === 'string' ? flagWords[value.trim().toLowerCase()] : undefined;
  if (typeof word !== 'boolean') throw wrong(path, 'true or false');
  return word;
});

const flagWords: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false, '': false };

/** An array of strings, a JSON array inside a string, or one plain string. Empty entries are dropped. */
export function looseTexts(max: number): Read<readonly string[]> {
  return described({ type: 'array', items: { type: 'string' } }, (value, path) => {
    const list = typeof value === 'string' ? listFromText(value) : value;
    if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string')) {
      throw wrong(path, 'an array of strings');
    }
    const texts = list.slice(0, max).filter((entry) => entry !== '');
    return limitedTexts(path, texts);
  });
}

/** All texts of a list together: they are searched for in every reply, and in every token of the model. */
const maxCharacters = 50_000;

export function limitedTexts(path: string, texts: readonly string[]): readonly string[] {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters <= maxCharacters) return texts;
  throw wrong(path, `at most ${maxCharacters} characters, all texts together; these are ${characters}`);
}

function finite(number: number): number {
  return Number.isFinite(number) ? number : Number.NaN;
}

function plainNumber(value: unknown): number {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : Number.NaN;
}

function wholeFromText(text: string): number {
  const word = text.trim().toLowerCase();
  if (word === 'true') return 1;
  if (word === 'false') return 0;
  return /^[+-]?\d+$/.test(word) ? Number(word) : Number.NaN;
}

function numberFromText(text: string): number {
  const word = text.trim();
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word) ? Number(word) : Number.NaN;
}

function listFromText(text: string): unknown {
  // A plain phrase may begin with a bracket too.
  return (text.trimStart().startsWith('[') ? tryParseJson(text) : undefined) ?? [text];
}

export const textSchema: JsonSchema = { type: 'string' };
export const textsSchema: JsonSchema = { type: 'array', items: textSchema };
export const oneOrMoreTexts: JsonSchema = { anyOf: [textSchema, textsSchema] };
export const tokenNumbers: JsonSchema = { type: 'array', items: { type: 'integer', minimum: 0 } };
/** Texts or token numbers, one or several. */
export const promptsSchema: JsonSchema = {
  anyOf: [textSchema, textsSchema, tokenNumbers, { type: 'array', items: tokenNumbers }],
};
export const base64Schema: JsonSchema = { type: 'string', contentEncoding: 'base64' };
export const picturesSchema: JsonSchema = { type: 'array', items: base64Schema };
export const textOrNumber: JsonSchema = { type: ['string', 'integer'] };
export const objectSchema: JsonSchema = { type: 'object' };
export const objectsSchema: JsonSchema = { type: 'array', items: objectSchema };
/** `{"15496": -100}`, or pairs. */
export const biasSchema: JsonSchema = {
  anyOf: [
    { type: 'object', additionalProperties: { type: 'number' } },
    { type: 'array', items: { type: 'array' } },
  ],
};
/** The messages of a chat; their other members are documented by position. */
export const messagesSchema: JsonSchema = {
  type: 'array',
  minItems: 1,
  items: {
    type: 'object',
    properties: { role: textSchema, content: { anyOf: [textSchema, objectsSchema, { type: 'null' }] } },
    required: ['role'],
  },
};

/** The fields of an endpoint, each declared once, for decoders (`readFields`) and documentation (`fidelityOf`). */
export interface Table {
  readonly [field: string]: Row;
}

export interface FieldNote {
  readonly handling: Handling;
  readonly note?: string;
}

/** `read` puts the value into the record; `check` only validates a value that was sent. */
interface Row extends Partial<FieldNote> {
  readonly read?: Read<unknown>;
  readonly check?: Read<unknown>;
  /** The table of an object, which is documented instead of it. */
  readonly inside?: Table;
  /** For fields whose reader has no schema. */
  readonly schema?: JsonSchema;
}

export interface ReadRow<Value> extends Row {
  readonly read: Read<Value>;
}

/** The record of a table: the fields that have a reader. */
export type Fields<Declared> = {
  readonly [Name in keyof Declared as Declared[Name] extends ReadRow<unknown> ? Name : never]: Declared[Name] extends {
    readonly read: Read<infer Value>;
  }
    ? Value
    : never;
};

export function honoured<Value>(read: Read<Value>, note?: string): ReadRow<Value> {
  return { handling: 'honoured', read, ...optionalNote(note) };
}

export function approximated<Value>(read: Read<Value>, note: string): ReadRow<Value> {
  return { handling: 'approximated', read, note };
}

/** A field that is not in the record: it is read by other code or not at all. `check` validates or refuses what is sent. */
export function aside(handling: Handling, note?: string, check?: Read<unknown>): FieldNote & { readonly read?: never } {
  return { handling, ...optionalNote(note), ...(check && { check }) };
}

/** Adds the schema of a field that other code reads. */
export function withSchema<Entry extends Row>(schema: JsonSchema, row: Entry): Entry {
  return { ...row, schema };
}

export function ignored(note?: string, check?: Read<unknown>) {
  return aside('ignored', note, check);
}

/** Without a check the whole endpoint is refused. */
export function refused(note: string, check?: Read<unknown>) {
  return aside('refused', note, check);
}

/** Without effect; the reply repeats it. */
export function returnedField<Value>(read: Read<Value>, note: string): ReadRow<Value> {
  return { handling: 'ignored', read, note };
}

/** The check of a field that changes what the request means, so that it would be wrong to ignore it. */
export function unsupported(instead: string): Read<never> {
  return (_, feature) => {
    throw new AppError('unsupported', { feature, instead });
  };
}

/** An object whose members are fields; left out, it counts as empty. */
export function group<const Inside extends Table>(inside: Inside): ReadRow<Fields<Inside>> {
  return { inside, read: (value, path) => readFields(inside, isAbsent(value) ? {} : readObject(value, path), path) };
}

/** Each of these names with the same row. */
export function each<const Name extends string, Entry extends Row>(
  names: readonly Name[],
  row: Entry,
): { readonly [Field in Name]: Entry } {
  return Object.fromEntries(names.map((name) => [name, row])) as { readonly [Field in Name]: Entry };
}

/** A position inside of a field, for the documentation. Never the name of a field. */
type Position = `${string}${'[' | '(' | ' '}${string}`;

/** Documentation of what a reader handles inside of its field. */
export function positions(rows: Readonly<Record<Position, FieldNote>>): Readonly<Record<never, never>> {
  return rows;
}

/** The kinds of content parts at a position, from the table of their readers. */
export function kindsAt(
  position: Position,
  kinds: Readonly<Record<string, FieldNote>>,
): Readonly<Record<never, never>> {
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, { handling, note }]) => [`${position}: ${kind}`, aside(handling, note)]),
  );
}

export function readFields<const Declared extends Table>(table: Declared, body: JsonObject, path = '') {
  const values: Record<string, unknown> = {};
  for (const [name, { read, check }] of compiled(table).active) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (read) values[name] = read(value, pathTo(path, name));
    else if (!isAbsent(value)) check?.(value, pathTo(path, name));
  }
  return values as Fields<Declared>;
}

/** The paths of fields that were sent and have no effect. */
export function ignoredIn(table: Table, body: JsonObject): readonly string[] {
  return compiled(table).ignored.filter((path) => isSent(body, path.split('.')));
}

/** Without the members that are undefined: only those that were sent. */
export function sentMembers<Sent extends object>(sent: Sent) {
  const members = Object.entries(sent).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as { [Name in keyof Sent]?: Exclude<Sent[Name], undefined> };
}

/** The rows with a reader or a check, and the paths of ignored fields. */
interface CompiledTable {
  readonly active: readonly (readonly [name: string, row: Row])[];
  readonly ignored: readonly string[];
}

/** Cached: a table is read for every request. */
const compiledTables = new WeakMap<Table, CompiledTable>();

function compiled(table: Table): CompiledTable {
  const known = compiledTables.get(table);
  if (known) return known;
  const active = Object.entries(table).filter(([, { read, check }]) => read ?? check);
  const ignored = fidelityOf(table).filter(({ handling }) => handling === 'ignored');
  const made = { active, ignored: ignored.map(({ field }) => field) };
  compiledTables.set(table, made);
  return made;
}

/** The JSON schema of a body. Positions inside of a field are part of its description. */
export function tableSchema(table: Table): JsonSchema {
  const rows = Object.entries(table).filter(([, { handling, inside }]) => handling !== undefined || inside);
  const positions = rows.filter(([name]) => isPosition(name));
  const fields = rows.filter(([name]) => !isPosition(name));
  const fieldOf = (position: string) => /^\w+/.exec(position)?.[0];
  const insideOf = (field: string) => positions.filter(([position]) => fieldOf(position) === field).map(positionText);
  const own = positions
    .filter(([position]) => !fields.some(([field]) => fieldOf(position) === field))
    .map(positionText);
  const required = fields.filter(([, { read }]) => read && !mayBeLeftOut(read)).map(([name]) => name);
  return {
    type: 'object',
    ...(own.length > 0 && { description: own.join('\n\n') }),
    properties: Object.fromEntries(fields.map(([name, row]) => [name, rowSchema(row, insideOf(name))])),
    ...(required.length > 0 && { required }),
  };
}

function rowSchema({ handling, note, inside, read, check, schema }: Row, positions: readonly string[]): JsonSchema {
  if (inside) return tableSchema(inside);
  const type = schema ?? read?.schema ?? check?.schema ?? {};
  const parts = [handling === 'honoured' ? '' : `${capital(handling ?? '')}.`, type.description, sentence(note)];
  const description = [parts.filter(Boolean).join(' '), ...positions].filter(Boolean).join('\n\n');
  return { ...type, ...(description && { description }), 'x-parley-handling': handling };
}

function positionText([position, { handling, note }]: [string, Row]): string {
  return [`\`${position}\`: ${handling}.`, sentence(note)].filter(Boolean).join(' ');
}

/** A list in a query has brackets behind its name. */
function isPosition(name: string): boolean {
  return /[[( ]/.test(name) && !/^\w+\[\]$/.test(name);
}

function mayBeLeftOut(read: Read<unknown>): boolean {
  return attempt(() => [read(undefined, '')], undefined) !== undefined;
}

function sentence(note = ''): string {
  return note === '' || /[.!?]$/.test(note) ? capital(note) : `${capital(note)}.`;
}

/** Only plain words: names of fields stay as they are. */
function capital(text: string): string {
  return /^[a-z]+( |$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** For the documentation, `GET /api/extra/fidelity` and the header that names ignored fields. */
export function fidelityOf(table: Table, path = ''): readonly FieldFidelity[] {
  return Object.entries(table).flatMap(([name, { handling, note, inside }]) => {
    const field = pathTo(path, name);
    if (inside) return fidelityOf(inside, field);
    return handling === undefined ? [] : [{ field, handling, ...optionalNote(note) }];
  });
}

function optionalNote(note: string | undefined): { readonly note?: string } {
  return note === undefined ? {} : { note };
}
