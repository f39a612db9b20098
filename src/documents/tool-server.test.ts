import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { echoTool, playedTools, textResult } from '../core/testing/tool-servers.ts';
import { joinedToolServers, type ToolServers } from '../core/tool-servers.ts';
import { serve } from '../http/testing/world.ts';
import { mcpEndpoints } from '../protocols/mcp/routes.ts';
import { bindAll } from '../protocols/testing/bind.ts';
import { freshFolders } from '../store/testing/folder.ts';
import { memoryLibraries } from './testing/memory-libraries.ts';
import { documentTools } from './tool-server.ts';

const freshFolder = freshFolders();
const text = 'The lighthouse was built in 1871.\n\nIts keeper was Ada.';
const base = 'http://127.0.0.1:5001';

async function library() {
  const { files, documents } = memoryLibraries({ folder: freshFolder() });
  const own = documents.of({});
  const { id } = await own.create({ name: 'papers' });
  const content = (async function* () {
    yield Buffer.from(text);
  })();
  const { signal } = new AbortController();
  const file = await files.of({}).add({ name: 'tower.txt', purpose: 'assistants' }, content, signal);
  await own.addFiles(id, [{ file: file.id, attributes: { year: 2026 } }]);
  return own;
}

/** The official MCP client. */
async function connected(tools: ToolServers) {
  const product = { name: 'Parley', version: '1.2.3' };
  const { port } = await serve(bindAll(mcpEndpoints({ toolsOf: () => tools, product }), undefined));
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
  return client;
}

const said = (result: { content?: unknown }): string => (result.content as { text: string }[])[0]?.text ?? '';

test('document tools: an MCP client finds passages with their title and address', async () => {
  const client = await connected(documentTools({ library: await library(), base }));
  const { tools } = await client.listTools();
  expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
    ['search_documents', true],
    ['search', true],
    ['fetch', true],
  ]);
  const found = await client.callTool({
    name: 'search_documents',
    arguments: { query: 'keeper', collection: 'papers', limit: 1 },
  });
  expect(said(found)).toMatch(
    /^\[1\] tower\.txt, page 1\nhttp:\/\/127\.0\.0\.1:5001\/documents\/\S+\nIts keeper was Ada\.$/,
  );
  expect(found.structuredContent).toMatchObject({ results: [{ name: 'tower.txt', page: 1, score: 1 }] });
});

test('document tools: search and fetch answer with JSON in one text, as research assistants read it', async () => {
  const client = await connected(documentTools({ library: await library(), base }));
  const found = await client.callTool({ name: 'search', arguments: { query: 'keeper' } });
  const { results } = JSON.parse(said(found));
  expect(results).toEqual([
    {
      id: expect.any(String),
      title: 'tower.txt, page 1',
      url: `${base}/documents/${results[0].id}`,
      text: 'Its keeper was Ada.',
    },
  ]);
  const fetched = await client.callTool({ name: 'fetch', arguments: { id: results[0].id } });
  expect(JSON.parse(said(fetched))).toEqual({
    id: results[0].id,
    title: 'tower.txt, page 1',
    text,
    url: results[0].url,
    metadata: { year: 2026, collection: expect.any(String), file: expect.any(String) },
  });
  const uri = `parley://documents/${results[0].id}`;
  expect(await client.readResource({ uri })).toEqual({
    contents: [{ uri, mimeType: 'text/plain', text: 'Its keeper was Ada.' }],
  });
  await expect(client.readResource({ uri: 'parley://documents/x.1' })).rejects.toThrow('Resource not found');
});

test.each([
  ['fetch', { id: 'x.1' }, 'There is no document "x.1".'],
  ['fetch', {}, 'There is no document undefined.'],
  ['search', { query: ' ' }, 'query must be a text that is not empty.'],
  ['search_documents', { query: 'a', limit: 0 }, 'limit must be a number from 1 to 20.'],
  ['search_documents', { query: 'a', collection: 'b' }, 'There is no collection "b". There are: papers.'],
])('document tools: %s of %j is an error that the model reads', async (name, given, sentence) => {
  const client = await connected(documentTools({ library: await library() }));
  const result = await client.callTool({ name, arguments: given });
  expect([result.isError, said(result)]).toEqual([true, sentence]);
});

test('document tools: a chat without collections is offered none', async () => {
  const { documents } = memoryLibraries({ folder: freshFolder() });
  const own = documentTools({ library: documents.of({}), onlySearch: true });
  expect(await own.list()).toEqual([]);
  await documents.of({}).create({ name: 'papers' });
  expect((await own.list()).map(({ name }) => name)).toEqual(['search_documents']);
});

test('joinedToolServers: tools of both, and the first one wins a name', async () => {
  const first = playedTools(async () => textResult('first'), [echoTool, { ...echoTool, name: 'search' }]).servers;
  const client = await connected(joinedToolServers(first, documentTools({ library: await library() })));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['echo', 'search', 'search_documents', 'fetch']);
  expect(said(await client.callTool({ name: 'search', arguments: { query: 'keeper' } }))).toBe('first');
  expect(said(await client.callTool({ name: 'search_documents', arguments: { query: 'keeper' } }))).toContain('Ada');
});
