import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeRandomModel } from '../../bench/random-model.ts';
import { anthropicClient, ollamaClient, openaiClient } from '../sdk/clients.ts';
import { type NativeClient, nativeClient, neverEnding, openRequest, saying } from './client.ts';
import { freePort } from './free-port.ts';
import { embeddedModel, type LiveServer, liveServers, untrainedModel, untrainedServers } from './server.ts';

const startServer = liveServers();
const startUntrained = untrainedServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-swaps-'));
const outside = mkdtempSync(join(tmpdir(), 'parley-outside-'));
afterAll(() => {
  for (const path of [folder, outside]) rmSync(path, { recursive: true });
});

const inFolder = (name: string, content: string | object) =>
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));

beforeAll(async () => {
  copyFileSync(untrainedModel(), join(folder, 'copy.gguf'));
  symlinkSync('copy.gguf', join(folder, 'linked.gguf'));
  mkdirSync(join(folder, 'deeper'));
  copyFileSync(untrainedModel(), join(folder, 'deeper', 'below.gguf'));
  const small = { layers: 2, width: 64, heads: 4, kvHeads: 4, feedForward: 128, vocabulary: 2000 };
  await writeRandomModel(join(folder, 'nonsense.gguf'), { ...small, contextLength: 512, byteTokens: 'text' });
  inFolder('small.kcpps', { model_param: join(folder, 'copy.gguf'), contextsize: 512, genlimit: 5, threads: 1 });
  inFolder('plain.kcpps', { model_param: join(folder, 'nonsense.gguf'), contextsize: 256, jinja: true, threads: 1 });
  inFolder('base.kcpps', { contextsize: 768, genlimit: 3, threads: 1 });
  inFolder('wrong.kcpps', { contextsize: 'many', threads: 1 });
  inFolder('broken.kcpps', '{ "contextsize": ');
  inFolder('lost.kcpps', { model_param: join(folder, 'nowhere.gguf') });
  inFolder('damaged.gguf', readFileSync(embeddedModel).subarray(0, 3000).toString('latin1'));
  // Its head is whole, and what it promises is not there.
  writeFileSync(join(folder, 'cut.gguf'), readFileSync(embeddedModel).subarray(0, -100_000));
  // Whole, and of a kind that no engine knows.
  const strange = readFileSync(embeddedModel);
  strange.write('lxama', strange.indexOf('llama', strange.indexOf('general.architecture')));
  writeFileSync(join(folder, 'strange.gguf'), strange);
  copyFileSync(untrainedModel(), join(outside, 'secret.gguf'));
  symlinkSync(join(outside, 'secret.gguf'), join(folder, 'escape.gguf'));
});

/** Room for a reply that no machine ends before the test does. */
const context = 32_768;
const endless = { prompt: 'Once', max_length: 32_000, ban_eos_token: true };
const server = (flags: readonly string[]) =>
  startUntrained(['--admindir', folder, '--contextsize', String(context), ...flags]);

async function reload(client: NativeClient, filename: unknown, more: object = {}): Promise<boolean> {
  const answer = await client.post('/api/admin/reload_config', { filename, ...more });
  expect(answer.status).toBe(200);
  return (answer.json() as { success: boolean }).success;
}

const contextOf = async (client: NativeClient) =>
  ((await client.get('/api/extra/true_max_context_length')).json() as { value: number }).value;

/** Switches, and waits until the server has. */
async function swapped(live: LiveServer, client: NativeClient, filename: string, more: object = {}): Promise<void> {
  const before = switchesOf(live);
  expect(await reload(client, filename, more)).toBe(true);
  await expect.poll(() => switchesOf(live)).toBeGreaterThan(before);
}

/** The lines of the console about switches. It also shows replies, which may end in "now." themselves. */
const switchesOf = (live: LiveServer) => live.output().match(/Serving \S+(?: model)? now\./g)?.length ?? 0;

const message = { role: 'user' as const, content: 'Say hello.' };
/** An untrained model may well say nothing. */
const hello = saying('Hello.');

