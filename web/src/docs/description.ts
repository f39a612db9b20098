import { type Fields, fieldsOf } from '../api/loose.ts';
import { containsWords } from '../ui/search.ts';

/** The parts of the OpenAPI document that the page shows. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly fields: readonly FieldRow[];
  readonly parameters: readonly Parameter[];
  /** Undefined if the request has no body. */
  readonly example: string | undefined;
  readonly takesForm: boolean;
  readonly answers: readonly Answer[];
  readonly failures: readonly { readonly status: string; readonly description: string; readonly example: string }[];
  readonly needsKey: boolean;
  /** Original path, if this is an alias. */
  readonly original: string | undefined;
}

/** A content type, and the shape of the body, of one event of a stream, or nothing for files. */
export interface Answer {
  readonly type: string;
  readonly shape: string;
}

export interface Parameter {
  readonly name: string;
  readonly location: 'path' | 'query';
  readonly required: boolean;
  readonly description: string;
}

export interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly handling: string;
  readonly description: string;
  /** Notes about nested fields. */
  readonly nested: readonly { readonly path: string; readonly handling: string; readonly note: string }[];
  readonly fallback: string | undefined;
}

export interface Group {
  readonly tag: string;
  readonly title: string;
  readonly operations: readonly Operation[];
}

export interface Described {
  readonly title: string;
  readonly version: string;
  readonly introduction: string;
  readonly groups: readonly Group[];
}

export function described(document: unknown): Described {
  const root = fieldsOf(document);
  const info = fieldsOf(root.info);
  const schemas = fieldsOf(fieldsOf(root.components).schemas);
  const operations = Object.entries(fieldsOf(root.paths)).flatMap(([path, item]) =>
    Object.entries(fieldsOf(item)).map(([method, one]) => operationOf(method, path, fieldsOf(one), schemas)),
  );
  const known = new Set(operations.map(({ method, path }) => `${method} ${path}`));
  // Some paths also answer without their version; they are aliases too.
  const marked = operations.map((one) => ({
    ...one,
    original: one.original ?? (known.has(`${one.method} /v1${one.path}`) ? `/v1${one.path}` : undefined),
  }));
  const tags = (root.tags ?? []) as readonly { name: string; description: string }[];
  return {
    title: String(info.title ?? ''),
    version: String(info.version ?? ''),
    introduction: String(info.description ?? ''),
    groups: tags.map(({ name, description }) => ({
      tag: name,
      title: description,
      operations: marked.filter(({ tag }) => tag === name),
    })),
  };
}

function operationOf(method: string, path: string, operation: Fields, schemas: Fields): Operation {
  const content = fieldsOf(fieldsOf(operation.requestBody).content);
  const body = fieldsOf(content['application/json']);
  const responses = Object.entries(fieldsOf(operation.responses));
  return {
    id: String(operation.operationId ?? `${method} ${path}`),
    method: method.toUpperCase(),
    path,
    tag: String((operation.tags as readonly unknown[] | undefined)?.[0] ?? ''),
    summary: String(operation.summary ?? ''),
    description: String(operation.description ?? ''),
    fields: rowsOf(resolved(fieldsOf(body.schema), schemas)),
    parameters: ((operation.parameters ?? []) as readonly Fields[]).map(parameterOf),
    example: operation.requestBody ? JSON.stringify(body.example ?? {}, undefined, 2) : undefined,
    takesForm: 'multipart/form-data' in content,
    answers: Object.entries(fieldsOf(fieldsOf(fieldsOf(operation.responses)['200']).content)).map(([type, one]) =>
      answerOf(type, fieldsOf(one), schemas),
    ),
    failures: responses
      .filter(([status]) => /^[45]/.test(status))
      .map(([status, one]) => failureOf(status, fieldsOf(one))),
    original: operation['x-parley-alias-of'] as string | undefined,
    needsKey: ((operation.security ?? []) as readonly Fields[]).some((one) => 'key' in one),
  };
}

function answerOf(type: string, media: Fields, schemas: Fields): Answer {
  const shown = media['x-stream-event'] ?? (type === 'application/json' ? media.schema : undefined);
  return { type, shape: shown === undefined ? '' : shapeText(fieldsOf(shown), schemas) };
}

function parameterOf(one: Fields): Parameter {
  return {
    name: String(one.name),
    location: one.in === 'path' ? 'path' : 'query',
    required: one.required === true,
    description: String(one.description ?? ''),
  };
}

function failureOf(status: string, response: Fields) {
  const [content] = Object.values(fieldsOf(response.content));
  const { example } = fieldsOf(content);
  const text = typeof example === 'string' ? example : JSON.stringify(example, undefined, 2);
  return { status, description: String(response.description ?? ''), example: text ?? '' };
}

