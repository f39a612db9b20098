import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { channelPath, openChannel, stopInstance } from './instance-channel.ts';
import { ownChannel } from './testing/own-channel.ts';

async function instance(path = ownChannel()) {
  let stopped = 0;
  const server = await openChannel(path, () => void stopped++);
  onTestFinished(() => void server.close());
  return { path, stopped: () => stopped };
}

test('stopInstance: stops the instance and returns its process id', async () => {
  const { path, stopped } = await instance();
  expect(await stopInstance(path)).toBe(process.pid);
  expect(stopped()).toBe(1);
});

test('stopInstance: is undefined without an instance', async () => {
  expect(await stopInstance(ownChannel())).toBeUndefined();
});

test.each(['', 'no JSON', '{"pid":"x"}', '{"pid":-1}', '[]', 'x'.repeat(2000)])(
  'stopInstance: is undefined for the reply %j',
  async (reply) => {
    const path = ownChannel();
    if (process.platform !== 'win32') await (await openChannel(path, () => undefined)).close();
    const server = createServer((socket) => void socket.on('error', () => undefined).end(reply));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    onTestFinished(() => void server.close());
    expect(await stopInstance(path)).toBeUndefined();
  },
);

test('openChannel: ignores other requests', async () => {
  const { path, stopped } = await instance();
  await new Promise<void>((resolve) => {
    const socket = createConnection(path, () => socket.write('POST / HTTP/1.1\r\n\r\n'));
    socket.on('error', () => undefined).on('close', () => resolve());
  });
  expect(stopped()).toBe(0);
});

test.skipIf(process.platform === 'win32')('openChannel: replaces a stale socket, in a private folder', async () => {
  const { path } = await instance();
  rmSync(path);
  writeFileSync(path, 'left by a process that was killed');
  const { stopped } = await instance(path);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  expect(await stopInstance(path)).toBe(process.pid);
  expect(stopped()).toBe(1);
});

test.skipIf(process.platform === 'win32')('openChannel: refuses a folder that is open to other accounts', async () => {
  const path = ownChannel();
  mkdirSync(dirname(path), { recursive: true });
  chmodSync(dirname(path), 0o777);
  await expect(openChannel(path, () => undefined)).rejects.toThrow('is open to other accounts');
});

test('channelPath: fits into the limit of the system, for each port and each home', () => {
  const system = (home: string) => ({ home, platform: 'linux', environment: {} });
  expect(channelPath(5001, system('/home/me'))).toBe('/home/me/.cache/parley/instances/5001.sock');
  const long = channelPath(5001, system(`/${'x'.repeat(100)}`), '/tmp');
  expect(long).toMatch(/^\/tmp\/parley-\S+\/5001\.sock$/);
  expect(channelPath(5002, { ...system('C:\\'), platform: 'win32' })).toMatch(/^\\\\\.\\pipe\\parley-\S+-5002$/);
});
