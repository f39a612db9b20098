import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { Responses } from 'openai/resources/responses/responses';
import { expect, onTestFinished, test } from 'vitest';
import { systemTimer } from '../../src/core/timers.ts';
import { toolServerPool } from '../../src/mcp/pool.ts';
import { sdkSessions } from '../../src/mcp/sdk-session.ts';
import { type HttpToolServer, streamableServer } from '../../src/mcp/testing/http-servers.ts';
import { oauthServer } from '../../src/mcp/testing/oauth-server.ts';
import { messagesEndpoints } from '../../src/protocols/messages/routes.ts';
import { responseState } from '../../src/protocols/responses/background.ts';
import { responsesEndpoints } from '../../src/protocols/responses/routes.ts';
import { bindAll } from '../../src/protocols/testing/bind.ts';
import { chatmlWithTools, type Scripts, said, sdkWorld } from '../../src/protocols/testing/sdk-world.ts';
import { openAllowedServers } from '../../src/server/tool-servers.ts';

// The official clients against MCP servers on loopback, which the server calls. The model is scripted.

function connected(servers: readonly HttpToolServer[], callMs: number) {
  const configs = servers.map(({ url }, index) => {
    return { type: 'address', name: `server${index}`, url, headers: {}, sse: false } as const;
  });
  const pool = toolServerPool(configs, {
    open: sdkSessions({ product, environment: {}, guard: { add: () => undefined, end: () => undefined } }),
    startTimer: systemTimer,
    now: () => performance.now(),
    callMs,
    log: () => undefined,
  });
  onTestFinished(() => pool.close());
  return pool;
}

const product = { name: 'Parley', version: '1' };

interface WorldOptions {
  /** `--mcpallow` */
  readonly mcpallow?: readonly string[];
  readonly callMs?: number;
  readonly contextSize?: number;
}

/** With the servers of a file, and what requests may name beside them. */
async function world(scripts: Scripts, servers: readonly HttpToolServer[], options: WorldOptions = {}) {
  const { mcpallow = [], callMs = 10_000, contextSize } = options;
  const file = connected(servers, callMs);
  const { mcp: allowed } = await openAllowedServers({ product, settings: { mcpallow, mcptimeout: 10 } });
  const { base, asked } = await sdkWorld(
    scripts,
    (parts) => [
      ...bindAll(responsesEndpoints(responseState(), parts), parts),
      ...bindAll(messagesEndpoints(parts), parts),
    ],
    {
      template: chatmlWithTools,
      serverAt: (url, headers) => file.at?.(url) ?? allowed?.(url, headers),
      isClientServer: (url) => file.at?.(url) === undefined && allowed?.(url) !== undefined,
      ...(contextSize !== undefined && { text: { contextSize: () => contextSize } }),
    },
  );
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'secret', maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: base, apiKey: 'secret', maxRetries: 0 });
  /** The same request by both APIs, with their calls as name, server and result. */
  const both = {
    responses: async (named: readonly Named[]) => {
      const tools = named.map(({ name, url, token }) =>
        mcp(url, { server_label: name, require_approval: 'never', ...(token && { authorization: token }) }),
      );
      const { output } = await client.responses.create({ model: 'any', input: 'Greet.', tools });
      return output.flatMap((item) =>
        item.type === 'mcp_call' ? [[item.server_label, item.name, item.output ?? JSON.stringify(item.error)]] : [],
      );
    },
    messages: async (named: readonly Named[]) => {
      const { content } = await anthropic.beta.messages.create({
        model: 'any',
        max_tokens: 100,
        messages: [{ role: 'user', content: 'Greet.' }],
        mcp_servers: named.map(({ name, url, token }) => ({
          type: 'url',
          name,
          url,
          authorization_token: token ?? null,
        })),
        betas: ['mcp-client-2025-04-04'],
      });
      return content.flatMap((block) => {
        if (block.type !== 'mcp_tool_use') return [];
        const result = content.find((each) => each.type === 'mcp_tool_result' && each.tool_use_id === block.id);
        const [first] = result?.type === 'mcp_tool_result' ? result.content : [];
        return [[block.server_name, block.name, typeof first === 'string' ? first : (first?.text ?? '')]];
      });
    },
  };
  return { client, asked, both };
}

