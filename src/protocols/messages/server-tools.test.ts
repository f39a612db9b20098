import { expect, test } from 'vitest';
import { outcomeText } from '../../chat/server-tools/web-tools.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { ServerCall, ServerOutcome, ServerToolStep } from '../../core/server-tools.ts';
import { whole } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { dialectParts, finishEvent, play, startEvent } from '../testing/doubles.ts';
import { decode } from './decode.ts';
import { encodeStream, foldReply, type ReplyFacts } from './encode.ts';

const facts: ReplyFacts = {
  id: 'msg_1',
  model: 'mini',
  stop: [],
  maxTokens: 100,
  hosted: { documentCitations: true },
};
const searchCall: ServerCall = {
  id: 'call_1',
  kind: 'search',
  name: 'web_search',
  json: '{"query":"cats"}',
  input: { query: 'cats' },
};
const fetchCall: ServerCall = {
  id: 'call_2',
  kind: 'fetch',
  name: 'web_fetch',
  json: '{"url":"https://b.example/"}',
  input: { url: 'https://b.example/' },
};
const cats = { url: 'https://a.example/', title: 'A', text: 'Cats sleep.' };
const page = { url: 'https://b.example/', title: 'B', text: 'Dogs sleep less than cats do.' };
const sources: ServerOutcome = { type: 'sources', sources: [cats] };
const fetched: ServerOutcome = { type: 'page', source: page, retrievedAt: '2026-01-02T03:04:05.000Z' };

const text = (words: string): GenerationEvent => ({ type: 'text-delta', text: words });
const server = (step: ServerToolStep): GenerationEvent => ({ type: 'server-tool', step });
const ran = (call: ServerCall, outcome: ServerOutcome): GenerationEvent[] => [
  server({ type: 'call', call }),
  server({ type: 'outcome', call, outcome }),
];
const quote = { text: 'sleep less than cats', start: 5 };
const answer: readonly GenerationEvent[] = [
  startEvent(),
  text('I look.'),
  ...ran(searchCall, sources),
  ...ran(fetchCall, fetched),
  text('They sleep [1]'),
  server({ type: 'citation', source: cats, length: 3, back: 0, fetched: false }),
  text('. Also "sleep less than cats".'),
  server({ type: 'citation', source: page, length: 22, back: 1, fetched: true, quote }),
  text(' Good.'),
  finishEvent(),
];

const citation = {
  type: 'web_search_result_location',
  url: 'https://a.example/',
  title: 'A',
  cited_text: 'Cats sleep.',
  encrypted_index: expect.any(String),
};
const location = {
  type: 'char_location',
  cited_text: 'sleep less than cats',
  document_index: 0,
  document_title: 'B',
  file_id: null,
  start_char_index: 5,
  end_char_index: 25,
};

test('Messages: a whole reply has the calls, the results and the citations of text blocks', async () => {
  const { message } = await foldReply(play(answer), facts);
  expect(message).toMatchObject({
    content: [
      { type: 'text', text: 'I look.' },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'cats' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [{ type: 'web_search_result', url: cats.url, title: 'A', page_age: null }],
      },
      { type: 'server_tool_use', id: 'srvtoolu_2', name: 'web_fetch' },
      {
        type: 'web_fetch_tool_result',
        tool_use_id: 'srvtoolu_2',
        content: {
          type: 'web_fetch_result',
          url: page.url,
          retrieved_at: '2026-01-02T03:04:05.000Z',
          content: { type: 'document', title: 'B', source: { type: 'text', data: page.text } },
        },
      },
      { type: 'text', text: 'They sleep [1]', citations: [citation] },
      { type: 'text', text: '. Also "sleep less than cats".', citations: [location] },
      { type: 'text', text: ' Good.' },
    ],
    usage: { server_tool_use: { web_search_requests: 1, web_fetch_requests: 1 } },
  });
});

