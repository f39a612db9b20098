import OpenAI, { NotFoundError } from 'openai';
import { expect, test } from 'vitest';
import { memoryLibraries } from '../../documents/testing/memory-libraries.ts';
import { ResponseStore } from '../../store/responses.ts';
import { freshFolders } from '../../store/testing/folder.ts';
import type { DialectContext } from '../dialect.ts';
import { bindAll } from '../testing/bind.ts';
import { chatmlWithTools, type Scripts, said, sdkWorld } from '../testing/sdk-world.ts';
import { responseState } from './background.ts';
import { responsesEndpoints } from './routes.ts';

const freshFolder = freshFolders();
const text = 'The lighthouse was built in 1871.\n\nIts keeper was Ada.';
const call = '<tool_call>{"name": "file_search", "arguments": {"query": "keeper lighthouse"}}</tool_call>';

async function world(scripts: Scripts) {
  const libraries = memoryLibraries({ folder: freshFolder() });
  const documents = libraries.documents.of({});
  const { id: store } = await documents.create({ name: 'papers' });
  const content = (async function* () {
    yield Buffer.from(text);
  })();
  const file = await libraries.files
    .of({})
    .add({ name: 'tower.txt', purpose: 'assistants' }, content, new AbortController().signal);
  await documents.addFiles(store, [{ file: file.id, attributes: { year: 2026 } }]);
  const responses = responseState(new ResponseStore());
  const endpoints = (parts: DialectContext) =>
    bindAll(responsesEndpoints(responses, { ...parts, ...libraries }), parts);
  const { base, asked } = await sdkWorld(scripts, endpoints, { template: chatmlWithTools });
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });
  return { client, asked, store, file: file.id };
}

const answered = [said(call), said('Ada kept it [1', '], since 1871 [2] [7].')];

test('file_search: the official client gets the item, its results and citations with their index', async () => {
  const { client, asked, store, file } = await world(answered);
  const response = await client.responses.create({
    model: 'any',
    input: 'Who kept it?',
    tools: [{ type: 'file_search', vector_store_ids: [store], max_num_results: 2 }],
    include: ['file_search_call.results'],
  });
  expect(response.output).toEqual([
    {
      id: expect.stringMatching(/^fs_/),
      type: 'file_search_call',
      status: 'completed',
      queries: ['keeper lighthouse'],
      results: [
        expect.objectContaining({ file_id: file, filename: 'tower.txt', text: 'The lighthouse was built in 1871.' }),
        {
          file_id: file,
          filename: 'tower.txt',
          score: 0.5,
          text: 'Its keeper was Ada.',
          attributes: { page: 1, heading: 'Chapter', year: 2026 },
        },
      ],
    },
    expect.objectContaining({ type: 'message' }),
  ]);
  expect(response.output_text).toBe('Ada kept it [1], since 1871 [2].');
  expect(response.output[1]).toMatchObject({
    content: [
      {
        annotations: [
          { type: 'file_citation', index: 15, file_id: file, filename: 'tower.txt' },
          { type: 'file_citation', index: 31, file_id: file, filename: 'tower.txt' },
        ],
      },
    ],
  });
  expect(asked[1]?.request.prompt).toContain('[2] tower.txt, page 1\nIts keeper was Ada.');
  expect(asked[1]?.request.prompt).not.toContain('/documents/');
});

test('file_search: a stream has its events in order, and the same output', async () => {
  const { client, store } = await world(answered);
  const stream = client.responses.stream({
    model: 'any',
    input: 'Who kept it?',
    tools: [{ type: 'file_search', vector_store_ids: [store] }],
  });
  const types: string[] = [];
  for await (const { type } of stream) if (type !== types.at(-1)) types.push(type);
  expect(types).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.file_search_call.in_progress',
    'response.file_search_call.searching',
    'response.file_search_call.completed',
    'response.output_item.done',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.annotation.added',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  const { output, output_text } = await stream.finalResponse();
  expect(output_text).toBe('Ada kept it [1], since 1871 [2].');
  expect(output[0]).toMatchObject({ type: 'file_search_call', queries: ['keeper lighthouse'], results: null });
  expect(output[1]).toMatchObject({
    content: [{ annotations: [{ type: 'file_citation' }, { type: 'file_citation' }] }],
  });
});

test('file_search: an unknown store is refused before the stream begins', async () => {
  const { client, asked } = await world([said('Hi')]);
  const tools = [{ type: 'file_search' as const, vector_store_ids: ['vs_other'] }];
  const asking = client.responses.create({ model: 'any', input: 'Hi', tools, stream: true });
  await expect(asking).rejects.toThrow(NotFoundError);
  expect(asked).toEqual([]);
});

test('file_search: it can be forced, and its item comes back with its results', async () => {
  const { client, asked, store } = await world([...answered, said('As I said: Ada [2].')]);
  const tools = [{ type: 'file_search' as const, vector_store_ids: ['papers'] }];
  const first = await client.responses.create({
    model: 'any',
    input: 'Who kept it?',
    tools,
    tool_choice: { type: 'file_search' },
    include: ['file_search_call.results'],
  });
  const second = await client.responses.create({
    model: 'any',
    input: [
      { role: 'user', content: 'Who kept it?' },
      ...(first.output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user', content: 'Again?' },
    ],
  });
  expect(asked.at(-1)?.request.prompt).toContain('[2] tower.txt\nIts keeper was Ada.');
  expect(second.output[0]).toMatchObject({
    content: [{ annotations: [{ type: 'file_citation', filename: 'tower.txt' }] }],
  });
  expect(store).toBeDefined();
});

test.each([
  [[{ type: 'file_search' }], 'vector_store_ids'],
  [[{ type: 'file_search', vector_store_ids: [] }], 'vector_store_ids'],
  [[{ type: 'file_search', vector_store_ids: ['a'], max_num_results: 51 }], 'max_num_results'],
  [[{ type: 'file_search', vector_store_ids: ['a'], filters: { type: 'x' } }], 'filters.type'],
  [
    [
      { type: 'file_search', vector_store_ids: ['a'] },
      { type: 'file_search', vector_store_ids: ['b'] },
    ],
    'tools[1]',
  ],
])('file_search: refuses %j', async (tools, field) => {
  const { client } = await world([said('Hi')]);
  const asking = client.responses.create({ model: 'any', input: 'Hi', tools: tools as OpenAI.Responses.Tool[] });
  await expect(asking).rejects.toMatchObject({ status: 400, message: expect.stringContaining(field) });
});