describe('--routermode --maxmodels 1', () => {
  let live: LiveServer;
  beforeAll(async () => {
    live = await server(['--routermode', '--maxmodels', '1']);
  });
  afterAll(() => live.stop());

  const dialects: Record<string, (model: string | undefined) => Promise<string>> = {
    'chat completions': async (model = '') => {
      const reply = await openaiClient(live.base).chat.completions.create({
        model,
        messages: [message],
        max_tokens: 16,
        ...hello,
      });
      return `${reply.choices[0]?.message.content}`;
    },
    completions: async (model = '') => {
      const reply = await openaiClient(live.base).completions.create({
        model,
        prompt: 'Once',
        max_tokens: 16,
        ...hello,
      });
      return `${reply.choices[0]?.text}`;
    },
    responses: async (model = '') => {
      const reply = await openaiClient(live.base).responses.create({
        model,
        input: 'Hello',
        max_output_tokens: 16,
        ...hello,
      });
      return reply.output_text;
    },
    messages: async (model = '') => {
      const reply = await anthropicClient(live.base).messages.create({
        model,
        messages: [message],
        max_tokens: 16,
        ...hello,
      });
      return reply.content.map((block) => ('text' in block ? block.text : '')).join('');
    },
    'Ollama chat': async (model = '') => {
      const options = { num_predict: 16, ...hello };
      return (await ollamaClient(live.base).chat({ model, messages: [message], options })).message.content ?? '';
    },
    'Ollama generate': async (model = '') => {
      const options = { num_predict: 16, ...hello };
      return (await ollamaClient(live.base).generate({ model, prompt: 'Once', options })).response ?? '';
    },
    'the native API': async (model) => {
      const named = model === undefined ? {} : { model };
      return (await nativeClient(live.base).generate({ prompt: 'Once', max_length: 16, ...hello, ...named })).text;
    },
  };

  test.each(Object.keys(dialects))('%s: loads the named model, or the default without a name', async (name) => {
    const ask = dialects[name] as (model?: string) => Promise<string>;
    expect(await ask('copy')).not.toBe('');
    await live.says('parley-mini is unloaded to make room');
    expect(await ask(undefined)).not.toBe('');
    expect(await ask('small:latest')).not.toBe('');
  });

  test('unknown model name: 404 in the form of each dialect', async () => {
    for (const ask of Object.values(dialects)) {
      const error = await ask('nobody').catch((thrown: unknown) => thrown);
      expect(String((error as Error).message)).toMatch(/nobody/);
      const status =
        (error as { status?: number; status_code?: number }).status ?? (error as { status_code?: number }).status_code;
      if (status !== undefined) expect(status).toBe(404);
    }
  });

  test('limits of a config apply to its model only', async () => {
    const client = nativeClient(live.base);
    expect((await client.generate({ prompt: 'Once', max_length: 20, model: 'small' })).completion_tokens).toBe(5);
    expect((await client.generate({ prompt: 'Once', max_length: 20, ban_eos_token: true })).completion_tokens).toBe(20);
  });

  test.each([
    ['damaged', 'damaged'],
    ['cut', 'cut'],
    ['wrong', 'contextsize'],
    ['broken', 'broken'],
    ['lost', 'nowhere.gguf'],
  ])('%s.*: is refused with the reason, and other models still answer', async (name, reason) => {
    const client = nativeClient(live.base);
    const answer = await client.post('/v1/chat/completions', { model: name, messages: [message], max_tokens: 2 });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).toContain(reason);
    expect((await client.generate({ prompt: 'Once', max_length: 2 })).completion_tokens).toBeGreaterThan(0);
  });

  test.each(['escape', '../secret', `${outside}/secret.gguf`, 'deeper/../copy', '..'])(
    'name %s: selects no file outside the folder',
    async (model) => {
      const answer = await nativeClient(live.base).post('/v1/completions', { model, prompt: 'Once', max_tokens: 2 });
      expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('model_not_found')]);
    },
  );

  test('models in subfolders and links inside the folder are listed', async () => {
    const client = nativeClient(live.base);
    for (const model of ['below', 'deeper/below.gguf', 'linked']) {
      expect((await client.generate({ prompt: 'Once', max_length: 16, ...hello, model })).text).not.toBe('');
    }
  });

  test('token counting uses the named model', async () => {
    const client = nativeClient(live.base);
    const count = async (model?: string) =>
      (await client.post('/tokenize', { content: 'Once upon a time', ...(model ? { model } : {}) })).json();
    const [first, other, again] = [await count(), await count('nonsense'), await count('copy')];
    expect(other).not.toEqual(first);
    expect(again).toEqual(first);
  });
});

