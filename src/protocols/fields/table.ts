import type { EndpointFidelity, FieldFidelity, Handling, JsonSchema } from '../../core/fidelity.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, pathTo, type Read, readObject } from './readers.ts';

/** The fields of an endpoint, each declared once, for decoders (`readFields`) and documentation (`fidelityOf`). */
export interface Table {
  readonly [field: string]: Row;
}

export interface Said {
  readonly handling: Handling;
  readonly note?: string;
}

/** `read` puts the value into the record; `check` only validates a value that was sent. */
interface Row extends Partial<Said> {
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
  return { handling: 'honoured', read, ...told(note) };
}

export function approximated<Value>(read: Read<Value>, note: string): ReadRow<Value> {
  return { handling: 'approximated', read, note };
}

/** A field that is not in the record: it is read elsewhere or not at all. `check` validates or refuses what is sent. */
export function aside(handling: Handling, note?: string, check?: Read<unknown>): Said & { readonly read?: never } {
  return { handling, ...told(note), ...(check && { check }) };
}

/** Adds the schema of a field that is read elsewhere. */
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
export type Place = `${string}${'[' | '(' | ' '}${string}`;

/** Documentation of what a reader handles inside of its field. */
export function places(rows: Readonly<Record<Place, Said>>): Readonly<Record<never, never>> {
  return rows;
}

/** The kinds of content parts at a position, from the table of their readers. */
export function kindsAt(
  place: Place,
  kinds: Readonly<Record<string, Said & { readonly read: unknown }>>,
): Readonly<Record<never, never>> {
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, { handling, note }]) => [`${place}: ${kind}`, { handling, ...told(note) }]),
  );
}

export function readFields<const Declared extends Table>(
  table: Declared,
  body: JsonObject,
  path = '',
): Fields<Declared> {
  const found: Record<string, unknown> = {};
  for (const [name, { read, check }] of activeRowsOf(table)) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (read) found[name] = read(value, pathTo(path, name));
    else if (!isAbsent(value)) check?.(value, pathTo(path, name));
  }
  return found as Fields<Declared>;
}

/** The rows with a reader or a check, cached: a table is read for every request. */
const activeRows = new WeakMap<Table, readonly (readonly [name: string, row: Row])[]>();

function activeRowsOf(table: Table) {
  const known = activeRows.get(table);
  if (known) return known;
  const found = Object.entries(table).filter(([, { read, check }]) => read ?? check);
  activeRows.set(table, found);
  return found;
}

/** For the documentation, `GET /api/extra/fidelity` and the header that names ignored fields. */
export function fidelityOf(dialect: string, endpoint: string, table: Table): EndpointFidelity {
  return { dialect, endpoint, fields: rowsOf(table), schema: () => tableSchema(table) };
}

/** The JSON schema of a body. Positions inside of a field are part of its description. */
export function tableSchema(table: Table): JsonSchema {
  const rows = Object.entries(table).filter(([, { handling, inside }]) => handling !== undefined || inside);
  const places = rows.filter(([name]) => isPlace(name));
  const fields = rows.filter(([name]) => !isPlace(name));
  const fieldOf = (place: string) => /^\w+/.exec(place)?.[0];
  const insideOf = (field: string) => places.filter(([place]) => fieldOf(place) === field).map(placeText);
  const own = places.filter(([place]) => !fields.some(([field]) => fieldOf(place) === field)).map(placeText);
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

/** Only plain words: names of fields stay as they are. */
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
