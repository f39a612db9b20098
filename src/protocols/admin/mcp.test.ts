import { describe, expect, test } from 'vitest';
import type { ToolServerEditor, ToolServers } from '../../core/tool-servers.ts';
import { callOf } from '../testing/doubles.ts';
import { mcpAdminEndpoints } from './mcp.ts';

const status = { name: 'a', type: 'address', state: 'connected', tools: ['echo'] } as const;
const tools = { catalog: { servers: () => [status] } } as unknown as ToolServers;

function world(password?: string) {
  const changes: unknown[] = [];
  const editor: ToolServerEditor = {
    file: '/servers.json',
    add: async (name, entry) => {
      if (name === 'bad') throw new Error('It cannot be used.');
      changes.push(['add', name, entry]);
    },
    remove: async (name) => void changes.push(['remove', name]),
  };
  const endpoints = mcpAdminEndpoints({ access: { enabled: true, password }, tools, editor });
  const send = async (path: string, body: unknown = {}, key?: string) => {
    const endpoint = endpoints.find((one) => one.path === path);
    const call = callOf(path, body);
    const headers = key === undefined ? call.headers : { ...call.headers, authorization: `Bearer ${key}` };
    const reply = await endpoint?.handle({ ...call, headers }, undefined);
    if (!reply || !('body' in reply)) throw new Error('no whole reply');
    return JSON.parse(String(reply.body)) as unknown;
  };
  return { changes, send };
}

describe('MCP servers for administrators', () => {
  test('list: servers, their state, and who may change them', async () => {
    expect(await world().send('/api/extra/mcp')).toEqual({
      servers: [status],
      admin: { enabled: true, allowed: true },
      file: '/servers.json',
    });
    expect(await world('secret').send('/api/extra/mcp')).toMatchObject({
      admin: { enabled: true, allowed: false },
      file: null,
    });
  });

  test('list: empty and closed without --admin and --mcpfile', async () => {
    const [list] = mcpAdminEndpoints({ access: { enabled: false, password: undefined } });
    const reply = await list?.handle(callOf('/api/extra/mcp', {}), undefined);
    expect(reply && 'body' in reply && JSON.parse(String(reply.body))).toEqual({
      servers: [],
      admin: { enabled: false, allowed: false },
      file: null,
    });
  });

  test('add and remove: with the admin password only', async () => {
    const { send, changes } = world('secret');
    const entry = { name: 'far', url: 'https://a.example/mcp', headers: { x: 'y' }, command: 'rm' };
    expect(await send('/api/admin/mcp/add', entry)).toMatchObject({
      success: false,
      error: expect.stringContaining('Not allowed'),
    });
    expect(await send('/api/admin/mcp/add', entry, 'wrong')).toMatchObject({ success: false });
    expect(changes).toEqual([]);
    expect(await send('/api/admin/mcp/add', entry, 'secret')).toEqual({ success: true });
    expect(await send('/api/admin/mcp/remove', { name: 'far' }, 'secret')).toEqual({ success: true });
    expect(changes).toEqual([
      ['add', 'far', { url: 'https://a.example/mcp', headers: { x: 'y' } }],
      ['remove', 'far'],
    ]);
  });

  test.each([
    [{ name: 'bad', url: 'http://a/' }, 'It cannot be used.'],
    [{ name: '', url: 'http://a/' }, 'The name'],
    [{ name: 'a\nb', url: 'http://a/' }, 'The name'],
    [{ name: 'a', url: 5 }, 'url'],
  ])('add: refuses %j with a reason', async (body, reason) => {
    const { send, changes } = world();
    expect(await send('/api/admin/mcp/add', body)).toEqual({
      success: false,
      error: expect.stringContaining(reason),
    });
    expect(changes).toEqual([]);
  });
});
