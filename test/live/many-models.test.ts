import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { anthropicClient, openaiClient } from '../sdk/clients.ts';
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

/** It stands beside all others, and is loaded by whoever needs it. */
const embeddings = 'all-MiniLM-L6-v2';

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
      [embeddings]: 'unloaded',
    });
    expect((await ask(server, '/api/tags')).value.models).toMatchObject([
      { name: 'koboldcpp/parley-mini:latest' },
      { name: 'koboldcpp/secondone:latest', size: expect.any(Number), details: { family: expect.stringMatching(/./) } },
      { name: 'koboldcpp/short:latest' },
      { name: `${embeddings}:latest`, capabilities: ['embedding'] },
    ]);
    expect((await ask(server, '/api/ps')).value.models).toHaveLength(1);
    expect((await ask(server, '/api/show', { model: 'second one' })).value.template).toContain('message');
    expect((await ask(server, '/props')).value).toMatchObject({ role: 'router' });
    expect((await ask(server, '/api/extra/version')).value).toMatchObject({ router: true, admin: 1 });

    for (const { id } of (before.data as { id: string }[]).filter((one) => one.id !== embeddings)) {
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
    const ids = async () => (await ask(server, '/v1/models')).value.data.map(({ id }: { id: string }) => id);
    copyFileSync(embeddedModel, join(folder, 'third.gguf'));
    expect(await ids()).toContain('koboldcpp/third');
    rmSync(join(folder, 'third.gguf'));
    expect(await ids()).not.toContain('koboldcpp/third');
    expect(await ask(server, '/v1/chat/completions', chat('nobody'))).toMatchObject({ status: 404 });
    // It cannot chat.
    expect(await ask(server, '/v1/chat/completions', chat(embeddings))).toMatchObject({ status: 404 });
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

  const say = { role: 'user' as const, content: 'Hi' };
  type Ask = (base: string, watched: typeof fetch) => Promise<string>;
  const dialects: Record<string, Ask> = {
    'the chat completions of OpenAI': async (baseURL, watched) => {
      const client = openaiClient(baseURL).withOptions({ fetch: watched });
      const stream = client.chat.completions.stream({ model: 'short', messages: [say], max_tokens: 4 });
      return (await stream.finalChatCompletion()).choices[0]?.message.content ?? '';
    },
    'the messages of Anthropic': async (baseURL, watched) => {
      const client = anthropicClient(baseURL).withOptions({ fetch: watched });
      return client.messages.stream({ model: 'short', messages: [say], max_tokens: 4 }).finalText();
    },
  };

  test.each(Object.entries(dialects))('%s tell in their stream how far the model is', async (_, ask) => {
    const server = await start();
    let received = '';
    const watched: typeof fetch = async (...request) => {
      const reply = await fetch(...request);
      const copy = reply.clone().body?.pipeThrough(new TextDecoderStream());
      void (async () => {
        for await (const piece of copy ?? []) received += piece;
      })();
      return reply;
    };
    const reply = ask(server.base, watched);
    const worker = await until(() => server.worker());
    // Its load takes as long as the test wants it to.
    process.kill(worker, 'SIGSTOP');
    await until(() => received.includes('\n\n') || undefined);
    process.kill(worker, 'SIGCONT');
    expect(await reply).not.toBe('');
    expect(received).toMatch(/^: loading short, \d+ %\n\n/);
    await server.stop();
  });

  test('a model that cannot be loaded while the stream waits is told in its last frame', async () => {
    const server = await start();
    const body = JSON.stringify({ ...chat('short'), stream: true });
    const reply = fetch(`${server.base}/v1/chat/completions`, { method: 'POST', body });
    const worker = await until(() => server.worker());
    process.kill(worker, 'SIGSTOP');
    const { status } = await reply;
    process.kill(worker, 'SIGKILL');
    expect(status).toBe(200);
    const text = await (await reply).text();
    expect(text).toMatch(/^: loading short, \d+ %\n\n/);
    expect(text).toMatch(/^data: {"error":{"message":"[^"]*short/m);
    await server.stop();
  });
});

async function until<Value>(found: () => Value | undefined): Promise<Value> {
  for (;;) {
    const value = found();
    if (value !== undefined) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
