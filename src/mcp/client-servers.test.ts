import { expect, test } from 'vitest';
import { AllowedUrls, clientServers } from './client-servers.ts';
import type { ServerConfig } from './config.ts';
import { fakeServers } from './testing/sessions.ts';
import { handTime } from './testing/time.ts';

test.each([
  ['https://tools.example/mcp', true],
  ['https://tools.example/mcp/', true],
  ['https://tools.example/mcp/a?b=c', true],
  ['https://TOOLS.example:443/mcp', true],
  ['https://tools.example/mcpx', false],
  ['https://tools.example/', false],
  ['https://tools.example/mcp/../admin', false],
  ['https://tools.example/mcp/%2e%2e/admin', false],
  ['https://tools.example/mcp/..%2fadmin', false],
  ['https://tools.example/mcp\\..\\admin', false],
  ['http://tools.example/mcp', false],
  ['https://tools.example:8443/mcp', false],
  ['https://tools.example.evil.example/mcp', false],
  ['https://user:word@tools.example/mcp', false],
  ['https://tools.example@evil.example/mcp', false],
  ['mcpfile:tools', false],
  ['', false],
])('AllowedUrls: %s is allowed by https://tools.example/mcp: %s', (url, isAllowed) => {
  expect(new AllowedUrls(['https://other.example/', 'https://tools.example/mcp']).has(url)).toBe(isAllowed);
});

const url = 'https://tools.example/mcp';

function world() {
  const fake = fakeServers();
  const time = handTime();
  const opened: ServerConfig[] = [];
  fake.onOpen = async (config) => void opened.push(config);
  const at = clientServers(new AllowedUrls([url]), { open: fake.open, ...time, callMs: 1000 });
  return { fake, time, opened, at };
}

test('clientServers: an address that is not allowed has no server', () => {
  expect(world().at('https://evil.example/mcp')).toBeUndefined();
});

test('clientServers: connects with the headers of the request when it is listed, and closes', async () => {
  const { fake, opened, at } = world();
  const servers = at(url, { authorization: 'Bearer mine' });
  expect(opened).toEqual([]);
  expect(await servers?.list()).toMatchObject([{ name: 'echo' }]);
  expect(opened).toMatchObject([{ url, headers: { authorization: 'Bearer mine' } }]);
  // Another request has a connection of its own.
  await at(url)?.list();
  expect(opened[1]).toMatchObject({ headers: {} });
  await servers?.close?.();
  expect(fake.of('tools.example').map(({ closed }) => closed)).toEqual([true, false]);
});

test('clientServers: a server that hangs is given up after ten seconds', async () => {
  const { fake, time, at } = world();
  fake.onOpen = () => new Promise(() => undefined);
  const listed = expect(at(url)?.list()).rejects.toThrow('it did not answer within 10 s');
  await time.pass(10_000);
  await listed;
});

test('clientServers: the reason of a failure does not have the token', async () => {
  const { fake, at } = world();
  fake.onOpen = async () => {
    throw new Error('it does not like Bearer mine-alone');
  };
  await expect(at(url, { authorization: 'Bearer mine-alone' })?.list()).rejects.toThrow(/^it does not like (?!.*mine)/);
});

test('clientServers: the number of connections is limited', async () => {
  const { at } = world();
  const all = Array.from({ length: 32 }, () => at(url));
  await Promise.all(all.map((one) => one?.list()));
  await expect(at(url)?.list()).rejects.toMatchObject({ code: 'busy' });
  await all[0]?.close?.();
  expect(await at(url)?.list()).toHaveLength(1);
});