interface Named {
  readonly name: string;
  readonly url: string;
  readonly token?: string;
}

const apis = ['responses', 'messages'] as const;

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
  const { client, asked } = await world(
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
  const { client, asked } = await world([said(calling('echo')), said('Then not.')], [server]);
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
  const { client } = await world([said(calling('echo'), calling('fail'))], [server]);
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
  const { client } = await world([said(calling('echo'))], [server]);
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
  const { client } = await world([said('Never.')], [server]);
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

test.each(apis)(
  '%s: a server of --mcpallow is called with the token of the request, which no other gets',
  async (api) => {
    const [own, other] = [await streamableServer(), await streamableServer(['look'])];
    const { both } = await world([said(calling('echo')), said('Done.')], [other], { mcpallow: [own.url] });
    const servers = [
      { name: 'own', url: own.url, token: 'mine' },
      { name: 'other', url: other.url, token: 'theirs' },
    ];
    expect(await both[api](servers)).toEqual([['own', 'echo', 'hi']]);
    const tokens = ({ requests }: HttpToolServer) => new Set(requests.map(({ headers }) => headers.authorization));
    expect([tokens(own), tokens(other)]).toEqual([new Set(['Bearer mine']), new Set([undefined])]);
    // The session ends with the request.
    await expect.poll(() => own.requests.at(-1)?.method).toBe('DELETE');
  },
);

test.each(apis)('%s: an address beside those of --mcpallow is refused and not connected to', async (api) => {
  const server = await streamableServer();
  const { both } = await world([said('Never.')], [], { mcpallow: [`${server.url}/below`] });
  await expect(both[api]([{ name: 'own', url: server.url }])).rejects.toThrow(/--mcpallow/);
  expect(server.requests).toEqual([]);
});

test.each(apis)('%s: a refused login says whose token is needed, without the token', async (api) => {
  const server = await oauthServer();
  const { both } = await world([said('Never.')], [], { mcpallow: [server.url] });
  await expect(both[api]([{ name: 'own', url: server.url }])).rejects.toThrow(/it needs a login: send its token/);
  const refused = both[api]([{ name: 'own', url: server.url, token: 'wrong-token' }]);
  await expect(refused).rejects.toThrow(/it refused the token of the request/);
  await expect(refused).rejects.not.toThrow(/wrong-token/);
});

test.each(apis)('%s: a call without an answer fails after --mcptimeout, and the model reads it', async (api) => {
  const server = await streamableServer(['hang']);
  const { both, asked } = await world([said(calling('hang')), said('It hangs.')], [server], { callMs: 50 });
  expect(await both[api]([{ name: 'own', url: server.url }])).toMatchObject([
    ['own', 'hang', expect.stringContaining('Request timed out')],
  ]);
  expect(asked[1]?.request.prompt).toContain('Request timed out');
});

test.each(apis)('%s: of a server with 1000 tools those that fit into half of the context are offered', async (api) => {
  const server = await streamableServer(Array.from({ length: 1000 }, (_, index) => `tool${index}`));
  const { both, asked } = await world([said('Hello.')], [server], { contextSize: 4000 });
  expect(await both[api]([{ name: 'own', url: server.url }])).toEqual([]);
  const prompt = asked[0]?.request.prompt ?? '';
  expect(prompt).toContain('"tool0"');
  expect(prompt.length).toBeLessThan(12_000);
});

test.each(apis)('%s: a name that two servers have gets the name of the second in front there', async (api) => {
  const servers = [await streamableServer(), await streamableServer()];
  const { both } = await world([said(calling('echo'), calling('b_echo')), said('Done.')], servers);
  const named = servers.map(({ url }, index) => ({ name: 'ab'[index] ?? '', url }));
  expect(await both[api](named)).toEqual([
    ['a', 'echo', 'hi'],
    ['b', 'echo', 'hi'],
  ]);
  expect(servers.map((server) => calls(server).map(({ params }) => params?.name))).toEqual([['echo'], ['echo']]);
});
