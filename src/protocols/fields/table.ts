import type { EndpointFidelity, FieldFidelity, Handling, JsonSchema } from '../../core/fidelity.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, pathTo, type Read, readObject } from './readers.ts';

/**
 * The fields of an endpoint, each declared once: how it is read and what becomes of it. The decoder gets the record that
 * `readFields` makes of it, the documentation and the headers what `fidelityOf` does.
 */
export interface Table {
  readonly [field: string]: Row;
}

export interface Said {
  readonly handling: Handling;
  readonly note?: string;
}

/** `read` gives the value a place in the record; `check` only looks at one that was sent, for fields that others read or nobody. */
interface Row extends Partial<Said> {
  readonly read?: Read<unknown>;
  readonly check?: Read<unknown>;
  /** An object with a table of its own, which is documented instead of it. */
  readonly inside?: Table;
  /** What is sent, where the one who reads it here cannot tell. */
  readonly schema?: JsonSchema;
}

export interface ReadRow<Value> extends Row {
  readonly read: Read<Value>;
}

/** What was read: exactly the fields that have a reader. */
export type Fields<Declared> = {
  readonly [Name in keyof Declared as Declared[Name] extends ReadRow<unknown> ? Name : never]: Declared[Name] extends {
    readonly read: Read<infer Value>;
  }
    ? Value
    : never;
};

export function honoured<Value>(read: Read<Value>, note?: string): ReadRow<Value> {
  return { handling: 'honoured', read, ...told(note) };
}

export function approximated<Value>(read: Read<Value>, note: string): ReadRow<Value> {
  return { handling: 'approximated', read, note };
}

/**
 * Has no place in the record: somebody else reads it, nobody does, or to look at it is all. `check` looks at it
 * where it is sent: it holds it to its type, or throws because it asks for what is not there.
 */
export function aside(handling: Handling, note?: string, check?: Read<unknown>): Said & { readonly read?: never } {
  return { handling, ...told(note), ...(check && { check }) };
}

/** Tells what a field is that somebody else reads. */
export function sentAs<Entry extends Row>(schema: JsonSchema, row: Entry): Entry {
  return { ...row, schema };
}

/** Accepted without effect. */
export function ignored(note?: string, check?: Read<unknown>) {
  return aside('ignored', note, check);
}

/** Without a check it is the whole endpoint that refuses. */
export function refused(note: string, check?: Read<unknown>) {
  return aside('refused', note, check);
}

/** Without effect on the reply, which only shows it again. */
export function shownAgain<Value>(read: Read<Value>, note: string): ReadRow<Value> {
  return { handling: 'ignored', read, note };
}

/** An object whose members are fields of their own; left out it is as good as empty. */
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

/** Something inside of a field or beside all of them: never the name of a field, as nothing reads it for the table. */
export type Place = `${string}${'[' | '(' | ' '}${string}`;

/** What is said of places that the reader of a field looks into. */
export function places(rows: Readonly<Record<Place, Said>>): Readonly<Record<never, never>> {
  return rows;
}

/** The kinds of parts that can stand at one place, from the table of their readers. */
export function kindsAt(
  place: Place,
  kinds: Readonly<Record<string, Said & { readonly read: unknown }>>,
): Readonly<Record<never, never>> {
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, { handling, note }]) => [`${place}: ${kind}`, { handling, ...told(note) }]),
  );
}

/** What the body holds, by the names of the wire. A field that is in no table is not in there. */
export function readFields<const Declared extends Table>(
  table: Declared,
  body: JsonObject,
  path = '',
): Fields<Declared> {
  const found: Record<string, unknown> = {};
  for (const { name, read, check } of looksOf(table)) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (read) found[name] = read(value, pathTo(path, name));
    else if (!isAbsent(value)) check?.(value, pathTo(path, name));
  }
  return found as Fields<Declared>;
}

interface Look {
  readonly name: string;
  readonly read: Read<unknown> | undefined;
  readonly check: Read<unknown> | undefined;
}

/** Tables are read for every request, and most of their rows want nothing of it. */
const looks = new WeakMap<Table, readonly Look[]>();

function looksOf(table: Table): readonly Look[] {
  const known = looks.get(table);
  if (known) return known;
  const found = Object.entries(table)
    .filter(([, { read, check }]) => read !== undefined || check !== undefined)
    .map(([name, { read, check }]) => ({ name, read, check }));
  looks.set(table, found);
  return found;
}

/** What the tables say, for the documentation, `GET /api/extra/fidelity` and the header that names ignored fields. */
export function fidelityOf(dialect: string, endpoint: string, table: Table): EndpointFidelity {
  return { dialect, endpoint, fields: rowsOf(table), schema: () => tableSchema(table) };
}

/** The same as a JSON schema. Whatever a field is, a place inside of it is told with it. */
export function tableSchema(table: Table): JsonSchema {
  const rows = Object.entries(table).filter(([, { handling, inside }]) => handling !== undefined || inside);
  const places = rows.filter(([name]) => isPlace(name));
  const fields = rows.filter(([name]) => !isPlace(name));
  const insideOf = (field: string) => places.filter(([place]) => /^\w+/.exec(place)?.[0] === field).map(placeText);
  const own = places.filter(([place]) => !fields.some(([field]) => /^\w+/.exec(place)?.[0] === field)).map(placeText);
  const required = fields.filter(([, { read }]) => read && !mayBeLeftOut(read)).map(([name]) => name);
  return {
    type: 'object',
    ...(own.length > 0 && { description: own.join('\n\n') }),
    properties: Object.fromEntries(fields.map(([name, row]) => [name, rowSchema(row, insideOf(name))])),
    ...(required.length > 0 && { required }),
  };
}

function rowSchema({ handling, note, inside, read, check, schema }: Row, places: readonly string[]): JsonSchema {
  if (inside) return tableSchema(inside);
  const type = schema ?? read?.schema ?? check?.schema ?? {};
  const said = [handling === 'honoured' ? '' : `${capital(handling ?? '')}.`, type.description, sentence(note)];
  const description = [said.filter(Boolean).join(' '), ...places].filter(Boolean).join('\n\n');
  return { ...type, ...(description && { description }), 'x-parley-handling': handling };
}

function placeText([place, { handling, note }]: [string, Row]): string {
  return [`\`${place}\`: ${handling}.`, sentence(note)].filter(Boolean).join(' ');
}

/** A list in a query has brackets behind its name. */
function isPlace(name: string): boolean {
  return /[[( ]/.test(name) && !/^\w+\[\]$/.test(name);
}

/** Asked of the reader itself: nobody else knows. */
function mayBeLeftOut(read: Read<unknown>): boolean {
  try {
    read(undefined, '');
    return true;
  } catch {
    return false;
  }
}

function sentence(note = ''): string {
  return note === '' || /[.!?]$/.test(note) ? capital(note) : `${capital(note)}.`;
}

/** Names of fields stay as they are. */
function capital(text: string): string {
  return /^[a-z]+( |$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

function rowsOf(table: Table, path = ''): readonly FieldFidelity[] {
  return Object.entries(table).flatMap(([name, { handling, note, inside }]) => {
    const field = pathTo(path, name);
    if (inside) return rowsOf(inside, field);
    return handling === undefined ? [] : [{ field, handling, ...told(note) }];
  });
}

function told(note: string | undefined): { readonly note?: string } {
  return note === undefined ? {} : { note };
}
