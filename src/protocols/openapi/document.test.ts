import { expect, test } from 'vitest';
import { json } from '../../http/call.ts';
import { type DocumentedDialect, documentedPaths, type EndpointShape } from '../endpoint.ts';
import { honoured, ignored, optional, readText, readWhole, tableSchema } from '../fields.ts';
import * as s from '../response-schemas.ts';
import { openapiDocument, operationId } from './document.ts';

const dialect = (name: string): DocumentedDialect => ({
  name,
  title: `The ${name} API`,
  responses: async () => ({ errors: { native: s.object({ oops: s.string }) }, responses }),
  errorReply: ({ message, status }) => json({ oops: message }, status),
});
const native = dialect('native');

const endpoint = (own: Partial<EndpointShape>): EndpointShape => ({
  method: 'POST',
  match: 'ending',
  path: '/some',
  access: 'guarded',
  queued: true,
  summary: 'Does something.',
  dialect: native,
  response: 'some',
  ...own,
});

const some = { text: honoured(readText), user: ignored() };
const list = { limit: honoured(optional(readWhole), 'how many') };

const thing = s.named('Thing', s.object({ name: s.string, 'size?': s.count }));
const responses: Readonly<Record<string, s.ResponseSchema>> = {
  some: s.oneOf(s.json(s.array(thing)), s.sse(thing, '[DONE]')),
  ownErrors: s.withErrors(s.media('audio/wav'), s.object({ success: s.literal(false) })),
  refused: s.refused,
  thing: s.json(thing),
};

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly object[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, { schema: object }>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content: Readonly<Record<string, object>> }>
  >;
  readonly security: readonly object[];
}

async function documentOf(...endpoints: readonly EndpointShape[]) {
  const product = { name: 'Parley', version: '1.2.3' };
  return (await openapiDocument({ product, endpoints, engineFeatures: [] })) as {
    readonly openapi: string;
    readonly info: object;
    readonly tags: readonly object[];
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object };
  };
}

test('openapiDocument: has version, title and tags', async () => {
  const document = await documentOf(endpoint({}));
  expect(document).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Parley', version: '1.2.3' },
    tags: [{ name: 'native', description: 'The native API' }],
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  });
});

test('operation: refers to the schema of its field table', async () => {
  const { paths, components } = await documentOf(endpoint({ fields: some }));
  const operation = paths['/some']?.post;
  expect(operation?.requestBody).toEqual({
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Some' } } },
  });
  expect(components.schemas.Some).toEqual(tableSchema(some));
  expect(operation?.description).toBe('Requests wait in the queue. Also works below any path prefix.');
});

test('operation: an alias has the same body, and names its original', async () => {
  const { paths } = await documentOf(
    endpoint({ fields: some }),
    endpoint({ fields: some, path: '/other', aliasOf: '/some' }),
  );
  expect(paths['/other']?.post).toMatchObject({ 'x-parley-alias-of': '/some' });
  expect(paths['/other']?.post?.requestBody?.content['application/json']?.schema).toEqual({
    $ref: '#/components/schemas/Some',
  });
});

test('operation: a body without a table is an object', async () => {
  const { paths } = await documentOf(endpoint({ path: '/unknown' }));
  expect(paths['/unknown']?.post?.requestBody).toEqual({
    required: false,
    content: { 'application/json': { schema: { type: 'object' } } },
  });
});

test('operation: an endpoint with forms has multipart/form-data', async () => {
  const { paths } = await documentOf(endpoint({ form: {} }));
  expect(Object.keys(paths['/some']?.post?.requestBody?.content ?? {})).toEqual([
    'application/json',
    'multipart/form-data',
  ]);
});

test('operation: GET has query parameters, and path segments are parameters', async () => {
  const get = { method: 'GET', queued: false } as const;
  const { paths, components } = await documentOf(
    endpoint({ ...get, path: '/list', fields: list }),
    endpoint({ ...get, path: '/v1/models/', match: 'prefix', below: { '{id}': {} } }),
  );
  expect(paths['/list']?.get?.parameters).toEqual([
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'How many.',
      schema: { type: 'integer', 'x-parley-handling': 'honoured' },
    },
  ]);
  expect(paths['/list']?.get).not.toHaveProperty('requestBody');
  expect(components.schemas).not.toHaveProperty('List');
  expect(paths['/v1/models/{id}']?.get?.parameters).toEqual([
    { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
  ]);
});

