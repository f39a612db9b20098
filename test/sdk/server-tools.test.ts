import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, onTestFinished, test } from 'vitest';
import { echoTool, playedTools, textResult } from '../../src/core/testing/tool-servers.ts';
import { messagesEndpoints } from '../../src/protocols/messages/routes.ts';
import { openaiEndpoints } from '../../src/protocols/openai/routes.ts';
import { responseState } from '../../src/protocols/responses/background.ts';
import { responsesEndpoints } from '../../src/protocols/responses/routes.ts';
import { bindAll } from '../../src/protocols/testing/bind.ts';
import { chatmlWithTools, said, sdkWorld } from '../../src/protocols/testing/sdk-world.ts';
import { webSearch } from '../../src/search/web-search.ts';

// The official clients of three APIs against tools that the server runs. The model is scripted; the search page is real.

/** A SearXNG instance on loopback. Its results cannot be fetched from here, so that their descriptions count. */
async function searchPage(isBroken: boolean) {
  const queries: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://search');
    queries.push(url.searchParams.get('q') ?? '');
    if (isBroken) return void response.writeHead(500).end();
    const results = ['cats', 'dogs'].map((name) => ({
      title: name,
      url: `http://${name}.invalid/`,
      content: `All about ${name} and their sleep.`,
    }));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ results }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { queries, web: webSearch({ url, warn: () => undefined }) };
}

const calling = '<tool_call>\n{"name": "web_search", "arguments": {"query": "sleep 😴"}}\n</tool_call>';

async function world(searches = true, isBroken = false) {
  const { queries, web } = await searchPage(isBroken);
  const { base, asked } = await sdkWorld(
    [said('I look.', calling), said('They ', 'sleep 😴 [', '2].'), said('Done.')],
    (parts) => [
      ...bindAll(messagesEndpoints(parts), parts),
      ...bindAll(responsesEndpoints(responseState(), parts), parts),
      ...bindAll(openaiEndpoints(parts), { ...parts, replacePlaceholders: (texts) => texts }),
    ],
    { template: chatmlWithTools, ...(searches ? { web } : {}) },
  );
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'secret', maxRetries: 0 });
  return { anthropic: new Anthropic({ baseURL: base, apiKey: 'secret', maxRetries: 0 }), openai, queries, asked };
}

const messages = [{ role: 'user' as const, content: 'Who sleeps?' }];
const messagesBody = {
  model: 'any',
  max_tokens: 100,
  messages,
  tools: [
    {
      type: 'web_search_20250305' as const,
      name: 'web_search' as const,
      allowed_domains: ['dogs.invalid', 'cats.invalid'],
    },
  ],
};
const blocks = ['text', 'server_tool_use', 'web_search_tool_result', 'text', 'text'];

test('Anthropic SDK: web_search of a whole and of a streamed message', async () => {
  for (const isStreamed of [false, true]) {
    const { anthropic, queries, asked } = await world();
    const message = isStreamed
      ? await anthropic.beta.messages.stream(messagesBody).finalMessage()
      : await anthropic.beta.messages.create(messagesBody);
    expect(queries[0]).toBe('sleep 😴 site:dogs.invalid OR site:cats.invalid');
    expect(message.content.map(({ type }) => type)).toEqual(blocks.slice(0, message.content.length));
    expect(message.content[2]).toMatchObject({
      content: [
        { title: 'cats', url: 'http://cats.invalid/' },
        { title: 'dogs', url: 'http://dogs.invalid/' },
      ],
    });
    expect(message.content[3]).toMatchObject({ citations: [{ title: 'dogs', url: 'http://dogs.invalid/' }] });
    expect(message.usage.server_tool_use).toMatchObject({ web_search_requests: 1 });
    expect(message.stop_reason).toBe('end_turn');
    // The message comes back as it is.
    const next = { ...messagesBody, messages: [...messages, { role: 'assistant' as const, content: message.content }] };
    await anthropic.beta.messages.create({ ...next, messages: [...next.messages, ...messages] } as never);
    expect(asked[2]?.request.prompt).toContain('[2] dogs\nhttp://dogs.invalid/\nAll about dogs');
  }
});

