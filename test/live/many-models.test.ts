import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { anthropicClient, openaiClient } from '../sdk/clients.ts';
import { neverEnding } from './client.ts';
import { type LiveServer, untrainedModel, untrainedServers } from './server.ts';

const startServer = untrainedServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-many-'));
afterAll(() => rmSync(folder, { recursive: true }));
copyFileSync(untrainedModel(), join(folder, 'second one.gguf'));
writeFileSync(join(folder, 'short.kcpps'), JSON.stringify({ model_param: untrainedModel(), contextsize: 512 }));

async function ask({ base }: LiveServer, path: string, body?: object) {
  const init = body ? { method: 'POST', body: JSON.stringify(body) } : {};
  const reply = await fetch(`${base}${path}`, init);
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says is looked at by the test.
  return { status: reply.status, value: (await reply.json()) as any };
}

/** It is in memory beside all others, and is loaded on demand. */
const embeddings = 'all-MiniLM-L6-v2';

const statusesOf = (value: { data: { id: string; status: { value: string } }[] }) =>
  Object.fromEntries(value.data.map(({ id, status }) => [id, status.value]));

const chat = (model?: string) => ({
  ...(model && { model }),
  messages: [{ role: 'user', content: 'Hi' }],
  max_tokens: 4,
});

