import { AppError } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/fidelity.ts';
import type { Dialect } from '../../http/call.ts';
import { type DocumentedDialect, documentedPaths, type EndpointShape } from '../endpoint.ts';
import { type Table, tableSchema } from '../fields.ts';
import {
  any,
  type DialectResponses,
  type MediaType,
  named,
  oneOf,
  type ResponseSchema,
  union,
} from '../response-schemas.ts';

interface DocumentOptions {
  readonly product: { readonly name: string; readonly version: string };
  readonly endpoints: readonly EndpointShape[];
  readonly engineFeatures: readonly string[];
}

/** Generated from the endpoints and their field tables. Pages are for people and not part of it. */
export async function openapiDocument({ product, endpoints, engineFeatures }: DocumentOptions): Promise<object> {
  // Those that need a header are described with the endpoint of their path.
  const described = endpoints.filter(({ dialect, header }) => dialect.name !== 'pages' && header === undefined);
  const schemas = new Map<Table, SentSchema>();
  const paths: Record<string, Record<string, object>> = {};
  const components: Record<string, JsonSchema> = {};
  const dialects = await responsesOf(described, engineFeatures);
  for (const endpoint of described) {
    const method = endpoint.method.toLowerCase();
    const others = endpoint.also?.header === undefined ? [] : documentedPaths(endpoint.also);
    for (const documented of documentedPaths(endpoint)) {
      const { path, fields, response = '' } = documented;
      const other = others.find((one) => one.path === path)?.fields;
      const table = other ? { ...other, ...fields } : fields;
      const sent = fields && table && (schemas.get(fields) ?? { name: schemaName(path), schema: tableSchema(table) });
      if (sent) schemas.set(fields, sent);
      if (sent && method !== 'get') components[sent.name] = sent.schema;
      paths[path] = {
        ...paths[path],
        [method]: {
          ...operationOf(endpoint, path, sent, dialects.get(endpoint.dialect)?.examples?.[response]),
          responses: responses(endpoint, documented, dialects, components),
        },
      };
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: product.name,
      version: product.version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: introduction,
    },
    tags: [...new Map(described.map(({ dialect }) => [dialect.name, dialect.title]))].map(([name, description]) => ({
      name,
      description,
    })),
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'Needed if the server has a password (--password).' },
      },
      schemas: components,
    },
  };
}

const introduction = `One server, every API that local-AI apps already speak.

Each field is marked supported, approximated, ignored or refused. Approximated fields say what differs. Ignored fields have no effect;
the response header \`x-parley-ignored\` lists them. A field with the value null counts as missing. Every text endpoint also accepts
the fields of \`POST /api/v1/generate\`.

A stream that is requested with the header \`x-parley-resumable: 1\` goes on when the connection is lost, and is taken up by
\`GET /api/extra/stream/{id}\` with the \`x-request-id\` of its response.`;

/** Schema of the body or query of an operation, and its name among the components. */
interface SentSchema {
  readonly name: string;
  readonly schema: JsonSchema;
}

/** `/v1/chat/completions` → `V1ChatCompletions`. */
function schemaName(path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function operationOf(
  endpoint: EndpointShape,
  path: string,
  sent: SentSchema | undefined,
  example: object | undefined,
): object {
  const { method, match, access, dialect, summary, queued, aliasOf } = endpoint;
  const parameters = [...pathParameters(path), ...(method === 'GET' && sent ? queryParameters(sent.schema) : [])];
  const notes = [queued && 'Requests wait in the queue.', match === 'ending' && 'Also works below any path prefix.'];
  const description = notes.filter(Boolean).join(' ');
  return {
    operationId: operationId(method, path),
    tags: [dialect.name],
    summary,
    ...(description && { description }),
    ...(aliasOf !== undefined && { 'x-parley-alias-of': aliasOf }),
    ...(parameters.length > 0 && { parameters }),
    ...(method === 'POST' && { requestBody: requestBody(endpoint, sent, example) }),
    // An empty entry needs no key: whether one is needed depends on how the server was started.
    security: access !== 'open' ? [{ key: [] }, {}] : [{}],
  };
}

function requestBody({ form }: EndpointShape, sent: SentSchema | undefined, example: object | undefined): object {
  const schema = sent ? { $ref: `#/components/schemas/${sent.name}` } : { type: 'object' };
  return {
    required: ((sent?.schema.required ?? []) as readonly string[]).length > 0,
    content: {
      'application/json': { schema, ...(example && { example }) },
      // Files are separate parts of a form; all else in it is text.
      ...(form && { 'multipart/form-data': { schema } }),
    },
  };
}

function pathParameters(path: string): readonly object[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  return names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters({ properties = {}, required = [] }: JsonSchema): readonly object[] {
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: (required as readonly string[]).includes(name),
      ...(description !== undefined && { description }),
      schema,
    }),
  );
}

export function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return [method.toLowerCase(), ...words].join('_');
}

type ResponsesByDialect = ReadonlyMap<DocumentedDialect, DialectResponses>;

