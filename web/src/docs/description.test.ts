import { describe, expect, test } from 'vitest';
import { described, found, rowsOf, typeText, withoutAliases } from './description.ts';

const document = {
  info: { title: 'Parley', version: '1', description: 'Hello.' },
  tags: [
    { name: 'native', description: 'Native API' },
    { name: 'empty', description: 'Nothing here' },
  ],
  paths: {
    '/generate': {
      post: {
        operationId: 'post_generate',
        tags: ['native'],
        summary: 'Continue a text.',
        requestBody: {
          content: {
            'application/json': { schema: { $ref: '#/components/schemas/Generate' }, example: { prompt: 'Once' } },
            'multipart/form-data': {},
          },
        },
        responses: {
          200: {
            description: 'ok',
            content: {
              'application/json': { schema: { type: 'array', items: { type: 'string' } } },
              'text/event-stream': { schema: { type: 'string' }, 'x-stream-event': { const: 'one' } },
              'audio/wav': { schema: { type: 'string' } },
            },
          },
          default: { description: 'An error.', content: { 'application/json': {} } },
          401: { description: 'No key.', content: { 'application/json': { example: { error: 'x' } } } },
        },
        security: [{ key: [] }, {}],
      },
    },
    '/models/{id}': {
      get: {
        tags: ['native'],
        summary: 'One model.',
        parameters: [{ name: 'id', in: 'path', required: true }],
        responses: {},
        security: [{}],
      },
    },
  },
  components: {
    schemas: {
      Generate: {
        properties: {
          prompt: { type: 'string', 'x-parley-handling': 'honoured' },
          seed: { type: 'integer', default: -1, description: 'Ignored. No effect.', 'x-parley-handling': 'ignored' },
          options: { type: 'object', properties: { top: { type: 'number', 'x-parley-handling': 'approximated' } } },
        },
        required: ['prompt'],
      },
    },
  },
};

describe('described', () => {
  const { groups, title } = described(document);
  const [generate, model] = groups[0]?.operations ?? [];

  test('groups operations by tag', () => {
    expect(title).toBe('Parley');
    expect(groups.map((group) => [group.title, group.operations.length])).toEqual([
      ['Native API', 2],
      ['Nothing here', 0],
    ]);
  });

  test('describes request and responses of an operation', () => {
    expect(generate).toMatchObject({
      id: 'post_generate',
      method: 'POST',
      path: '/generate',
      takesForm: true,
      answers: [
        { type: 'application/json', shape: 'string[]' },
        { type: 'text/event-stream', shape: '"one"' },
        { type: 'audio/wav', shape: '' },
      ],
      needsKey: true,
      failures: [{ status: '401', description: 'No key.' }],
    });
    expect(JSON.parse(generate?.example ?? '')).toEqual({ prompt: 'Once' });
    expect(model).toMatchObject({
      example: undefined,
      needsKey: false,
      parameters: [{ name: 'id', location: 'path', required: true }],
    });
  });

  test('lists fields, nested ones by path', () => {
    expect(generate?.fields).toEqual([
      {
        name: 'prompt',
        type: 'string',
        required: true,
        handling: 'honoured',
        description: '',
        nested: [],
        fallback: undefined,
      },
      {
        name: 'seed',
        type: 'integer',
        required: false,
        handling: 'ignored',
        description: 'No effect.',
        nested: [],
        fallback: '-1',
      },
      {
        name: 'options.top',
        type: 'number',
        required: false,
        handling: 'approximated',
        description: '',
        nested: [],
        fallback: undefined,
      },
    ]);
  });

  test.each([null, 5, [], {}, { paths: { '/x': null } }, { paths: 7, tags: [] }])(
    '%j is read without failing',
    (odd) => {
      expect(described(odd).groups).toEqual([]);
    },
  );
});

test.each([
  [{ type: 'string' }, 'string'],
  [{ type: ['string', 'integer'] }, 'string | integer'],
  [{ enum: ['a', 'b'] }, '"a" | "b"'],
  [{ type: 'array', items: { type: 'string' } }, 'string[]'],
  [{ type: 'array', items: {} }, 'array'],
  [{ type: 'array', items: { type: ['string', 'object'] } }, '(string | object)[]'],
  [{ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }, 'string | string[]'],
  [{}, 'any'],
])('typeText: %j becomes %s', (schema, text) => {
  expect(typeText(schema)).toBe(text);
});

test('rowsOf: lists a described object before its fields', () => {
  const rows = rowsOf({
    properties: { a: { type: 'object', 'x-parley-handling': 'honoured', properties: { b: { type: 'string' } } } },
  });
  expect(rows.map(({ name }) => name)).toEqual(['a']);
});

describe('found', () => {
  const { groups } = described(document);
  const ids = (text: string) => found(groups, text).flatMap(({ operations }) => operations.map(({ path }) => path));

  test.each([
    ['', ['/generate', '/models/{id}']],
    ['gener', ['/generate']],
    ['ONE', ['/models/{id}']],
    ['seed', ['/generate']],
    ['post text', ['/generate']],
    ['nothing', []],
  ])('for %o finds %o', (text, paths) => {
    expect(ids(text)).toEqual(paths);
  });

  test('leaves out empty groups', () => {
    expect(found(groups, 'seed')).toHaveLength(1);
  });
});

test.each(['Approximated', 'Ignored', 'Refused'])('rowsOf: leaves out the handling %s before a description', (word) => {
  const [row] = rowsOf({ properties: { thread: { description: `${word}. Send all messages.` } } });
  expect(row?.description).toBe('Send all messages.');
});

test('rowsOf: separates notes about nested fields', () => {
  const [row] = rowsOf({
    properties: {
      messages: {
        description:
          'Approximated. Every role.\n\n`messages[].content[]: image`: refused. Not here.\n\n`messages[].name`: ignored.',
        'x-parley-handling': 'approximated',
      },
    },
  });
  expect(row).toMatchObject({
    description: 'Every role.',
    nested: [
      { path: 'messages[].content[]: image', handling: 'refused', note: 'Not here.' },
      { path: 'messages[].name', handling: 'ignored', note: '' },
    ],
  });
});

test('withoutAliases: removes aliases', () => {
  const alias = { '/other': { post: { tags: ['native'], 'x-parley-alias-of': '/generate' } } };
  const { groups } = described({ ...document, paths: { ...document.paths, ...alias } });
  expect(groups[0]?.operations.map(({ original }) => original)).toEqual([undefined, undefined, '/generate']);
  expect(withoutAliases(groups)[0]?.operations.map(({ path }) => path)).toEqual(['/generate', '/models/{id}']);
});

test('described: a path without its version is an alias', () => {
  const get = { tags: ['responses'], summary: 'A stored response.' };
  const { groups } = described({
    tags: [{ name: 'responses', description: 'Responses' }],
    paths: { '/v1/responses/{id}': { get }, '/responses/{id}': { get } },
  });
  expect(withoutAliases(groups)[0]?.operations.map(({ path }) => path)).toEqual(['/v1/responses/{id}']);
});
