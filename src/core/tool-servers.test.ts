import { expect, test } from 'vitest';
import { onlyTools, type ToolServers } from './tool-servers.ts';

const inputSchema = { type: 'object' };
const servers: ToolServers = {
  list: async () => ['weather', 'time'].map((name) => ({ name, inputSchema })),
  call: async ({ name }) => ({ content: [{ type: 'text', text: name }] }),
};
const options = { signal: new AbortController().signal };

test('onlyTools: lists and calls the named tools, and no others', async () => {
  const only = onlyTools(servers, ['time'], () => undefined);
  expect((await only.list()).map(({ name }) => name)).toEqual(['time']);
  expect(await only.call({ name: 'time' }, options)).toMatchObject({ content: [{ text: 'time' }] });
  await expect(only.call({ name: 'weather' }, options)).rejects.toThrow('no tool weather');
});

test('onlyTools: tells which names no server has', async () => {
  const told: (readonly string[])[] = [];
  const only = onlyTools(servers, ['time', 'tiem'], (names) => void told.push(names));
  expect(await only.list()).toHaveLength(1);
  expect(told).toEqual([['tiem']]);
});
