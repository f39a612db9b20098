import OpenAI from 'openai';
import type { Responses } from 'openai/resources/responses/responses';
import { expect, onTestFinished, test } from 'vitest';
import { systemTimer } from '../../src/core/timers.ts';
import { toolServerPool } from '../../src/mcp/pool.ts';
import { sdkSessions } from '../../src/mcp/sdk-session.ts';
import { type HttpToolServer, streamableServer } from '../../src/mcp/testing/http-servers.ts';
import { responseState } from '../../src/protocols/responses/background.ts';
import { responsesEndpoints } from '../../src/protocols/responses/routes.ts';
import { bindAll } from '../../src/protocols/testing/bind.ts';
import { chatmlWithTools, type Scripts, said, sdkWorld } from '../../src/protocols/testing/sdk-world.ts';

// The official clients against MCP servers on loopback, which the server calls. The model is scripted.

function connected(servers: readonly HttpToolServer[]) {
  const configs = servers.map(({ url }, index) => {
    return { type: 'address', name: `server${index}`, url, headers: {}, sse: false } as const;
  });
  const pool = toolServerPool(configs, {
    open: sdkSessions({
      product: { name: 'Parley', version: '1' },
      environment: {},
      guard: { add: () => undefined, end: () => undefined },
    }),
    startTimer: systemTimer,
    now: () => performance.now(),
    callMs: 10_000,
    say: () => undefined,
  });
  onTestFinished(() => pool.close());
  return pool;
}

async function openaiWorld(scripts: Scripts, servers: readonly HttpToolServer[]) {
  const pool = connected(servers);
  const { base, asked } = await sdkWorld(
    scripts,
    (parts) => bindAll(responsesEndpoints(responseState(), parts), parts),
    {
      template: chatmlWithTools,
      serverAt: pool.at as NonNullable<typeof pool.at>,
    },
  );
  return { client: new OpenAI({ baseURL: `${base}/v1`, apiKey: 'secret', maxRetries: 0 }), asked };
}

