type Json = Readonly<Record<string, unknown>>;

/** What a schema describes, in the notation of TypeScript. A reference is followed once on each way. */
export function shapeText(schema: Json, schemas: Json, indent = '', seen: readonly string[] = []): string {
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref ?? ''))?.[1];
  if (name !== undefined) {
    const found = schemas[name] as Json | undefined;
    return found && !seen.includes(name)
      ? shapeText(found, schemas, indent, [...seen, name])
      : (name.split('.').at(-1) ?? name);
  }
  const inner = (one: unknown, more = ''): string => shapeText(one as Json, schemas, indent + more, seen);
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

function objectText(schema: Json, inner: (one: unknown, more?: string) => string, indent: string): string {
  const required = (schema.required ?? []) as readonly string[];
  const members = Object.entries((schema.properties ?? {}) as Json).map(
    ([name, one]) =>
      `${/^[\w$]+$/.test(name) ? name : JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${inner(one, '  ')}`,
  );
  const { additionalProperties: more = true } = schema;
  if (members.length === 0 && typeof more === 'object') return `{ [name]: ${inner(more)} }`;
  if (members.length === 0) return more ? 'object' : '{}';
  const all = more ? [...members, '…'] : members;
  return `{\n${all.map((one) => `${indent}  ${one}\n`).join('')}${indent}}`;
}