async function responsesOf(
  endpoints: readonly EndpointShape[],
  engineFeatures: readonly string[],
): Promise<ResponsesByDialect> {
  const dialects = new Set(endpoints.flatMap(({ dialect, also }) => (also ? [dialect, also.dialect] : [dialect])));
  const entries = [...dialects].map(async (dialect) => {
    return [dialect, (await dialect.responses?.(engineFeatures)) ?? { errors: {}, responses: {} }] as const;
  });
  return new Map(await Promise.all(entries));
}

type DocumentedPath = ReturnType<typeof documentedPaths>[number];

/** The responses of an operation. Schemas are put into `components`, and referred to. */
function responses(
  endpoint: EndpointShape,
  documented: DocumentedPath,
  dialects: ResponsesByDialect,
  components: Record<string, JsonSchema>,
): object {
  const { method, dialect, also } = endpoint;
  const { path, original } = documented;
  const own = responseOf(dialect, documented, dialects);
  const other = also && responseOf(also.dialect, otherPath(also, path), dialects);
  const response = own && other ? oneOf(own, other) : own;
  const others = response?.errors ?? (also && errorOf(also.dialect, dialects));
  const error = errorOf(dialect, dialects) ?? any;
  const failure = { schema: withRefs(others ? union(error, others) : error, components) };
  const name = componentName(`${method} ${own && other ? path : original}`);
  return {
    ...(response && successes(response, name, components)),
    ...Object.fromEntries(failuresOf(endpoint).map((one) => failureOf(one, dialect, failure))),
    default: { description: 'An error.', content: { 'application/json': failure } },
  };
}

/** Of an endpoint that shares paths, by a header or by the fields of its requests. */
function otherPath(also: EndpointShape, path: string): DocumentedPath | undefined {
  return documentedPaths(also).find((one) => also.header === undefined || one.path === path);
}

function responseOf(
  dialect: DocumentedDialect,
  documented: DocumentedPath | undefined,
  dialects: ResponsesByDialect,
): ResponseSchema | undefined {
  return dialects.get(dialect)?.responses[documented?.response ?? ''];
}

function errorOf(dialect: DocumentedDialect, dialects: ResponsesByDialect): JsonSchema | undefined {
  const schema = dialects.get(dialect)?.errors[dialect.name];
  return schema && named(`error_${dialect.name}`, schema);
}

function successes(
  { content, statuses = [200] }: ResponseSchema,
  name: string,
  components: Record<string, JsonSchema>,
): object {
  const entries = Object.entries(content).map(
    ([type, media]) => [type, mediaWithRefs(media, name, components)] as const,
  );
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      status === 200
        ? { description: 'The response.', content: Object.fromEntries(entries) }
        : { description: 'Without a body.' },
    ]),
  );
}

function mediaWithRefs(media: MediaType, name: string, components: Record<string, JsonSchema>): object {
  const { schema, 'x-stream-event': event, ...rest } = media;
  return {
    schema: withRefs(isLarge(schema) ? named(name, schema) : schema, components),
    ...(event && { 'x-stream-event': withRefs(named(`${name}_event`, event), components) }),
    ...rest,
  };
}

/** Worth a component: aliases have it too. */
function isLarge(schema: JsonSchema): boolean {
  return 'properties' in schema || 'anyOf' in schema || 'items' in schema;
}

/** A schema with a title becomes a component; its prefix tells it from those of requests. */
function withRefs(schema: JsonSchema, components: Record<string, JsonSchema>): JsonSchema {
  const { title, ...rest } = schema;
  if (typeof title !== 'string') return inner(rest, components);
  const name = `Answer.${title}`;
  components[name] ??= { title, ...inner(rest, components) };
  return { $ref: `#/components/schemas/${name}` };
}

function inner(schema: JsonSchema, components: Record<string, JsonSchema>): JsonSchema {
  const each = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? withRefs(value as JsonSchema, components) : value;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'anyOf') return [keyword, (value as readonly JsonSchema[]).map(each)];
      if (keyword === 'properties') {
        return [keyword, Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, each(one)]))];
      }
      return [keyword, keyword === 'items' || keyword === 'additionalProperties' ? each(value) : value];
    }),
  );
}

function failuresOf({ method, access, queued }: EndpointShape): readonly AppError[] {
  return [
    ...(method === 'POST' ? [new AppError('invalid-field', { field: 'some_field', expected: 'a number' })] : []),
    ...(access !== 'open' ? [new AppError('unauthorized', {})] : []),
    ...(queued ? [new AppError('busy', { retryAfterSeconds: 5 })] : []),
  ];
}

/** The example is the reply of the dialect itself; some dialects change the status. */
function failureOf(error: AppError, dialect: Dialect, failure: MediaType): readonly [string, object] {
  const reply = dialect.errorReply(error);
  const body = 'body' in reply ? String(reply.body) : '';
  const content = { 'application/json': { ...failure, example: JSON.parse(body) as unknown } };
  return [String(reply.status), { description: error.message, content }];
}

/** `POST /v1/chat/completions` → `post_v1_chat_completions`. */
function componentName(operation: string): string {
  return operation
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .join('_')
    .toLowerCase();
}
