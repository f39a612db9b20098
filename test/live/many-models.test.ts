import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { embeddedModel, type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-many-'));
afterAll(() => rmSync(folder, { recursive: true }));
copyFileSync(embeddedModel, join(folder, 'second one.gguf'));
writeFileSync(join(folder, 'short.kcpps'), JSON.stringify({ model_param: embeddedModel, contextsize: 512 }));

async function ask({ base }: LiveServer, path: string, body?: object) {
  const init = body ? { method: 'POST', body: JSON.stringify(body) } : {};
  const reply = await fetch(`${base}${path}`, init);
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says is looked at by the test.
  return { status: reply.status, value: (await reply.json()) as any };
}

const statusesOf = (value: { data: { id: string; status: { value: string } }[] }) =>
  Object.fromEntries(value.data.map(({ id, status }) => [id, status.value]));

const chat = (model?: string) => ({
  ...(model && { model }),
  messages: [{ role: 'user', content: 'Hi' }],
  max_tokens: 4,
});

describe('a server that loads models by name', () => {
  test('tells them in every family, and each under an id that it answers to', async () => {
    const server = await startServer(['--routermode', '--admindir', folder, '--contextsize', '1024']);
    const before = (await ask(server, '/v1/models')).value;
    expect(statusesOf(before)).toEqual({
      'koboldcpp/parley-mini': 'loaded',
      'koboldcpp/secondone': 'unloaded',
      'koboldcpp/short': 'unloaded',
    });
    expect((await ask(server, '/api/tags')).value.models).toMatchObject([
      { name: 'koboldcpp/parley-mini:latest' },
      { name: 'koboldcpp/secondone:latest', size: expect.any(Number), details: { family: expect.stringMatching(/./) } },
      { name: 'koboldcpp/short:latest' },
    ]);
    expect((await ask(server, '/api/ps')).value.models).toHaveLength(1);
    expect((await ask(server, '/api/show', { model: 'second one' })).value.template).toContain('message');
    expect((await ask(server, '/props')).value).toMatchObject({ role: 'router' });
    expect((await ask(server, '/api/extra/version')).value).toMatchObject({ router: true, admin: 1 });

    for (const { id } of before.data as { id: string }[]) {
      expect(await ask(server, '/v1/chat/completions', chat(id))).toMatchObject({ status: 200, value: { model: id } });
      expect(await ask(server, `/v1/models/${id}`)).toMatchObject({
        status: 200,
        value: { id, status: { value: 'loaded' } },
      });
    }
    const running = (await ask(server, '/api/ps')).value.models as { name: string; context_length: number }[];
    expect(running.map(({ name, context_length }) => [name, context_length])).toEqual([
      ['koboldcpp/parley-mini:latest', 1024],
      ['koboldcpp/secondone:latest', expect.any(Number)],
      ['koboldcpp/short:latest', 512],
    ]);
    expect(await ask(server, '/v1/chat/completions', chat('nobody'))).toMatchObject({ status: 404 });
    expect(await ask(server, '/api/show', { model: 'nobody' })).toMatchObject({ status: 404 });
    await server.stop();
  });
});

describe('a server that loads nothing at the start', () => {
  const start = () => startServer(['--autoswapmode', '--admindir', folder]);

  test('is well, and answers the first request that names no model', async () => {
    const server = await start();
    expect(server.worker()).toBeUndefined();
    expect(await ask(server, '/health')).toMatchObject({ status: 200 });
    expect(statusesOf((await ask(server, '/v1/models')).value)).toMatchObject({ 'koboldcpp/parley-mini': 'unloaded' });
    expect(await ask(server, '/v1/chat/completions', chat())).toMatchObject({
      status: 200,
      value: { model: 'koboldcpp/parley-mini' },
    });
    expect(server.worker()).toBeDefined();
    await server.stop();
  });

  test('loads only the one that the first request names', async () => {
    const server = await start();
    const named = { model: 'short', prompt: 'Once', max_length: 4 };
    expect(await ask(server, '/api/v1/generate', named)).toMatchObject({ status: 200 });
    expect(statusesOf((await ask(server, '/v1/models')).value)).toMatchObject({
      'koboldcpp/parley-mini': 'unloaded',
      'koboldcpp/short': 'loaded',
    });
    await server.stop();
  });
});