test('Messages: a stream has results whole in content_block_start, and citations as deltas', async () => {
  let stream = '';
  for await (const piece of encodeStream(play(answer), facts)) stream += piece;
  const events = stream
    .split('\n\n')
    .flatMap((record) => (record.startsWith('event: ') ? [JSON.parse(record.split('\n')[1]?.slice(6) ?? '')] : []));
  const started = events.filter(({ type }) => type === 'content_block_start');
  expect(started.map(({ index, content_block: block }) => [index, block.type])).toEqual([
    [0, 'text'],
    [1, 'server_tool_use'],
    [2, 'web_search_tool_result'],
    [3, 'server_tool_use'],
    [4, 'web_fetch_tool_result'],
    [5, 'text'],
    [6, 'text'],
    [7, 'text'],
  ]);
  expect(events.filter(({ type }) => type === 'content_block_stop')).toHaveLength(8);
  expect(events.find(({ index, type }) => index === 1 && type === 'content_block_delta')).toMatchObject({
    delta: { type: 'input_json_delta', partial_json: '{"query":"cats"}' },
  });
  const cited = events.filter(({ delta }) => delta?.type === 'citations_delta');
  expect(cited.map(({ index, delta }) => [index, delta.citation])).toEqual([
    [5, citation],
    [6, location],
  ]);
  expect(events.at(-2)).toMatchObject({ usage: { server_tool_use: { web_search_requests: 1 } } });
});

test('Messages: an error of a tool is an object in the content, and does not count as a use', async () => {
  const failure: ServerOutcome = { type: 'error', code: 'unavailable', reason: '' };
  const { message } = await foldReply(
    play([startEvent(), ...ran(searchCall, failure), ...ran(fetchCall, failure), finishEvent()]),
    facts,
  );
  expect(message).toMatchObject({
    content: [
      {},
      { content: { type: 'web_search_tool_result_error', error_code: 'unavailable' } },
      {},
      { content: { type: 'web_fetch_tool_result_error', error_code: 'unavailable' } },
    ],
    usage: { server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 } },
  });
});

const decoded = (body: JsonObject) => whole(decode({ max_tokens: 16, ...body }, dialectParts())).request;

test('Messages: a reply that comes back gives the model the same results, with the same numbers', async () => {
  const { message } = await foldReply(play(answer), facts);
  const { content } = message as unknown as { content: object[] };
  const again = { role: 'user', content: 'And dogs?' };
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
  const { conversation, hosted } = decoded({ messages: [again, { role: 'assistant', content }, again], tools });
  expect(conversation.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'assistant',
    'user',
  ]);
  expect(conversation.messages[1]).toMatchObject({ toolCalls: [{ name: 'web_search', json: '{"query":"cats"}' }] });
  expect(conversation.messages[2]).toMatchObject({
    toolName: 'web_search',
    content: [{ text: outcomeText(sources, 1) }],
  });
  expect(conversation.messages[4]).toMatchObject({ content: [{ text: outcomeText(fetched, 2) }] });
  expect(conversation.messages[5]).toMatchObject({
    content: [{ text: 'They sleep [1]. Also "sleep less than cats". Good.' }],
  });
  expect(hosted?.sources).toEqual([cats, page]);
});

test('Messages: results beside calls of the client stay with their calls', () => {
  const content = [
    { type: 'tool_use', id: 'c', name: 'f', input: {} },
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    {
      type: 'web_search_tool_result',
      tool_use_id: 's',
      content: { type: 'web_search_tool_result_error', error_code: 'a code of tomorrow' },
    },
  ];
  const { conversation } = decoded({
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'done' }] },
    ],
  });
  expect(conversation.messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant', toolCalls: [{ name: 'f' }, { name: 'web_search' }] },
    { role: 'tool', callId: 's', content: [{ text: 'The tool failed: a code of tomorrow' }] },
    { role: 'tool', callId: 'c', content: [{ text: 'done' }] },
  ]);
});