test('operation: errors are those of the dialect, 401 only for guarded endpoints', async () => {
  const { paths } = await documentOf(
    endpoint({}),
    endpoint({ path: '/open', response: 'undeclared', access: 'open', queued: false, method: 'GET' }),
  );
  const operation = paths['/some']?.post;
  const schema = { $ref: '#/components/schemas/Answer.error_native' };
  expect(Object.keys(operation?.responses ?? {})).toEqual(['200', '400', '401', '503', 'default']);
  expect(operation?.responses[401]?.content).toEqual({
    'application/json': { schema, example: { oops: 'Authentication key is missing or invalid.' } },
  });
  expect(operation?.responses.default?.content).toEqual({ 'application/json': { schema } });
  expect(operation?.security).toEqual([{ key: [] }, {}]);
  expect(Object.keys(paths['/open']?.get?.responses ?? {})).toEqual(['default']);
  expect(paths['/open']?.get?.security).toEqual([{}]);
});

test('operation: has the schemas of its answers; named ones are components', async () => {
  const { paths, components } = await documentOf(endpoint({}));
  const reference = { $ref: '#/components/schemas/Answer.Thing' };
  expect(paths['/some']?.post?.responses[200]?.content).toEqual({
    'application/json': { schema: { $ref: '#/components/schemas/Answer.post_some' } },
    'text/event-stream': { schema: { type: 'string' }, 'x-stream-event': reference, 'x-stream-end': '[DONE]' },
  });
  expect(components.schemas['Answer.post_some']).toEqual({ title: 'post_some', type: 'array', items: reference });
  expect(components.schemas['Answer.Thing']).toEqual({
    title: 'Thing',
    type: 'object',
    properties: { name: { type: 'string' }, size: { type: 'integer', minimum: 0 } },
    required: ['name'],
    additionalProperties: false,
  });
});

test('operation: an alias, also below a prefix, has the answer of its original', async () => {
  const { paths } = await documentOf(
    endpoint({ path: '/other', aliasOf: '/some' }),
    endpoint({
      method: 'GET',
      path: '/models/',
      match: 'prefix',
      below: { '{id}': { response: 'thing' } },
      aliasOf: '/v1/models/',
    }),
  );
  expect(Object.keys(paths['/other']?.post?.responses[200]?.content ?? {})).toContain('text/event-stream');
  expect(paths['/models/{id}']?.get?.responses[200]?.content).toHaveProperty('application/json');
});

test('operation: has its own error bodies beside those of the dialect; a refused one has no success', async () => {
  const { paths } = await documentOf(
    endpoint({ path: '/own-errors', response: 'ownErrors' }),
    endpoint({ path: '/refused', response: 'refused' }),
  );
  const { responses } = paths['/own-errors']?.post ?? {};
  expect(responses?.default?.content['application/json']).toEqual({
    schema: s.union({ $ref: '#/components/schemas/Answer.error_native' }, s.object({ success: s.literal(false) })),
  });
  expect(responses?.[200]?.content).toEqual({
    'audio/wav': { schema: { type: 'string', contentMediaType: 'audio/wav' } },
  });
  expect(Object.keys(paths['/refused']?.post?.responses ?? {})).toEqual(['400', '401', '503', 'default']);
});

test('openapiDocument: leaves out pages', async () => {
  const { paths, tags } = await documentOf(endpoint({ dialect: dialect('pages'), path: '/page' }));
  expect(paths).toEqual({});
  expect(tags).toEqual([]);
});

test('openapiDocument: has two methods of one path', async () => {
  const { paths } = await documentOf(endpoint({}), endpoint({ method: 'GET' }));
  expect(Object.keys(paths['/some'] ?? {})).toEqual(['post', 'get']);
});

test.each([
  [{ match: 'exact', path: '/ping' }, ['/ping']],
  [{ match: 'ending', path: '/v1/models' }, ['/v1/models']],
  [{ match: 'prefix', path: '/v1/models/', below: { '{id}': {} } }, ['/v1/models/{id}']],
  [
    { match: 'prefix', path: '/v1/responses/', below: { '{id}': {}, '{id}/input_items': {} } },
    ['/v1/responses/{id}', '/v1/responses/{id}/input_items'],
  ],
  [{ match: 'prefix', path: '/else/' }, ['/else/{rest}']],
  [{ match: 'prefix', path: '/v1/messages/batches' }, ['/v1/messages/batches']],
  [{ match: 'rest', path: '/v1/' }, []],
] as const)('documentedPaths: %o has %o', (endpoint, paths) => {
  expect(documentedPaths(endpoint).map(({ path }) => path)).toEqual(paths);
});

test('operationId: is made of method and path', () => {
  expect(operationId('GET', '/v1/responses/{id}/input_items')).toBe('get_v1_responses_id_input_items');
  expect(operationId('POST', '/.well-known/serviceinfo')).toBe('post_well_known_serviceinfo');
});