test('Anthropic SDK: mcp_servers of the file run on the server, and others are refused', async () => {
  const { servers, calls } = playedTools(
    async ({ arguments: given }) => textResult(`echo: ${String(given?.message)}`),
    [echoTool, { ...echoTool, name: 'hidden' }],
  );
  const echo = '<tool_call>\n{"name": "echo", "arguments": {"message": "hi"}}\n</tool_call>';
  const { base, asked } = await sdkWorld(
    [said(echo), said('It said hi.'), said('Again.')],
    (parts) => bindAll(messagesEndpoints(parts), parts),
    { template: chatmlWithTools, serverAt: (url) => (url === 'https://tools.example/mcp' ? servers : undefined) },
  );
  const client = new Anthropic({ baseURL: base, apiKey: 'secret', maxRetries: 0 });
  const body = (url: string) => ({
    model: 'any',
    max_tokens: 100,
    messages,
    mcp_servers: [{ type: 'url' as const, name: 'tools', url }],
    tools: [
      {
        type: 'mcp_toolset' as const,
        mcp_server_name: 'tools',
        default_config: { enabled: false },
        configs: { echo: { enabled: true } },
      },
    ],
    betas: ['mcp-client-2025-11-20'],
  });
  const own = body('https://tools.example/mcp');
  const message = await client.beta.messages.stream(own).finalMessage();
  expect(message.content).toMatchObject([
    { type: 'mcp_tool_use', name: 'echo', server_name: 'tools', input: { message: 'hi' } },
    { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'echo: hi' }] },
    { type: 'text', text: 'It said hi.' },
  ]);
  expect(calls).toEqual([{ name: 'echo', arguments: { message: 'hi' } }]);
  expect(asked[0]?.request.prompt).not.toContain('hidden');
  const history = [...messages, { role: 'assistant', content: message.content }, ...messages];
  await client.beta.messages.create({ ...own, messages: history } as never);
  expect(asked[2]?.request.prompt).toContain('echo: hi');
  await expect(client.beta.messages.create(body('http://169.254.169.254/mcp'))).rejects.toThrow(/--mcpfile/);
});

test('OpenAI SDK: mcp of the file runs on the server, and other servers are refused', async () => {
  const { servers } = playedTools(
    async ({ arguments: given }) =>
      given?.message === 'hi' ? textResult('echo: hi') : { ...textResult('no greeting'), isError: true },
    [echoTool, { ...echoTool, name: 'hidden' }],
  );
  const echo = (message: string) =>
    `<tool_call>\n{"name": "echo", "arguments": {"message": "${message}"}}\n</tool_call>`;
  const { base, asked } = await sdkWorld(
    [said(echo('hi')), said('It said hi.'), said('Again.'), said(echo('go')), said('It failed.')],
    (parts) => bindAll(responsesEndpoints(responseState(), parts), parts),
    { template: chatmlWithTools, serverAt: (url) => (url === 'mcpfile:tools' ? servers : undefined) },
  );
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'secret', maxRetries: 0 });
  const body = (server_url: string) => ({
    model: 'any',
    input: 'Greet.',
    tools: [
      {
        type: 'mcp' as const,
        server_label: 'tools',
        server_url,
        require_approval: 'never' as const,
        allowed_tools: ['echo'],
      },
    ],
  });
  const own = body('mcpfile:tools');
  const types: string[] = [];
  const stream = client.responses.stream(own);
  for await (const { type } of stream) types.push(type.replace('response.', ''));
  const { output } = await stream.finalResponse();
  expect(output).toMatchObject([
    { type: 'mcp_list_tools', server_label: 'tools', tools: [{ name: 'echo', input_schema: echoTool.inputSchema }] },
    { type: 'mcp_call', server_label: 'tools', name: 'echo', status: 'completed', output: 'echo: hi', error: null },
    { type: 'message', content: [{ text: 'It said hi.' }] },
  ]);
  expect(types.filter((type) => type.startsWith('mcp_call'))).toEqual([
    'mcp_call.in_progress',
    'mcp_call_arguments.delta',
    'mcp_call_arguments.done',
    'mcp_call.completed',
  ]);
  expect(asked[0]?.request.prompt).not.toContain('hidden');
  await client.responses.create({ ...own, input: [...output, { role: 'user', content: 'And?' }] as never });
  expect(asked[2]?.request.prompt).toContain('echo: hi');
  expect((await client.responses.create(own)).output[1]).toMatchObject({
    status: 'failed',
    error: { type: 'mcp_tool_execution_error', content: [{ text: expect.stringContaining('no greeting') }] },
  });
  await expect(client.responses.create(body('http://169.254.169.254/mcp'))).rejects.toThrow(/--mcpfile/);
});

