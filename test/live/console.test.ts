import { expect, test } from 'vitest';
import { nativeClient, openRequest } from './client.ts';
import { liveServers } from './server.ts';

const startServer = liveServers();
const endless = { prompt: 'Once upon a time', max_length: 1600, ban_eos_token: true, temperature: 0 };
const secret = 'open-sesame';

test('console: names refused requests and the flag that helps, never the key', async () => {
  const server = await startServer(['--maxrequestsize', '1', '--quiet']);
  const ask = (path: string, init: RequestInit = {}) => fetch(`${server.base}${path}`, { method: 'POST', ...init });
  await ask('/api/v1/generate', { headers: { origin: 'https://elsewhere.example' }, body: '{}' });
  await server.says(
    'Refused POST /api/v1/generate from 127.0.0.1: 403 Pages from https://elsewhere.example may not call this server. Start it with --allowedorigins https://elsewhere.example to let them.',
  );
  await ask('/api/v1/generate', { body: 'dear diary' });
  await server.says('Refused POST /api/v1/generate from 127.0.0.1: 400 The request body is not valid JSON.');
  await ask('/api/v1/generate', { body: 'x'.repeat(2 * 1024 * 1024) });
  await server.says('413 Payload is too big. Max payload size is 1MB. (--maxrequestsize allows more)');
  await ask('/v1/chat/completions', { body: JSON.stringify({ messages: 5 }) });
  await server.says('Refused POST /v1/chat/completions from 127.0.0.1: 400 ');
  await server.stop();
  expect(server.output()).not.toContain('diary');

  const locked = await startServer(['--password', secret, '--nomodel']);
  for (let time = 0; time < 50; time += 1) {
    await fetch(`${locked.base}/api/v1/generate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}-${time}` },
    });
  }
  await locked.says(
    '401 Authentication key is missing or invalid. (the key is that of --password or one of --keyfile)',
  );
  // With its end, everything that it has written is here.
  await locked.stop();
  expect(locked.output().match(/Refused/g)).toHaveLength(5);
  expect(locked.output()).not.toContain(secret);
});

test('console: reports why a request ended early, with its number while several run', async () => {
  const server = await startServer([
    '--parallelrequests',
    '2',
    '--multiuser',
    '3',
    '--shutdowntimeout',
    '0',
    '--quiet',
  ]);
  const client = nativeClient(server.base);
  const running = async (genkey: string) => {
    const request = openRequest(server.base, '/api/v1/generate', { ...endless, genkey });
    await client.begun(genkey);
    return request;
  };
  const first = await running('first');
  const second = await running('second');
  const third = openRequest(server.base, '/api/v1/generate', { ...endless, genkey: 'third' });
  await client.performanceWhere(({ queue }) => queue === 1);
  const refused = await client.post('/api/v1/generate', { ...endless, genkey: 'fourth' });
  expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([503, expect.any(Number)]);
  await server.says('503 Server is busy; please try again later. (all places of --multiuser are taken)');
  third.hangUp();
  await server.says('#3 left the queue: the client went away');
  first.hangUp();
  await server.says('#1 (Generation stopped: the client went away)');
  await client.post('/api/extra/abort', { genkey: 'second' });
  await server.says('#2 (Generation stopped: it was stopped by its key)');
  await server.says('] BatchRequest:2, ');
  second.hangUp();
  const last = await running('last');
  await server.stop();
  expect(server.output()).toMatch(/Stopping: SIGTERM.*\n#4 \(Generation stopped: the server is stopping\)/);
  last.hangUp();
});