function resolved(schema: Fields, schemas: Fields): Fields {
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref ?? ''))?.[1];
  return name === undefined ? schema : fieldsOf(schemas[name]);
}

/** The fields of an object, with nested ones by path. */
export function rowsOf(schema: Fields, before = ''): readonly FieldRow[] {
  const required = (schema.required ?? []) as readonly string[];
  return Object.entries(fieldsOf(schema.properties)).flatMap(([name, one]) => {
    const member = fieldsOf(one);
    const row: FieldRow = {
      name: before + name,
      type: typeText(member),
      required: required.includes(name),
      handling: String(member['x-parley-handling'] ?? ''),
      ...splitDescription(String(member.description ?? '')),
      fallback: member.default === undefined ? undefined : JSON.stringify(member.default),
    };
    const inside = member.type === 'object' ? rowsOf(member, `${before}${name}.`) : [];
    return row.handling === '' && inside.length > 0
      ? inside
      : [row, ...inside.filter(({ handling }) => handling !== '')];
  });
}

/** Splits a description into its own text and notes about nested fields, such as `place`: honoured. */
function splitDescription(text: string): Pick<FieldRow, 'description' | 'nested'> {
  const paragraphs = text.replace(/^(Approximated|Ignored|Refused)\.\s*/, '').split('\n\n');
  const nested = paragraphs.flatMap((paragraph) => {
    const [, path, handling, note = ''] = /^`([^`]+)`: (\w+)\.\s*(.*)$/s.exec(paragraph) ?? [];
    return path === undefined || handling === undefined ? [] : [{ path, handling, note }];
  });
  const own = paragraphs.filter((paragraph) => !/^`[^`]+`: \w+\./.test(paragraph));
  return { description: own.join('\n\n'), nested };
}

export function typeText(schema: Fields): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (Array.isArray(schema.anyOf)) return [...new Set(schema.anyOf.map((one) => typeText(fieldsOf(one))))].join(' | ');
  if (Array.isArray(schema.type)) return schema.type.join(' | ');
  if (schema.type === 'array') {
    const items = typeText(fieldsOf(schema.items));
    return items === 'any' ? 'array' : `${items.includes(' ') ? `(${items})` : items}[]`;
  }
  return typeof schema.type === 'string' ? schema.type : 'any';
}

/** Without aliases. */
export function withoutAliases(groups: readonly Group[]): readonly Group[] {
  return groups.map((group) => ({
    ...group,
    operations: group.operations.filter(({ original }) => original === undefined),
  }));
}

/** Operations that contain all words in their path, summary or field names. */
export function found(groups: readonly Group[], search: string): readonly Group[] {
  if (search.trim() === '') return groups;
  const fits = ({ method, path, summary, fields }: Operation): boolean =>
    containsWords([method, path, summary, ...fields.map(({ name }) => name)].join(' '), search);
  return groups
    .map((group) => ({ ...group, operations: group.operations.filter(fits) }))
    .filter(({ operations }) => operations.length > 0);
}

/** What a schema describes, in the notation of TypeScript. A reference is followed once on each way. */
export function shapeText(schema: Fields, schemas: Fields, indent = '', seen: readonly string[] = []): string {
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref ?? ''))?.[1];
  if (name !== undefined) {
    const referenced = schemas[name] as Fields | undefined;
    return referenced && !seen.includes(name)
      ? shapeText(referenced, schemas, indent, [...seen, name])
      : (name.split('.').at(-1) ?? name);
  }
  const inner = (one: unknown, more = ''): string => shapeText(one as Fields, schemas, indent + more, seen);
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (Array.isArray(schema.anyOf)) return [...new Set(schema.anyOf.map((one) => inner(one)))].join(' | ');
  if (schema.type === 'array') {
    const items = inner(schema.items ?? {});
    return / \| /.test(items) && !items.startsWith('{') ? `(${items})[]` : `${items}[]`;
  }
  if (schema.type === 'object') return objectText(schema, inner, indent);
  if (schema.type === 'integer') return 'number';
  return typeof schema.type === 'string' ? schema.type : 'any';
}

function objectText(schema: Fields, inner: (one: unknown, more?: string) => string, indent: string): string {
  const required = (schema.required ?? []) as readonly string[];
  const members = Object.entries((schema.properties ?? {}) as Fields).map(
    ([name, one]) =>
      `${/^[\w$]+$/.test(name) ? name : JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${inner(one, '  ')}`,
  );
  const { additionalProperties: more = true } = schema;
  if (members.length === 0 && typeof more === 'object') return `{ [name]: ${inner(more)} }`;
  if (members.length === 0) return more ? 'object' : '{}';
  const all = more ? [...members, '…'] : members;
  return `{\n${all.map((one) => `${indent}  ${one}\n`).join('')}${indent}}`;
}
