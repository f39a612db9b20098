import { expect, test } from 'vitest';
import { callOf } from '../testing/doubles.ts';
import { shutdownEndpoint } from './routes.ts';

async function ask(remoteAddress: string, allowed = true) {
  let ended = false;
  const shutdown = () => {
    ended = true;
  };
  const { handle } = shutdownEndpoint(allowed ? shutdown : undefined);
  const reply = await handle(callOf('/api/extra/shutdown', '', { remoteAddress }), undefined);
  const body = 'body' in reply ? JSON.parse(String(reply.body)) : undefined;
  return { ended, status: reply.status, body };
}

test.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1'])(
  'shutdown: allowed from %s',
  async (address) => {
    expect(await ask(address)).toEqual({ ended: true, status: 200, body: { success: true, pid: process.pid } });
    expect(await ask(address, false)).toEqual({ ended: false, status: 200, body: { success: false } });
  },
);

test.each(['192.168.0.5', '128.0.0.1', '::2', 'fe80::1', '', '127.0.0.1.evil', 'x127.0.0.1'])(
  'shutdown: refused for %j',
  async (address) => {
    expect(await ask(address)).toEqual({ ended: false, status: 200, body: { success: false } });
  },
);

test('shutdown: is only at its exact path', () => {
  expect(shutdownEndpoint(undefined)).toMatchObject({ match: 'exact', method: 'POST' });
});