describe('--routermode: lists', () => {
  test('every dialect lists the models, each under an id that it accepts', async () => {
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
      { name: `${embeddings}:latest`, capabilities: ['embedding'] },
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
    const ids = async () => (await ask(server, '/v1/models')).value.data.map(({ id }: { id: string }) => id);
    copyFileSync(untrainedModel(), join(folder, 'third.gguf'));
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

describe('model names', () => {
  const inside = mkdtempSync(join(tmpdir(), 'parley-names-'));
  afterAll(() => rmSync(inside, { recursive: true }));
  mkdirSync(join(inside, 'sub'));
  for (const name of ['small.gguf', 'sub/one.gguf', 'one.gguf']) copyFileSync(untrainedModel(), join(inside, name));
  writeFileSync(join(inside, 'small.kcpps'), JSON.stringify({ model_param: untrainedModel(), contextsize: 512 }));
  const flags = ['--autoswapmode', '--admindir', inside, '--contextsize', '1024'];

  test('every model has one id in all lists, and requests can use it', async () => {
    const server = await startServer(flags);
    const ids = ['parley-mini', 'one.gguf', 'small.gguf', 'small.kcpps', 'sub/one'].map((name) => `koboldcpp/${name}`);
    const listed = (await ask(server, '/v1/models')).value.data.map(({ id }: { id: string }) => id);
    expect(listed).toEqual(ids);
    const tags = (await ask(server, '/api/tags')).value.models.map(({ name }: { name: string }) => name);
    expect(tags).toEqual([...ids, embeddings].map((id) => `${id}:latest`));
    for (const id of ids) {
      expect(await ask(server, '/v1/chat/completions', chat(id))).toMatchObject({ status: 200, value: { model: id } });
      expect(await ask(server, `/v1/models/${id}`)).toMatchObject({ value: { id, status: { value: 'loaded' } } });
      expect(await ask(server, '/api/show', { model: `${id}:latest` })).toMatchObject({
        value: { modelfile: `FROM ${id}\n` },
      });
    }
    // The short names of before.
    expect(await ask(server, '/v1/chat/completions', chat('small'))).toMatchObject({
      value: { model: 'koboldcpp/small.kcpps' },
    });
    await server.stop();
  });

  test('--modelalias: applies in all dialects, and common embedding model names select the default one', async () => {
    const aliases = ['claude-*=sub/one', 'gpt-*=small.kcpps', 'nothing=nowhere'];
    const server = await startServer([...flags, ...aliases.flatMap((alias) => ['--modelalias', alias])]);
    await server.says('--modelalias nothing=nowhere: there is no model nowhere.');
    expect(await ask(server, '/v1/messages', chat('claude-x'))).toMatchObject({
      status: 200,
      value: { model: 'koboldcpp/sub/one' },
    });
    expect(await ask(server, '/v1/chat/completions', chat('gpt-4o'))).toMatchObject({
      value: { model: 'koboldcpp/small.kcpps' },
    });
    expect(await ask(server, '/v1/models/gpt-4o')).toMatchObject({ value: { id: 'koboldcpp/small.kcpps' } });
    const embed = (model: string) => ask(server, '/v1/embeddings', { model, input: 'Hi' });
    expect(await embed('text-embedding-ada-002')).toMatchObject({ status: 200, value: { model: embeddings } });
    expect(await embed('claude-x')).toMatchObject({ status: 200, value: { model: 'koboldcpp/sub/one' } });
    expect(await embed('nobody')).toMatchObject({ status: 404 });
    await server.stop();
  });

  test('an edited config takes effect with the next request that names it', async () => {
    const server = await startServer(flags);
    const config = (contextsize: number) =>
      writeFileSync(join(inside, 'edited.kcpps'), JSON.stringify({ model_param: untrainedModel(), contextsize }));
    const contextOf = async () => {
      await ask(server, '/v1/chat/completions', chat('edited'));
      return (await ask(server, '/v1/models/edited')).value.context_length;
    };
    config(512);
    expect(await contextOf()).toBe(512);
    config(1024);
    expect(await contextOf()).toBe(1024);
    await server.says('edited has changed and is read anew.');
    await server.stop();
  });

  test('a background response of a non-default model can be cancelled and deleted', async () => {
    const server = await startServer(flags);
    const expected = {
      model: 'sub/one',
      input: 'Tell a long story.',
      background: true,
      max_output_tokens: 1000,
      ...neverEnding,
    };
    const { id } = (await ask(server, '/v1/responses', expected)).value;
    const post = await fetch(`${server.base}/v1/responses/${id}/cancel`, { method: 'POST' });
    expect(await post.json()).toMatchObject({ id, status: 'cancelled', model: 'koboldcpp/sub/one' });
    const deleted = await fetch(`${server.base}/v1/responses/${id}`, { method: 'DELETE' });
    expect(await deleted.json()).toMatchObject({ id, deleted: true });
    await server.stop();
  });
});

describe('--autoswapmode', () => {
  const start = () => startServer(['--autoswapmode', '--admindir', folder]);

  test('is healthy, and answers a request without a model name', async () => {
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

  test('loads what the configs ask for with preload, which is then warm, and switches from no pinned model', async () => {
    const own = mkdtempSync(join(tmpdir(), 'parley-preload-'));
    const config = (name: string, more: object) =>
      writeFileSync(
        join(own, `${name}.kcpps`),
        JSON.stringify({ model_param: untrainedModel(), contextsize: 512, ...more }),
      );
    config('first', { preload: 1, idle: '1h' });
    config('second', {});
    const server = await startServer(['--autoswapmode', '--admindir', own, '--pin']);
    const statuses = async () => statusesOf((await ask(server, '/v1/models')).value);
    await until(async () => (await statuses())['koboldcpp/first'] === 'loaded' || undefined);
    expect(await statuses()).toMatchObject({
      'koboldcpp/parley-mini': 'unloaded',
      'koboldcpp/second': 'unloaded',
    });
    const loaded = { status: 200, value: { model: 'koboldcpp/first' } };
    expect(await ask(server, '/v1/chat/completions', chat('warm'))).toMatchObject(loaded);
    expect(await ask(server, '/v1/models/warm')).toMatchObject({ status: 200, value: { id: 'koboldcpp/first' } });
    const running = (await ask(server, '/api/ps')).value.models as { expires_at: string }[];
    expect(running.map(({ expires_at }) => Date.parse(expires_at) < Date.now() + 3_600_000)).toEqual([true]);
    const swap = await ask(server, '/api/admin/reload_config', { filename: 'second.kcpps' });
    expect(swap.value).toMatchObject({ success: false });
    expect(server.output()).toContain('parley-mini is pinned (--pin) and stays loaded');
    await server.stop();
    rmSync(own, { recursive: true });
  });

  test('loads only the model of the first request', async () => {
    const server = await start();
    const named = { model: 'short', prompt: 'Once', max_length: 4 };
    expect(await ask(server, '/api/v1/generate', named)).toMatchObject({ status: 200 });
    expect(statusesOf((await ask(server, '/v1/models')).value)).toMatchObject({
      'koboldcpp/parley-mini': 'unloaded',
      'koboldcpp/short': 'loaded',
    });
    await server.stop();
  });

  const message = { role: 'user' as const, content: 'Hi' };
  type Ask = (base: string, watched: typeof fetch) => Promise<string>;
  const dialects: Record<string, Ask> = {
    'the chat completions of OpenAI': async (baseURL, watched) => {
      const client = openaiClient(baseURL).withOptions({ fetch: watched });
      const stream = client.chat.completions.stream({
        model: 'short',
        messages: [message],
        max_tokens: 4,
        ...neverEnding,
      });
      return (await stream.finalChatCompletion()).choices[0]?.message.content ?? '';
    },
    'the messages of Anthropic': async (baseURL, watched) => {
      const client = anthropicClient(baseURL).withOptions({ fetch: watched });
      return client.messages.stream({ model: 'short', messages: [message], max_tokens: 4, ...neverEnding }).finalText();
    },
  };

  test.each(Object.entries(dialects))('%s: the stream reports the load progress', async (_, ask) => {
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

  test('failed load: the last frame of a waiting stream is the error', async () => {
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

async function until<Value>(found: () => Value | undefined | Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const value = await found();
    if (value !== undefined) return value;
    await wait(5);
  }
}

describe('presets', () => {
  const inside = mkdtempSync(join(tmpdir(), 'parley-presets-'));
  afterAll(() => rmSync(inside, { recursive: true }));
  const write = (name: string, config: object) => writeFileSync(join(inside, name), JSON.stringify(config));
  copyFileSync(untrainedModel(), join(inside, 'plain.gguf'));
  write('cold.kcpps', {
    base: 'plain',
    gendefaults: { temperature: 0, banned_tokens: ['e'] },
    systemprompt: 'Be brief.',
  });
  write('broken.kcpps', { base: 'plain', contextsize: 512 });
  write('lost.kcpps', { base: 'nobody' });
  const flags = ['--autoswapmode', '--admindir', inside, '--contextsize', '1024'];
  const id = 'koboldcpp/cold';

  test('every dialect serves a preset with the engine of its base', async () => {
    const server = await startServer(flags);
    await server.says('The preset broken cannot be used: A preset cannot change how its base is loaded: contextsize');
    await server.says('The preset lost cannot be used: Its base, nobody, is no model of this server.');
    expect(statusesOf((await ask(server, '/v1/models')).value)).toEqual({
      'koboldcpp/parley-mini': 'unloaded',
      'koboldcpp/plain': 'unloaded',
      [id]: 'unloaded',
    });

    // The same text as the base with these settings, and a stop text that this text has.
    const sampling = { temperature: 0, banned_tokens: ['e'] };
    const messages = [{ role: 'user', content: 'Hi' }];
    const system = { role: 'system', content: 'Be brief.' };
    const explicit = { model: 'plain', messages: [system, ...messages], max_tokens: 12, ...sampling };
    const whole: string = (await ask(server, '/v1/chat/completions', explicit)).value.choices[0].message.content;
    const openai = await ask(server, '/v1/chat/completions', { model: 'cold', messages, max_tokens: 12 });
    expect(openai.value).toMatchObject({ model: id, choices: [{ message: { content: whole } }] });
    const stop = whole.trim().slice(2, 4);
    expect(stop).toHaveLength(2);
    const cut = whole.slice(0, whole.indexOf(stop));
    write('cold.kcpps', { base: 'plain', gendefaults: { ...sampling, stop: [stop] }, systemprompt: 'Be brief.' });
    const after = await ask(server, '/v1/chat/completions', { model: 'plain:cold', messages, max_tokens: 12 });
    expect(after.value.choices[0]).toMatchObject({ message: { content: cut }, finish_reason: 'stop' });
    const own = await ask(server, '/v1/chat/completions', {
      model: 'cold',
      messages,
      max_tokens: 12,
      stop: ['\u0001'],
    });
    expect(own.value.choices[0].message.content).toBe(whole);
    const options = { num_predict: 12 };
    const ollama = await ask(server, '/api/chat', { model: 'cold', messages, options, stream: false });
    expect(ollama.value).toMatchObject({ model: 'cold', message: { content: cut }, done_reason: 'stop' });
    const prompt = (await ask(server, '/apply-template', { model: 'cold', messages })).value.prompt;
    const native = await ask(server, '/api/v1/generate', { model: 'cold', prompt, max_length: 12, trim_stop: true });
    expect(native.value.results[0].text).toBe(cut);

    expect(statusesOf((await ask(server, '/v1/models')).value)).toEqual({
      'koboldcpp/parley-mini': 'unloaded',
      'koboldcpp/plain': 'loaded',
      [id]: 'loaded',
    });
    const running = (await ask(server, '/api/ps')).value.models.map(({ name }: { name: string }) => name);
    expect(running).toEqual(['koboldcpp/plain:latest', `${id}:latest`]);
    expect(server.output().match(/^Loaded /gm)).toHaveLength(1);

    const refused = { status: 503, value: { error: { message: expect.stringContaining('A preset cannot change') } } };
    expect(await ask(server, '/v1/chat/completions', chat('broken'))).toMatchObject(refused);
    expect(await ask(server, '/api/chat', { ...chat('lost'), stream: false })).toMatchObject({
      value: { error: expect.stringContaining('Its base, nobody, is no model of this server.') },
    });

    // Ollama's clients make presets too, also in place of one that cannot be used.
    const preset = { model: 'lost', from: 'plain', parameters: { ...sampling, stop: [stop] }, system: 'Be brief.' };
    expect(await ask(server, '/api/create', { ...preset, stream: false })).toEqual({
      status: 200,
      value: { status: 'success' },
    });
    const again = await ask(server, '/api/chat', { model: 'lost', messages, options, stream: false });
    expect(again.value).toMatchObject({ model: 'lost', message: { content: cut } });
    expect((await ask(server, '/api/show', { model: 'lost' })).value).toMatchObject({
      system: 'Be brief.',
      details: { parent_model: 'plain' },
    });
    expect(await ask(server, '/api/create', { ...preset, model: 'plain' })).toMatchObject({ status: 400 });
    const body = JSON.stringify({ model: 'lost' });
    expect((await fetch(`${server.base}/api/delete`, { method: 'DELETE', body })).status).toBe(200);
    expect(await ask(server, '/api/chat', { model: 'lost', messages, stream: false })).toMatchObject({ status: 404 });
    expect(server.output().match(/^Loaded /gm)).toHaveLength(1);
    await server.stop();
  });
});
