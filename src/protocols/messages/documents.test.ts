import Anthropic, { BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { turns } from '../../chat/adapters/adapter.ts';
import { memoryLibraries } from '../../documents/testing/memory-libraries.ts';
import { freshFolders } from '../../store/testing/folder.ts';
import type { DialectContext } from '../dialect.ts';
import { bindAll } from '../testing/bind.ts';
import { type Scripts, said, sdkWorld } from '../testing/sdk-world.ts';
import { messagesEndpoints } from './routes.ts';

const freshFolder = freshFolders();
const { tags } = turns(['<system>', '</system>'], ['<user>', '</user>'], ['<assistant>', '</assistant>']);

async function world(scripts: Scripts) {
  const libraries = memoryLibraries({ folder: freshFolder() });
  const endpoints = (parts: DialectContext) => bindAll(messagesEndpoints({ ...parts, ...libraries }), parts);
  const { base, asked } = await sdkWorld(scripts, endpoints, { tags });
  const client = new Anthropic({ baseURL: base, apiKey: 'none', maxRetries: 0 });
  const upload = async (text: string, name: string): Promise<string> => {
    const content = (async function* () {
      yield Buffer.from(text);
    })();
    const signal = new AbortController().signal;
    return (await libraries.files.of({}).add({ name, purpose: 'user_data' }, content, signal)).id;
  };
  return { client, asked, upload };
}

type Block = Anthropic.ContentBlockParam;
const question = (...content: readonly Block[]): Anthropic.MessageCreateParamsNonStreaming => ({
  model: 'any',
  max_tokens: 100,
  messages: [{ role: 'user', content: [...content, { type: 'text', text: 'What colour?' }] }],
});
const citations = { enabled: true };
const grass = 'The grass is green.';
const notes: Block = {
  type: 'document',
  title: 'Notes',
  source: { type: 'text', media_type: 'text/plain', data: grass },
  citations,
};

test('documents: marks become citations of the block before them, and wrong numbers are dropped', async () => {
  const { client, asked } = await world([said('It is gre', 'en [1', ']. And', ' more [7].')]);
  const { content, usage } = await client.messages.create(question(notes));
  expect(content).toEqual([
    {
      type: 'text',
      text: 'It is green.',
      citations: [
        {
          type: 'char_location',
          cited_text: grass,
          document_index: 0,
          document_title: 'Notes',
          file_id: null,
          start_char_index: 0,
          end_char_index: 19,
        },
      ],
    },
    { type: 'text', text: ' And more.' },
  ]);
  expect(usage).not.toHaveProperty('server_tool_use');
  const prompt = String(asked[0]?.request.prompt);
  expect(prompt).toContain(`<document>\nTitle: Notes\n`);
  expect(prompt).toContain(`[1] ${grass}\n</document>`);
});

test('documents: a stream has the same citations', async () => {
  const { client } = await world([said('It is green [1].')]);
  const stream = client.messages.stream(question(notes));
  const heard: object[] = [];
  stream.on('citation', (citation) => void heard.push(citation));
  const { content } = await stream.finalMessage();
  expect(content).toMatchObject([{ type: 'text', text: 'It is green.', citations: [{ type: 'char_location' }] }]);
  expect(heard).toHaveLength(1);
});

test('documents: pages, blocks and search results have places of their own', async () => {
  const { client, upload } = await world([said('A [1] b [2] c [3] d [4].')]);
  const file = await upload(`\u0000Page one.\fPage two.`, 'guide.pdf');
  const { content } = await client.messages.create(
    question(
      { type: 'document', source: { type: 'file', file_id: file } as never, citations },
      {
        type: 'document',
        title: 'B',
        source: { type: 'content', content: [{ type: 'text', text: 'block' }] },
        citations,
      },
      {
        type: 'search_result',
        source: 'https://a.example/',
        title: 'S',
        content: [{ type: 'text', text: 'found' }],
        citations,
      },
    ),
  );
  const cited = content.flatMap((block) => (block.type === 'text' ? (block.citations ?? []) : []));
  expect(cited).toMatchObject([
    {
      type: 'page_location',
      document_index: 0,
      document_title: 'guide.pdf',
      file_id: file,
      start_page_number: 1,
      end_page_number: 2,
    },
    { type: 'page_location', cited_text: 'Page two.', start_page_number: 2, end_page_number: 3 },
    {
      type: 'content_block_location',
      document_index: 1,
      cited_text: 'block',
      start_block_index: 0,
      end_block_index: 1,
    },
    {
      type: 'search_result_location',
      search_result_index: 0,
      source: 'https://a.example/',
      title: 'S',
      cited_text: 'found',
      start_block_index: 0,
      end_block_index: 1,
    },
  ]);
});

test('documents: without citations their text is read, and brackets of the answer stay', async () => {
  const { client, asked, upload } = await world([said('See a[1].')]);
  const file = await upload(grass, 'notes.txt');
  const data = Buffer.from('in base64').toString('base64');
  const { content } = await client.messages.create(
    question(
      { type: 'document', source: { type: 'file', file_id: file } as never },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } },
    ),
  );
  expect(content).toEqual([{ type: 'text', text: 'See a[1].' }]);
  expect(asked[0]?.request.prompt).toContain(`<document>\n${grass}\n</document>`);
  expect(asked[0]?.request.prompt).toContain(`<document>\nin base64\n</document>`);
});

test('documents: in results of tools they can be cited too', async () => {
  const { client } = await world([said('It is green [1].')]);
  const { content } = await client.messages.create({
    model: 'any',
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'What colour?' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 't',
            content: [
              { type: 'search_result', source: 's', title: 'S', content: [{ type: 'text', text: grass }], citations },
            ],
          },
        ],
      },
    ],
  });
  expect(content).toMatchObject([{ citations: [{ type: 'search_result_location', cited_text: grass }] }]);
});

test('documents: an unknown file is not found, and a wrong source is refused', async () => {
  const { client } = await world([said('Hi')]);
  const file = { type: 'document', source: { type: 'file', file_id: 'file_x' } } as never as Block;
  await expect(client.messages.create(question(file))).rejects.toThrow(NotFoundError);
  const wrong = { type: 'document', source: { type: 'ftp' } } as never as Block;
  await expect(client.messages.create(question(wrong))).rejects.toThrow(BadRequestError);
});