describe('--routermode --maxmodels 2', () => {
  test('two models answer at the same time, each with its own chat format and limits', async () => {
    const live = await server(['--routermode', '--maxmodels', '2']);
    const client = nativeClient(live.base);
    await client.generate({ prompt: 'Once', max_length: 1, model: 'plain' });
    const path = '/api/extra/generate/stream';
    const stream = openRequest(live.base, path, { ...endless, model: 'parley-mini' });
    await stream.begun;
    // The long one still runs: this one did not wait for it.
    const onPlain = await client.generate({ prompt: 'Once', max_length: 3, ban_eos_token: true, model: 'plain' });
    expect(onPlain.completion_tokens).toBe(3);
    expect((await client.performance()).idle).toBe(0);
    stream.hangUp();
    const written = async (model: string) =>
      ((await client.post('/apply-template', { model, messages: [message] })).json() as { prompt: string }).prompt;
    expect(await written('plain')).toContain('user: Say hello.\n');
    expect(await written('parley-mini')).toContain('<|im_start|>user\nSay hello.');
    const reply = await client.post('/v1/completions', { model: 'plain', prompt: 'Once', max_tokens: 2 });
    expect(reply.json()).toMatchObject({ model: 'koboldcpp/plain' });
    expect(live.output()).not.toContain('to make room');
    await live.stop();
  });
});