test('OpenAI SDK: web_search of a whole and of a streamed response', async () => {
  const { openai } = await world();
  const body = {
    model: 'any',
    input: 'Who sleeps?',
    tools: [{ type: 'web_search' as const }],
    include: ['web_search_call.action.sources' as const],
  };
  const whole = await openai.responses.create(body);
  expect(whole.output.map(({ type }) => type)).toEqual(['message', 'web_search_call', 'message']);
  expect(whole.output[1]).toMatchObject({
    status: 'completed',
    action: { type: 'search', queries: ['sleep 😴'], sources: [{ url: 'http://cats.invalid/' }, { type: 'url' }] },
  });
  const annotation = {
    type: 'url_citation',
    url: 'http://dogs.invalid/',
    title: 'dogs',
    start_index: 13,
    end_index: 16,
  };
  expect(whole.output[2]).toMatchObject({ content: [{ text: 'They sleep 😴 [2].', annotations: [annotation] }] });
  const streamed = await world();
  const types: string[] = [];
  const stream = streamed.openai.responses.stream(body);
  for await (const { type } of stream) types.push(type.replace('response.', ''));
  expect(types.filter((type) => type.startsWith('web_search_call'))).toEqual([
    'web_search_call.in_progress',
    'web_search_call.searching',
    'web_search_call.completed',
  ]);
  expect(types.filter((type) => type === 'output_text.annotation.added')).toHaveLength(1);
  const last = await stream.finalResponse();
  expect(last.output[2]).toMatchObject({ content: [{ annotations: [annotation] }] });
  // The items come back as they are.
  const input = [
    { role: 'user' as const, content: 'Who sleeps?' },
    ...last.output,
    { role: 'user' as const, content: 'Thanks' },
  ];
  await streamed.openai.responses.create({ ...body, input } as never);
  // The title is that of the citation.
  expect(streamed.asked[2]?.request.prompt).toContain('[1]\nhttp://cats.invalid/\n\n[2] dogs\nhttp://dogs.invalid/');
});

test('OpenAI SDK: web_search_options of a whole and of a streamed chat', async () => {
  const url_citation = { url: 'http://dogs.invalid/', title: 'dogs', start_index: 22, end_index: 25 };
  const body = { model: 'any', messages, web_search_options: {} };
  const whole = await (await world()).openai.chat.completions.create(body);
  expect(whole.choices[0]?.message).toMatchObject({
    content: 'I look.\n\nThey sleep 😴 [2].',
    annotations: [{ type: 'url_citation', url_citation }],
  });
  const { openai } = await world();
  const blocks: unknown[] = [];
  for await (const { choices } of await openai.chat.completions.create({ ...body, stream: true })) {
    const { annotations } = (choices[0]?.delta ?? {}) as { annotations?: unknown[] };
    blocks.push(...(annotations ?? []));
  }
  expect(blocks).toEqual([{ type: 'url_citation', url_citation }]);
});

test('official SDKs: a search that fails is shown as such, and the model reads it and answers', async () => {
  const { anthropic, asked } = await world(true, true);
  const message = await anthropic.beta.messages.create(messagesBody);
  expect(message.content).toMatchObject([
    { type: 'text', text: 'I look.' },
    { type: 'server_tool_use' },
    { content: { type: 'web_search_tool_result_error', error_code: 'unavailable' } },
    { type: 'text', text: 'They sleep 😴 [2].' },
  ]);
  expect(asked[1]?.request.prompt).toContain('The tool failed: There is no answer at the moment.');
  const responses = await world(true, true);
  const search = { model: 'any', input: 'Who sleeps?', tools: [{ type: 'web_search' as const }] };
  const { output } = await responses.openai.responses.create(search);
  expect(output).toMatchObject([
    { type: 'message' },
    { type: 'web_search_call', status: 'failed' },
    { type: 'message' },
  ]);
  expect(responses.asked[1]?.request.prompt).toContain('The tool failed: There is no answer at the moment.');
  const chat = await world(true, true);
  const { choices } = await chat.openai.chat.completions.create({ model: 'any', messages, web_search_options: {} });
  expect(choices[0]?.message.content).toBe('I look.\n\nThey sleep 😴 [2].');
  expect(choices[0]?.message.annotations ?? []).toEqual([]);
  expect(chat.asked[1]?.request.prompt).toContain('The tool failed: There is no answer at the moment.');
});

test('official SDKs: without --websearch the tools are refused, but not a search without access to the web', async () => {
  const { anthropic, openai } = await world(false);
  const sentence = /--websearch/;
  await expect(anthropic.messages.create(messagesBody)).rejects.toThrow(sentence);
  const search = { type: 'web_search' as const };
  await expect(openai.responses.create({ model: 'any', input: 'Hi', tools: [search] })).rejects.toThrow(sentence);
  await expect(openai.chat.completions.create({ model: 'any', messages, web_search_options: {} })).rejects.toThrow(
    sentence,
  );
  const tools = [{ ...search, external_web_access: false }];
  const { output_text: text } = await openai.responses.create({ model: 'any', input: 'Hi', tools } as never);
  expect(text).toContain('I look.');
});
