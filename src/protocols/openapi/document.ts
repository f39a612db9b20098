import type { JsonSchema } from '../../core/fidelity.ts';
import type { DialectAnswers } from '../answers.ts';
import { documentedPaths, type EndpointShape } from '../endpoint.ts';
import { type Table, tableSchema } from '../fields.ts';
import { responsesWith } from './responses.ts';

interface DocumentParts {
  readonly product: { readonly name: string; readonly version: string };
  readonly endpoints: readonly EndpointShape[];
  readonly answers: readonly DialectAnswers[];
}

/** Generated from the endpoints and their field tables. Pages are for people and not part of it. */
export function openapiDocument({ product, endpoints, answers }: DocumentParts): object {
  // Those that need a header are described with the endpoint of their path.
  const described = endpoints.filter(({ family, header }) => family.name !== 'pages' && header === undefined);
  const schemas = new Map<Table, SentSchema>();
  const paths: Record<string, Record<string, object>> = {};
  const components: Record<string, JsonSchema> = {};
  const responses = responsesWith(answers, components);
  const examples: Readonly<Record<string, object>> = Object.assign({}, ...answers.map((one) => one.examples));
  for (const endpoint of described) {
    const method = endpoint.method.toLowerCase();
    for (const { path, fields } of documentedPaths(endpoint)) {
      const others = endpoint.also?.header === undefined ? [] : documentedPaths(endpoint.also);
      const other = others.find((one) => one.path === path)?.fields;
      const original = endpoint.aliasOf ?? path;
      const table = other ? { ...other, ...fields } : fields;
      const sent = fields && table && (schemas.get(fields) ?? { name: schemaName(path), schema: tableSchema(table) });
      if (sent) schemas.set(fields, sent);
      if (sent && method !== 'get') components[sent.name] = sent.schema;
      paths[path] = {
        ...paths[path],
        [method]: {
          ...operationOf(endpoint, path, sent, examples[`POST ${original}`]),
          responses: responses(endpoint, path, original),
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
    tags: [...new Map(described.map(({ family }) => [family.name, family.title]))].map(([name, description]) => ({
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
  const { method, match, access, family, summary, queued, aliasOf } = endpoint;
  const parameters = [...pathParameters(path), ...(method === 'GET' && sent ? queryParameters(sent.schema) : [])];
  const notes = [queued && 'Requests wait in the queue.', match === 'ending' && 'Also works below any path prefix.'];
  const description = notes.filter(Boolean).join(' ');
  return {
    operationId: operationId(method, path),
    tags: [family.name],
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
