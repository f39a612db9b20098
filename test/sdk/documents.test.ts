import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic, { toFile as anthropicFile } from '@anthropic-ai/sdk';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import OpenAI, { toFile } from 'openai';
import { expect, onTestFinished, test } from 'vitest';
import { memoryLibraries } from '../../src/documents/testing/memory-libraries.ts';
import { documentTools } from '../../src/documents/tool-server.ts';
import { mcpEndpoints } from '../../src/protocols/mcp/routes.ts';
import { messagesFileEndpoints } from '../../src/protocols/messages/files.ts';
import { messagesEndpoints } from '../../src/protocols/messages/routes.ts';
import { documentEndpoints } from '../../src/protocols/native/documents.ts';
import { fileEndpoints } from '../../src/protocols/openai/files.ts';
import { vectorStoreEndpoints } from '../../src/protocols/openai/vector-stores/routes.ts';
import { responseState } from '../../src/protocols/responses/background.ts';
import { responsesEndpoints } from '../../src/protocols/responses/routes.ts';
import { bindAll } from '../../src/protocols/testing/bind.ts';
import { chatmlWithTools, type Scripts, said, sdkWorld } from '../../src/protocols/testing/sdk-world.ts';
import { fileServices, openFiles } from '../../src/server/file-services.ts';

// The official clients with files on the disk and collections of documents. The model is scripted.

async function world(scripts: Scripts = said('Hi')) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-sdk-documents-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const limits = { fileBytes: 2 ** 20, allBytes: 2 ** 24 };
  const stored = openFiles({ folder, limits, now: Date.now, warn: () => undefined });
  const libraries = memoryLibraries({ folder, asksUntilIndexed: 1, files: stored.files });
  const files = fileServices(folder, { filelimit: 1 }, stored);
  const product = { name: 'Parley', version: '1' };
  const { base, asked } = await sdkWorld(
    scripts,
    (made) => {
      const parts = { ...made, ...libraries };
      return [
        ...bindAll([...fileEndpoints(files), ...messagesFileEndpoints(files)], parts),
        ...bindAll(vectorStoreEndpoints(parts), parts),
        ...bindAll(documentEndpoints({ ...libraries, fileForm: files.fileForm }), parts),
        ...bindAll(responsesEndpoints(responseState(), parts), parts),
        ...bindAll(messagesEndpoints(parts), parts),
        ...bindAll(
          mcpEndpoints({ toolsOf: (call) => documentTools({ library: libraries.documents.of(call) }), product }),
          parts,
        ),
      ];
    },
    { template: chatmlWithTools },
  );
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });
  return { base, asked, openai, anthropic: new Anthropic({ baseURL: base, apiKey: 'none', maxRetries: 0 }) };
}

const text = 'The lighthouse was built in 1871.\n\nIts keeper was Ada.';
const upload = (name: string, content = text) => toFile(Buffer.from(content), name);

test('OpenAI SDK: uploadAndPoll puts a file into a vector store, and search finds its passage', async () => {
  const { openai } = await world();
  const store = await openai.vectorStores.create({ name: 'papers' });
  const file = await openai.vectorStores.files.uploadAndPoll(store.id, await upload('tower.txt'));
  expect(file).toMatchObject({ status: 'completed', vector_store_id: store.id });
  const { data } = await openai.vectorStores.search(store.id, { query: 'keeper' });
  expect(data).toMatchObject([{ file_id: file.id, filename: 'tower.txt', content: [{ text: 'Its keeper was Ada.' }] }]);
});

