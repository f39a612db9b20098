import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { echoTool, playedTools, textResult } from '../../core/testing/tool-servers.ts';
import { ToolCallError, type ToolServers } from '../../core/tool-servers.ts';
import { serve } from '../../http/testing/world.ts';
import { bindAll } from '../testing/bind.ts';
import { mcpEndpoints } from './routes.ts';

/** The official MCP client against the endpoint. */
async function world(tools: ToolServers | undefined, options: ConstructorParameters<typeof Client>[1] = {}) {
  const product = { name: 'Parley', version: '1.2.3' };
  const { port } = await serve(bindAll(mcpEndpoints({ toolsOf: () => tools, product }), undefined));
  const client = new Client({ name: 'test', version: '1' }, options);
  const errors: Error[] = [];
  client.onerror = (error) => errors.push(error);
  onTestFinished(() => client.close());
  const connect = () => client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
  return { client, connect, errors };
}

const echoing = playedTools(async ({ arguments: given }, { progress }) => {
  progress?.({ progress: 1, total: 1 });
  return textResult(String(given?.message));
}).servers;

test('MCP SDK: connects, and accepts 405 for its stream', async () => {
  const { client, connect, errors } = await world(echoing);
  await connect();
  expect(client.getServerVersion()).toEqual({ name: 'parley', version: '1.2.3' });
  await client.ping();
  expect(errors).toEqual([]);
});

test('MCP SDK: falls back from the newest protocol to initialize', async () => {
  const { client, connect } = await world(echoing, { versionNegotiation: { mode: 'auto' } });
  await connect();
  expect((await client.listTools()).tools).toHaveLength(1);
});

test('MCP SDK: lists and calls tools', async () => {
  const { client, connect } = await world(echoing);
  await connect();
  expect((await client.listTools()).tools).toEqual([echoTool]);
  expect(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })).toEqual(textResult('hi'));
});

test('MCP SDK: receives progress', async () => {
  const { client, connect } = await world(echoing);
  await connect();
  const steps: unknown[] = [];
  const options = { onprogress: (step: unknown) => steps.push(step) };
  expect(await client.callTool({ name: 'echo', arguments: { message: 'hi' } }, options)).toEqual(textResult('hi'));
  expect(steps).toEqual([{ progress: 1, total: 1 }]);
});

test('MCP SDK: throws the error of a tool server with its code', async () => {
  const failing = playedTools(() => Promise.reject(new ToolCallError(-32042, 'not today', { why: 'rain' })));
  const { client, connect } = await world(failing.servers);
  await connect();
  await expect(client.callTool({ name: 'echo' })).rejects.toMatchObject({ code: -32042, data: { why: 'rain' } });
});

test('MCP SDK: gets a clear error without tool servers', async () => {
  const { connect } = await world(undefined);
  await expect(connect()).rejects.toThrow('No tool servers are configured. Start the server with --mcpfile FILE.');
});