describe('--admin', () => {
  let live: LiveServer;
  let client: NativeClient;
  beforeAll(async () => {
    live = await server(['--admin', '--multiuser', '20']);
    client = nativeClient(live.base);
  });
  afterAll(() => live.stop());

  test('list_options: files of the folder, the initial model, and none', async () => {
    const options = (await client.get('/api/admin/list_options')).json() as string[];
    expect(options).toEqual(expect.arrayContaining(['small.kcpps', 'deeper/below.gguf', 'linked.gguf']));
    expect(options.slice(-2)).toEqual(['initial_model', 'unload_model']);
    expect(options).not.toContain('escape.gguf');
  });

  test('reload_config: a config, a model over a base config, none, and the initial model again', async () => {
    await swapped(live, client, 'small.kcpps');
    expect(await contextOf(client)).toBe(512);
    expect((await client.generate({ prompt: 'Once', max_length: 20 })).completion_tokens).toBe(5);
    await live.says('CtxLimit:6/512');
    const figures = (await client.get('/metrics')).text;
    expect(figures).toContain('llamacpp:tokens_predicted_total{model="small"} 5\n');
    expect(figures.match(/^parley_model_ready.*$/gm)).toEqual(['parley_model_ready{model="small"} 1']);
    expect((await client.get('/slots')).json()).toMatchObject([{ n_ctx: 512 }]);
    await swapped(live, client, 'copy.gguf', { baseconfig: 'base.kcpps' });
    expect(await contextOf(client)).toBe(768);
    expect((await client.generate({ prompt: 'Once', max_length: 20 })).completion_tokens).toBe(3);
    await swapped(live, client, 'unload_model');
    expect((await client.post('/api/v1/generate', { prompt: 'Once' })).text).toContain('No text model is loaded');
    expect(live.worker()).toBeUndefined();
    await swapped(live, client, 'initial_model');
    expect(await contextOf(client)).toBe(context);
    expect((await client.generate({ prompt: 'Once', max_length: 16, ...hello })).text).not.toBe('');
  });

  /** A stream that runs as long as a test needs it. */
  async function longStream() {
    const stream = openRequest(live.base, '/api/extra/generate/stream', endless);
    await stream.begun;
    return stream;
  }

  /** A long stream, and a swap that has to wait for its end. */
  async function swapBehindStream(filename: string) {
    const stream = await longStream();
    expect(await reload(client, filename)).toBe(true);
    return stream;
  }

  test('swap under load: every request is answered, later ones by the new model', async () => {
    const [openai, anthropic, ollama] = [openaiClient(live.base), anthropicClient(live.base), ollamaClient(live.base)];
    const model = 'any';
    const holder = await longStream();
    const early = [
      client.stream({ prompt: 'Once', max_length: 60, ban_eos_token: true }).then(({ frames }) => frames.length),
      collected(
        openai.chat.completions.create({ model, messages: [message], max_tokens: 30, stream: true, ...neverEnding }),
      ),
      collected(
        anthropic.messages.create({ model, messages: [message], max_tokens: 30, stream: true, ...neverEnding }),
      ),
      collected(
        ollama.chat({ model, messages: [message], stream: true, options: { num_predict: 30, ...neverEnding } }),
      ),
      openai.responses
        .create({ model, input: 'Hello', max_output_tokens: 20, ...neverEnding })
        .then(({ output_text: text }) => text.length),
      client
        .generate({ prompt: 'Twice', max_length: 60, ban_eos_token: true })
        .then((reply) => reply.completion_tokens),
    ];
    await client.performanceWhere(({ queue }) => queue === early.length);
    const before = switchesOf(live);
    expect(await reload(client, 'small.kcpps')).toBe(true);
    const late = client.generate({ prompt: 'Once', max_length: 60, ban_eos_token: true });
    holder.hangUp();
    expect((await late).completion_tokens).toBe(5);
    const pieces = await Promise.all(early);
    for (const count of pieces) expect(count).toBeGreaterThan(0);
    expect(pieces[5]).toBe(60);
    expect(switchesOf(live)).toBe(before + 1);
    await swapped(live, client, 'initial_model');
  });

  test('swap: a new stream reports that the model is loading', async () => {
    const running = await swapBehindStream('small.kcpps');
    const body = JSON.stringify({ model: 'any', messages: [message], max_tokens: 20, stream: true });
    // Its head comes after a second, and the model is not even begun then.
    const reply = await fetch(`${live.base}/v1/chat/completions`, { method: 'POST', body });
    running.hangUp();
    const text = await reply.text();
    expect([reply.status, text]).toEqual([200, expect.stringMatching(/^: loading small, 0 %\n\n/)]);
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
    await swapped(live, client, 'initial_model');
  });

  test('failed swap: started streams end with the error, others are answered by the old model', async () => {
    const running = await swapBehindStream('strange.gguf');
    const body = JSON.stringify({ model: 'any', messages: [message], max_tokens: 4, stream: true });
    const streamed = fetch(`${live.base}/v1/chat/completions`, { method: 'POST', body });
    const whole = client.generate({ prompt: 'Once', max_length: 2 });
    const reply = await streamed;
    running.hangUp();
    expect(await reply.text()).toMatch(/^data: {"error":{"message":"strange could not be loaded/m);
    expect((await whole).completion_tokens).toBeGreaterThan(0);
    expect(await contextOf(client)).toBe(context);
  });

  test('unload: a running stream finishes', async () => {
    const streamed = client.stream({ prompt: 'Once', max_length: 80, ban_eos_token: true, genkey: 'unloaded' });
    await client.begun('unloaded');
    await swapped(live, client, 'unload_model');
    const { frames } = await streamed;
    expect(frames.at(-1)?.data.finish_reason).toBe('length');
    await swapped(live, client, 'initial_model');
  });

  test('a request between two swaps waits for the second one', async () => {
    const running = client.stream({ prompt: 'Once', max_length: 40, ban_eos_token: true, genkey: 'between' });
    await client.begun('between');
    const before = switchesOf(live);
    expect(await reload(client, 'unload_model')).toBe(true);
    expect(await reload(client, 'small.kcpps')).toBe(true);
    const { completion_tokens: tokens } = await client.generate({
      prompt: 'Once',
      max_length: 20,
      ban_eos_token: true,
    });
    // That is the limit of the second one.
    expect(tokens).toBe(5);
    await running;
    await expect.poll(() => switchesOf(live)).toBe(before + 2);
    await swapped(live, client, 'initial_model');
  });

  test('links out of the folder are reported once', () => {
    expect(live.output().match(/The link escape.gguf in --admindir leads out of that folder/g)).toHaveLength(1);
  });

  test('swap: a disconnected client does not delay it', async () => {
    const stream = await swapBehindStream('small.kcpps');
    const waiting = openRequest(live.base, '/api/v1/generate', { prompt: 'Once' });
    await client.get('/ping');
    waiting.hangUp();
    stream.hangUp();
    expect((await client.generate({ prompt: 'Once', max_length: 20, ban_eos_token: true })).completion_tokens).toBe(5);
    await swapped(live, client, 'initial_model');
  });

  test.each([
    'nowhere.gguf',
    'wrong.kcpps',
    'broken.kcpps',
    'lost.kcpps',
    'damaged.gguf',
    'cut.gguf',
    'escape.gguf',
    '../secret.gguf',
    `${outside}/secret.gguf`,
    '',
    7,
    null,
    ['small.kcpps'],
  ])('reload_config %j: is refused, and the old model still answers', async (filename) => {
    expect(await reload(client, filename)).toBe(false);
    expect((await client.generate({ prompt: 'Once', max_length: 2 })).completion_tokens).toBeGreaterThan(0);
  });

  test('reload_config: a base config outside the folder is refused', async () => {
    expect(await reload(client, 'copy.gguf', { baseconfig: '../base.kcpps' })).toBe(false);
    expect(await reload(client, 'copy.gguf', { baseconfig: 5 })).toBe(false);
  });

  test('reload_config: a model that fails to load is reported, and the old one is restored', async () => {
    expect(await reload(client, 'strange.gguf')).toBe(true);
    await live.says('Going back to parley-mini');
    expect((await client.generate({ prompt: 'Once', max_length: 2 })).completion_tokens).toBeGreaterThan(0);
    expect(await contextOf(client)).toBe(context);
  });

  test('many swaps leak no processes, files or memory', async () => {
    const swap = async () => {
      for (const name of ['small.kcpps', 'initial_model']) {
        await swapped(live, client, name);
        await client.generate({ prompt: 'Once', max_length: 1 });
      }
    };
    for (let round = 0; round < 2; round += 1) await swap();
    const before = figuresOf(live.pid);
    for (let round = 0; round < 4; round += 1) await swap();
    const after = figuresOf(live.pid);
    expect(after.children).toBe(1);
    expect(after.files - before.files).toBeLessThanOrEqual(2);
    expect(after.threads - before.threads).toBeLessThanOrEqual(1);
    expect(after.megabytes - before.megabytes).toBeLessThan(40);
  });
});

describe('last model that was switched to', () => {
  const modelOf = async (live: LiveServer) =>
    ((await nativeClient(live.base).get('/api/v1/model')).json() as { result: string }).result;

  test('is used after a restart on the same port, unless a flag names a model; a missing file is skipped', async () => {
    const port = await freePort();
    copyFileSync(untrainedModel(), join(folder, 'passing.gguf'));
    const flags = ['--admin', '--admindir', folder];
    const first = await startServer(flags, { port });
    await swapped(first, nativeClient(first.base), 'passing.gguf');
    await first.stop();

    const second = await startServer(flags, { port });
    expect(second.output()).toContain('Using passing.gguf, the model of the last switch.');
    expect(await modelOf(second)).toContain('passing');
    expect(second.output()).not.toContain('For a larger model: ');
    await second.stop();

    const named = await startServer([...flags, '--model', join(folder, 'copy.gguf')], { port });
    expect(await modelOf(named)).toContain('copy');
    await named.stop();

    rmSync(join(folder, 'passing.gguf'));
    const without = await startServer(flags, { port });
    expect(without.output()).toContain('The model of the last switch, passing.gguf, cannot be used: ');
    expect(await modelOf(without)).toContain('parley-mini');
    await without.stop();
  });

  test('one that cannot be loaded any more: the model of the command line is used', async () => {
    const port = await freePort();
    copyFileSync(untrainedModel(), join(folder, 'changing.gguf'));
    const flags = ['--admin', '--admindir', folder];
    const first = await startServer(flags, { port });
    await swapped(first, nativeClient(first.base), 'changing.gguf');
    await first.stop();
    copyFileSync(join(folder, 'strange.gguf'), join(folder, 'changing.gguf'));
    const second = await startServer(flags, { port });
    expect(second.output()).toContain('Going back to parley-mini');
    expect(await modelOf(second)).toContain('parley-mini');
    const answer = await nativeClient(second.base).generate({ prompt: 'Once', max_length: 2 });
    expect(answer.completion_tokens).toBeGreaterThan(0);
    await swapped(second, nativeClient(second.base), 'initial_model');
    await second.stop();

    const third = await startServer(flags, { port });
    expect(third.output()).not.toContain('the model of the last switch');
    await third.stop();
    rmSync(join(folder, 'changing.gguf'));
  });
});

describe('load settings', () => {
  const flags = ['--admin', '--admindir', folder];
  const loadOf = async (live: LiveServer) => (await nativeClient(live.base).get('/api/admin/load_settings')).json();

  /** Changes them, and waits until the model is loaded again, or is not. */
  async function change(live: LiveServer, settings: object) {
    const answer = await nativeClient(live.base).post('/api/admin/load_settings', settings);
    await expect.poll(() => loadOf(live)).toMatchObject({ pending: false });
    return answer.json();
  }

  test('are changed without a restart, and kept for each model; flags win', async () => {
    const port = await freePort();
    const live = await startServer(flags, { port });
    expect(await loadOf(live)).toMatchObject({ model: 'parley-mini', contextsize: null, in_use: { context: 2048 } });
    expect(await change(live, { contextsize: 512, quantkv: 'q8_0' })).toEqual({ success: true });
    expect(await loadOf(live)).toMatchObject({
      model: 'parley-mini',
      contextsize: 512,
      quantkv: 'q8_0',
      error: null,
      in_use: { context: 512, trained_context: 2048, quantkv: 'q8_0' },
    });
    expect(await contextOf(nativeClient(live.base))).toBe(512);
    const reply = await nativeClient(live.base).generate({ prompt: 'Once', max_length: 2 });
    expect(reply.completion_tokens).toBeGreaterThan(0);
    await swapped(live, nativeClient(live.base), 'copy.gguf');
    expect(await loadOf(live)).toMatchObject({ model: 'copy', contextsize: null, quantkv: null });
    await swapped(live, nativeClient(live.base), 'initial_model');
    expect(await contextOf(nativeClient(live.base))).toBe(512);
    await live.stop();

    const again = await startServer(flags, { port });
    expect(await contextOf(nativeClient(again.base))).toBe(512);
    await again.stop();
    const flagged = await startServer([...flags, '--contextsize', '1024'], { port });
    expect(await loadOf(flagged)).toMatchObject({ contextsize: 1024, quantkv: 'q8_0', in_use: { context: 1024 } });
    expect(await change(flagged, { contextsize: null, quantkv: null })).toEqual({ success: true });
    expect(await loadOf(flagged)).toMatchObject({ contextsize: null, in_use: { context: 2048, quantkv: 'f16' } });
    await flagged.stop();
  });

  test('without a change load the first model again with what is there now: packs, and its chat adapter', async () => {
    const adapter = join(folder, 'adapter.json');
    const write = (tag: string) => writeFileSync(adapter, JSON.stringify({ user_start: tag, user_end: '' }));
    write('<before>');
    const live = await startServer([...flags, '--chatcompletionsadapter', adapter]);
    const prompt = async () => {
      const messages = [{ role: 'user', content: 'Hi' }];
      const answer = await nativeClient(live.base).post('/apply-template', { messages });
      return ((await answer.json()) as { prompt: string }).prompt;
    };
    expect(await prompt()).toContain('<before>Hi');
    write('<after>');
    expect(await change(live, {})).toEqual({ success: true });
    expect(await prompt()).toContain('<after>Hi');
    await live.stop();
  });

  test('that the model cannot be loaded with are not kept, and the reason is told', async () => {
    copyFileSync(embeddedModel, join(folder, 'changing.gguf'));
    const live = await startServer(flags);
    await swapped(live, nativeClient(live.base), 'changing.gguf');
    copyFileSync(join(folder, 'strange.gguf'), join(folder, 'changing.gguf'));
    expect(await change(live, { contextsize: 512 })).toEqual({ success: true });
    const { error, ...after } = (await loadOf(live)) as { error: string };
    expect(error).toMatch(/^its architecture \(lxama\) is not known/);
    expect(after).toMatchObject({ model: 'changing', contextsize: null, in_use: { context: 2048 } });
    rmSync(join(folder, 'changing.gguf'));
    expect(await change(live, { contextsize: 512 })).toMatchObject({ success: false, error: expect.anything() });
    await live.stop();
  });
});

async function collected(stream: Promise<AsyncIterable<unknown>>): Promise<number> {
  let count = 0;
  for await (const _ of await stream) count += 1;
  return count;
}

function figuresOf(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const fact = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean);
  return {
    files: readdirSync(`/proc/${pid}/fd`).length,
    threads: fact('Threads'),
    megabytes: fact('VmRSS') / 1024,
    children: children.length,
  };
}