test('OpenAI SDK: fileBatches.uploadAndPoll counts what failed', async () => {
  const { openai } = await world();
  const store = await openai.vectorStores.create({ name: 'papers' });
  const storedFile = await openai.files.create({ file: await upload('known.txt'), purpose: 'user_data' });
  const batch = await openai.vectorStores.fileBatches.uploadAndPoll(store.id, {
    files: [await upload('a.txt'), await upload('scan.txt', ' ')],
    fileIds: [storedFile.id],
  });
  expect(batch).toMatchObject({ status: 'completed', file_counts: { completed: 2, failed: 1, total: 3 } });
  const names: string[] = [];
  for await (const { id } of openai.vectorStores.files.list(store.id, { limit: 2 })) {
    names.push((await openai.files.retrieve(id)).filename);
  }
  expect(names.sort()).toEqual(['a.txt', 'known.txt', 'scan.txt']);
});

test('OpenAI SDK: a streamed response searches files, and cites the one that was uploaded', async () => {
  const call = '<tool_call>{"name": "file_search", "arguments": {"query": "keeper"}}</tool_call>';
  const { openai } = await world([said(call), said('It was Ada [', '1] [5].')]);
  const store = await openai.vectorStores.create({ name: 'papers' });
  const file = await openai.vectorStores.files.uploadAndPoll(store.id, await upload('tower.txt'));
  const stream = openai.responses.stream({
    model: 'any',
    input: 'Who was the keeper?',
    tools: [{ type: 'file_search', vector_store_ids: [store.id] }],
    include: ['file_search_call.results'],
  });
  const { output, output_text } = await stream.finalResponse();
  expect(output_text).toBe('It was Ada [1].');
  expect(output).toMatchObject([
    { type: 'file_search_call', queries: ['keeper'], results: [{ file_id: file.id, text: 'Its keeper was Ada.' }] },
    { content: [{ annotations: [{ type: 'file_citation', file_id: file.id, filename: 'tower.txt', index: 14 }] }] },
  ]);
});

test('Anthropic SDK: an uploaded file is a document that a stream cites', async () => {
  const { anthropic } = await world(said('It was Ada [1].'));
  const file = await anthropic.files.upload({ file: await anthropicFile(Buffer.from(text), 'tower.txt') });
  const stream = anthropic.messages.stream({
    model: 'any',
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'document', source: { type: 'file', file_id: file.id }, citations: { enabled: true } } as never,
          { type: 'text', text: 'Who was the keeper?' },
        ],
      },
    ],
  });
  const { content } = await stream.finalMessage();
  expect(content).toMatchObject([
    {
      type: 'text',
      text: 'It was Ada.',
      citations: [{ type: 'char_location', document_index: 0, document_title: 'tower.txt', cited_text: text }],
    },
  ]);
});

test('documents: curl, the OpenAI SDK and an MCP client find the same passage', async () => {
  const { base, openai } = await world();
  const root = `${base}/api/extra/documents`;
  const post = async (path: string, body: object | FormData) => {
    const isForm = body instanceof FormData;
    const reply = await fetch(`${root}${path}`, { method: 'POST', body: isForm ? body : JSON.stringify(body) });
    return (await reply.json()) as { id: string; files: { name: string }[]; results: unknown };
  };
  const { id } = await post('', { name: 'papers' });
  const form = new FormData();
  form.append('file', new Blob([text]), 'tower.txt');
  form.append('file', new Blob(['Nothing of that.']), 'other.txt');
  const { files } = await post('/papers/files', form);
  // They are stored beside each other.
  expect(files.map(({ name }) => name).sort()).toEqual(['other.txt', 'tower.txt']);
  for await (const file of openai.vectorStores.files.list(id)) {
    await openai.vectorStores.files.poll(id, file.id);
  }
  const own = await post('/search', { query: 'keeper', limit: 1 });
  const { data } = await openai.vectorStores.search(id, { query: 'keeper', max_num_results: 1 });
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`)));
  const { structuredContent } = await client.callTool({
    name: 'search_documents',
    arguments: { query: 'keeper', limit: 1 },
  });
  const passage = 'Its keeper was Ada.';
  expect(own.results).toMatchObject([{ text: passage }]);
  expect(data[0]?.content).toEqual([{ type: 'text', text: passage }]);
  expect(structuredContent).toMatchObject({ results: [{ text: passage }] });
});
