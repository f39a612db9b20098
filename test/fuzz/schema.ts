/** A JSON schema, as far as the OpenAPI document of the server goes. */
export type Schema = Readonly<Record<string, unknown>>;

/** Finds the schema that a `$ref` names. */
export type Resolve = (reference: string) => Schema;

type Check = (value: unknown, argument: never, schema: Schema, resolve: Resolve) => string | undefined;

const typeChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

/** Descriptions, and keywords of requests only. */
const silent = ['title', 'description', 'default', 'contentMediaType', 'required', 'x-parley-handling'];

const checks: Readonly<Record<string, Check>> = {
  type: (value, type: string | readonly string[]) =>
    [type].flat().some((one) => typeChecks[one]?.(value)) ? undefined : `is not ${[type].flat().join(' or ')}`,
  const: (value, expected: unknown) => (value === expected ? undefined : `is not ${JSON.stringify(expected)}`),
  enum: (value, expected: readonly unknown[]) =>
    expected.includes(value) ? undefined : `is none of ${JSON.stringify(expected)}`,
  minimum: (value, min: number) => (typeof value === 'number' && value < min ? `is below ${min}` : undefined),
  maximum: (value, max: number) => (typeof value === 'number' && value > max ? `is above ${max}` : undefined),
  minLength: (value, min: number) =>
    typeof value === 'string' && value.length < min ? `is shorter than ${min}` : undefined,
  maxLength: (value, max: number) =>
    typeof value === 'string' && value.length > max ? `is longer than ${max}` : undefined,
  minItems: (value, min: number) =>
    Array.isArray(value) && value.length < min ? `has fewer than ${min} entries` : undefined,
  maxItems: (value, max: number) =>
    Array.isArray(value) && value.length > max ? `has more than ${max} entries` : undefined,
  format: (value, format: string) =>
    format === 'date-time' && !/^\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(String(value))
      ? 'is not a date and time'
      : undefined,
  contentEncoding: (value) =>
    typeof value === 'string' && !/^[A-Za-z0-9+/]*={0,2}$/.test(value) ? 'is not base64' : undefined,
  items: (value, items: Schema, _, resolve) =>
    Array.isArray(value)
      ? firstOf(value.map((entry, index) => () => inside(`[${index}]`, faultOf(entry, items, resolve))))
      : undefined,
  properties: (value, properties: Readonly<Record<string, Schema>>, schema, resolve) => {
    if (!isObject(value)) return undefined;
    const missing = ((schema.required ?? []) as readonly string[]).find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) return `has no ${missing}`;
    const present = Object.entries(properties).filter(([name]) => Object.hasOwn(value, name));
    return firstOf(
      present.map(
        ([name, one]) =>
          () =>
            inside(`.${name}`, faultOf(value[name], one, resolve)),
      ),
    );
  },
  additionalProperties: (value, more: Schema | false, schema, resolve) => {
    if (!isObject(value)) return undefined;
    const known = (schema.properties ?? {}) as object;
    const others = Object.keys(value).filter((name) => !Object.hasOwn(known, name));
    if (more === false) return others.length > 0 ? `has the undocumented ${others.join(', ')}` : undefined;
    return firstOf(others.map((name) => () => inside(`.${name}`, faultOf(value[name], more, resolve))));
  },
  anyOf: (value, schemas: readonly Schema[], _, resolve) => {
    const faults = schemas.map((one) => faultOf(value, one, resolve));
    return faults.includes(undefined) ? undefined : `fits none of: ${faults.join(' | ')}`;
  },
  not: (value, schema: Schema, _, resolve) =>
    faultOf(value, schema, resolve) === undefined ? 'fits what it must not fit' : undefined,
  $ref: (value, reference: string, _, resolve) => faultOf(value, resolve(reference), resolve),
};

/** What is wrong with a value, and where; undefined if it fits. Throws for a keyword that is not known here. */
export function faultOf(value: unknown, schema: Schema, resolve: Resolve): string | undefined {
  const bare = schema.required && !schema.properties ? { properties: {}, ...schema } : schema;
  for (const [keyword, argument] of Object.entries(bare)) {
    const check = checks[keyword];
    if (!check && !silent.includes(keyword)) throw new Error(`The keyword ${keyword} is not known to these tests.`);
    const fault = check?.(value, argument as never, bare, resolve);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function inside(path: string, fault: string | undefined): string | undefined {
  return fault === undefined ? undefined : `${path}${/^[.[]/.test(fault) ? '' : ' '}${fault}`;
}

function firstOf(steps: readonly (() => string | undefined)[]): string | undefined {
  for (const step of steps) {
    const fault = step();
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