const calling = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {"message": "hi"}}\n</tool_call>`;
const mcp = (server_url: string, own: Partial<Responses.Tool.Mcp> = {}): Responses.Tool.Mcp => {
  return { type: 'mcp', server_label: 'tools', server_url, ...own };
};
const calls = ({ bodies }: HttpToolServer) => bodies.filter(({ method }) => method === 'tools/call');

function requestIn({ output }: Responses.Response) {
  const request = output.find((item) => item.type === 'mcp_approval_request');
  if (!request) throw new Error('No approval is asked for.');
  return request;
}

test('OpenAI SDK: a call waits for approval, and runs with previous_response_id', async () => {
  const server = await streamableServer();
  const { client, asked } = await openaiWorld(
    [said('I look.', calling('echo')), said('It said hi.'), said('Bye.')],
    [server],
  );
  const tools = [mcp(server.url)];
  const first = await client.responses.create({ model: 'any', input: 'Greet.', tools });
  expect([first.status, first.output_text]).toEqual(['completed', 'I look.']);
  expect(first.output).toMatchObject([
    { type: 'mcp_list_tools', server_label: 'tools', tools: [{ name: 'echo', input_schema: { type: 'object' } }] },
    { type: 'message' },
    { type: 'mcp_approval_request', server_label: 'tools', name: 'echo', arguments: '{"message": "hi"}' },
  ]);
  expect(calls(server)).toEqual([]);
  const replayed: Responses.ResponseOutputItem[] = [];
  for await (const event of await client.responses.retrieve(first.id, { stream: true })) {
    if (event.type === 'response.output_item.done') replayed.push(event.item);
  }
  expect(replayed).toEqual(first.output);
  const { id: approval_request_id } = requestIn(first);
  const answer = { type: 'mcp_approval_response', approval_request_id, approve: true } as const;
  const next = { model: 'any', previous_response_id: first.id, tools };
  const second = await client.responses.create({ ...next, input: [answer] });
  expect(second.output).toMatchObject([
    { type: 'mcp_call', name: 'echo', status: 'completed', output: 'hi', error: null, approval_request_id },
    { type: 'message', content: [{ text: 'It said hi.' }] },
  ]);
  expect(calls(server)).toMatchObject([{ params: { name: 'echo', arguments: { message: 'hi' } } }]);
  const prompt = '"arguments": {"message": "hi"}}</tool_call><|im_end|>\n<|im_start|>tool\nhi<|im_end|>\n';
  expect(asked[1]?.request.prompt).toContain(`I look.<tool_call>{"name": "echo", ${prompt}`);
  // The stored items go on, and the call is not run again.
  await client.responses.create({ ...next, previous_response_id: second.id, input: 'Bye.' });
  expect(asked[2]?.request.prompt).toContain(asked[1]?.request.prompt.replace(/<\|im_start\|>assistant\n$/, ''));
  expect(calls(server)).toHaveLength(1);
});

test('OpenAI SDK: a denied call is streamed as a request, and the model reads why it was denied', async () => {
  const server = await streamableServer();
  const { client, asked } = await openaiWorld([said(calling('echo')), said('Then not.')], [server]);
  const body = { model: 'any', store: false, tools: [mcp(server.url, { require_approval: 'always' })] };
  const question = { role: 'user', content: 'Greet.' } as const;
  const types: string[] = [];
  const stream = client.responses.stream({ ...body, input: [question] });
  for await (const { type } of stream) types.push(type.replace('response.', ''));
  expect(types).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'mcp_list_tools.in_progress',
    'mcp_list_tools.completed',
    'output_item.done',
    'output_item.added',
    'output_item.done',
    'completed',
  ]);
  const first = await stream.finalResponse();
  expect(first.output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'mcp_approval_request']);
  const { id: approval_request_id } = requestIn(first);
  const denial = { type: 'mcp_approval_response', approval_request_id, approve: false, reason: 'Not now.' } as const;
  const input = [question, ...first.output, denial] as Responses.ResponseInput;
  const second = await client.responses.create({ ...body, input });
  expect(second.output.map(({ type }) => type)).toEqual(['message']);
  expect(asked[1]?.request.prompt).toContain('The user denied the call, and it was not run. The reason: Not now.');
  expect(calls(server)).toEqual([]);
});

test('OpenAI SDK: only tools that need approval wait for it', async () => {
  const server = await streamableServer(['echo', 'fail']);
  const never = { never: { tool_names: ['echo'] } };
  const { client } = await openaiWorld([said(calling('echo'), calling('fail'))], [server]);
  const tools = [mcp(server.url, { require_approval: never })];
  const { output } = await client.responses.create({ model: 'any', input: 'Greet.', tools });
  expect(output).toMatchObject([
    { type: 'mcp_list_tools' },
    { type: 'mcp_call', name: 'echo', output: 'hi', approval_request_id: null },
    { type: 'mcp_approval_request', name: 'fail' },
  ]);
});

test('OpenAI SDK: approvals that match nothing are refused', async () => {
  const server = await streamableServer();
  const { client } = await openaiWorld([said(calling('echo'))], [server]);
  const first = await client.responses.create({ model: 'any', input: 'Greet.', tools: [mcp(server.url)] });
  const answer = { type: 'mcp_approval_response', approval_request_id: requestIn(first).id, approve: true } as const;
  const next = { model: 'any', previous_response_id: first.id, input: [answer] };
  await expect(client.responses.create(next)).rejects.toThrow(/MCP server in tools, and tools is not there/);
  const unknown = [{ ...answer, approval_request_id: 'mcpr_0' }];
  await expect(client.responses.create({ ...next, input: unknown })).rejects.toThrow(/approval_request_id must be/);
});

test('OpenAI SDK: a server that cannot list its tools fails the response, with the events of a stream', async () => {
  // A server without tools.
  const server = await streamableServer([]);
  const { client } = await openaiWorld([said('Never.')], [server]);
  const body = { model: 'any', input: 'Greet.', tools: [mcp(server.url)] };
  await expect(client.responses.create(body)).rejects.toThrow(/The MCP server of tools\[0\] \(tools\)/);
  const events: Responses.ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create({ ...body, stream: true })) events.push(event);
  expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'mcp_list_tools.in_progress',
    'mcp_list_tools.failed',
    'output_item.done',
    'failed',
  ]);
  expect(events.at(-2)).toMatchObject({ item: { type: 'mcp_list_tools', tools: [], error: expect.any(String) } });
});
