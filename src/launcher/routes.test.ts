import { EventEmitter } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { asAppError } from '../core/errors.ts';
import type { Call, Reply } from '../http/call.ts';
import { router } from '../http/router.ts';
import { hubEndpoints } from '../protocols/admin/library.ts';
import { pageEndpoints, Session } from './page.ts';
import { launcherEndpoints, sessionEndpoints } from './routes.ts';
import { type ServerChild, ServerProcess } from './server-process.ts';
import { LauncherService } from './service.ts';

const top = realpathSync(mkdtempSync(join(tmpdir(), 'parley-bench-')));
const home = join(top, 'home');
const web = join(top, 'web');
const embeddedModel = fileURLToPath(new URL('../../models/parley-mini.gguf', import.meta.url));
mkdirSync(home);
mkdirSync(web);
writeFileSync(join(web, 'launcher.html'), '<!doctype html><title>Launcher</title>');
writeFileSync(join(web, 'icon.svg'), '<svg/>');
afterAll(() => rmSync(top, { recursive: true }));
beforeEach(() => {
  for (const name of readdirSync(home)) rmSync(join(home, name), { recursive: true });
});

class Child extends EventEmitter {
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly sent: unknown[] = [];
  connected = true;
  send(message: unknown): boolean {
    this.sent.push(message);
    return true;
  }
  kill(): boolean {
    return true;
  }
}

function world(settings: Partial<Settings> = {}) {
  let count = 0;
  const session = new Session(() => `random-${++count}`);
  const cookie = session.open(session.token)?.split(';', 1)[0] ?? '';
  const children: { readonly child: Child; readonly words: readonly string[]; readonly config: string }[] = [];
  const serverProcess = new ServerProcess((words) => {
    const child = new Child();
    children.push({ child, words, config: readFileSync(words[1] ?? '', 'utf8') });
    return child as unknown as ServerChild;
  });
  let quits = 0;
  let told = 0;
  const bench = new LauncherService({
    product: { name: 'Parley', version: '1' },
    settings: { ...defaultSettings, ...settings },
    notes: ['a note'],
    serverProcess,
    folders: [home],
    home,
    modelFolders: [{ program: 'Test', folder: home, layout: 'files' }],
    embeddedModel,
    exists: existsSync,
    environment: {},
    availableBytes: () => 8 * 2 ** 30,
    quit: () => {
      quits += 1;
    },
  });
  const library = {
    list: async () => [],
    search: async () => ({ models: [], next: undefined }),
    files: () => undefined,
  };
  const endpoints = [
    ...launcherEndpoints(session, bench),
    ...sessionEndpoints(
      session,
      hubEndpoints({ access: { enabled: true, password: undefined }, library: async () => library }),
    ),
    ...pageEndpoints(
      session,
      () => {
        told += 1;
        session.renew();
      },
      web,
    ),
  ];
  const find = router(endpoints);
  async function call(method: string, target: string, body: unknown = '', headers: object = { cookie }) {
    const url = new URL(target, 'http://localhost:4711');
    const endpoint = find.find(method, url.pathname);
    if (!endpoint) throw new Error(`nobody answers ${target}`);
    const sent = {
      method,
      path: url.pathname,
      query: url.searchParams,
      headers: { host: 'localhost:4711', ...headers },
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      signal: new AbortController().signal,
    } as unknown as Call;
    const reply: Reply = await Promise.resolve()
      .then(() => endpoint.handle(sent))
      .catch((error: unknown) => endpoint.dialect.errorReply(asAppError(error)));
    const text = 'body' in reply ? String(reply.body) : '';
    const isJson = reply.headers?.['content-type'] === 'application/json';
    return { reply, status: reply.status, json: isJson ? JSON.parse(text) : undefined, text };
  }
  return { call, session, children, serverProcess, quits: () => quits, told: () => told, endpoints };
}

test('launcher: searches the hub like the server', async () => {
  expect((await world().call('GET', '/api/admin/search?q=qwen')).json).toEqual({ models: [], next: null });
});

describe('launcher: rejects', () => {
  test('a command of another page or program on this machine', async () => {
    const { call, children } = world();
    const values = { engine: [JSON.stringify({ command: ['x', '${port}'] })] };
    const cookie = 'parley_launcher=random-2';
    const others = [
      {},
      { cookie: 'parley_launcher=guess' },
      { cookie, origin: 'http://localhost:5001' },
      { cookie, origin: 'https://example.com' },
      { cookie, 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of others) {
      for (const name of ['launch', 'save', 'check']) {
        const reply = await call('POST', `/launcher/${name}`, { values, name: 'a', kind: 'config' }, headers);
        expect(reply.status, name).toBe(401);
      }
    }
    expect(children).toEqual([]);
    expect(readdirSync(home)).toEqual([]);
  });

  test('any request without a session', async () => {
    const { call, endpoints } = world();
    for (const { method, path } of endpoints.filter(({ access }) => access === 'guarded')) {
      expect((await call(method, path, {}, {})).status, path).toBe(401);
      expect((await call(method, path, {}, { cookie: 'parley_launcher=guess' })).status, path).toBe(401);
    }
  });

  test('requests of another origin on this machine', async () => {
    const { call } = world();
    const headers = { cookie: 'parley_launcher=random-2', origin: 'http://localhost:3000' };
    expect((await call('POST', '/launcher/launch', { values: {} }, headers)).status).toBe(401);
  });
});

describe('launcher: session', () => {
  test('the token opens a session once, and is removed from the URL', async () => {
    const { call, session } = world();
    const token = session.renew();
    const { reply } = await call('GET', `/?token=${token}`, '', {});
    expect(reply.status).toBe(303);
    expect(reply.headers).toMatchObject({ location: './', 'cache-control': 'no-store' });
    expect(reply.headers?.['set-cookie']).toMatch(/HttpOnly; SameSite=Strict/);
    expect((await call('GET', `/?token=${token}`, '', {})).status).toBe(403);
  });

  test('shows the page with a session', async () => {
    const { reply } = await world().call('GET', '/');
    expect(reply.status).toBe(200);
    expect(reply.headers?.['content-security-policy']).toContain("default-src 'none'");
  });

  test('prints a new address to the terminal only', async () => {
    const { call, told } = world();
    const { status, text } = await call('GET', '/', '', {});
    expect(status).toBe(403);
    expect(text).not.toContain('random-');
    expect(told()).toBe(1);
    // One that is still good is not replaced.
    await call('GET', '/?token=wrong', '', {});
    expect(told()).toBe(1);
  });
});

test('launcher: the form has the settings of the start', async () => {
  const { json } = await world({ multiuser: 0, port: 5005 }).call('GET', '/launcher/form');
  expect(json.values).toMatchObject({ multiuser: 10, port: 5005 });
  expect(json).toMatchObject({
    notes: ['a note'],
    places: [home],
    state: { type: 'idle' },
    product: { name: 'Parley' },
  });
  expect(json.tabs[0].name).toBe('Quick Launch');
});

describe('launcher: files', () => {
  test('lists a folder with the facts of its models', async () => {
    const { call } = world();
    writeFileSync(join(home, 'bad.gguf'), 'no model');
    writeFileSync(join(home, 'good.gguf'), readFileSync(embeddedModel));
    const { json } = await call('GET', '/launcher/files?wanted=model');
    expect(json.entries.map(({ name }: { name: string }) => name)).toEqual(['bad.gguf', 'good.gguf']);
    expect(json.facts['bad.gguf']).toMatchObject({ type: 'damaged' });
    expect(json.facts['good.gguf']).toMatchObject({ type: 'model', architecture: 'llama', fit: { verdict: 'fits' } });
    const models = (await call('GET', '/launcher/models')).json;
    expect(models).toHaveLength(1);
    expect(models[0]).toMatchObject({ name: 'good', program: 'Test' });
  });

  test('answers 404 outside of the allowed folders', async () => {
    const { call } = world();
    expect((await call('GET', `/launcher/files?folder=${encodeURIComponent(top)}`)).status).toBe(404);
    expect((await call('GET', '/launcher/files?folder=/etc')).status).toBe(404);
    expect((await call('GET', '/launcher/model?path=/etc/passwd')).status).toBe(404);
  });

  test('estimates a model for the requested context', async () => {
    const { call } = world();
    const usual = (await call('GET', '/launcher/model')).json;
    expect(usual).toMatchObject({ type: 'model', path: embeddedModel, fit: { contextSize: 2048 } });
    const more = (await call('GET', '/launcher/model?context=8192&parallel=4')).json;
    expect(more.fit.contextSize).toBe(8192);
    expect(more.fit.needBytes).toBeGreaterThan(usual.fit.needBytes);
  });
});

describe('launcher: configs', () => {
  test('saves and loads, readable by the owner only', async () => {
    const { call } = world();
    const values = { contextsize: 4096, password: 'secret', multiuser: 0 };
    const { json } = await call('POST', '/launcher/save', { name: 'mine', values });
    expect(json).toEqual({ path: join(home, 'mine.kcpps') });
    if (process.platform !== 'win32') expect(statSync(json.path).mode & 0o077).toBe(0);
    const loaded = (await call('POST', '/launcher/load', { path: json.path })).json;
    expect(loaded.values).toMatchObject({ contextsize: 4096, password: 'secret', multiuser: 10 });
  });

  test('replaces a file only on request', async () => {
    const { call } = world();
    await call('POST', '/launcher/save', { name: 'mine', values: {} });
    const { status, json } = await call('POST', '/launcher/save', { name: 'mine', values: {} });
    expect(status).toBe(400);
    expect(json).toMatchObject({ exists: true, problems: ['mine.kcpps is there already.'] });
    expect((await call('POST', '/launcher/save', { name: 'mine', values: { port: 1 }, replace: true })).status).toBe(
      200,
    );
  });

  test('does not replace a file of a newer version, even on request', async () => {
    writeFileSync(join(home, 'later.kcpps'), '{"file_version": 2}');
    const { status, json } = await world().call('POST', '/launcher/save', { name: 'later', values: {}, replace: true });
    expect(status).toBe(400);
    expect(json.problems).toEqual([
      'later.kcpps was written by a newer version of Parley and is not replaced; choose another name.',
    ]);
    expect(readFileSync(join(home, 'later.kcpps'), 'utf8')).toBe('{"file_version": 2}');
  });

  test.each([
    [{ name: '../evil', values: {} }, 'Choose a name'],
    [{ name: 'x', folder: '/etc', values: {} }, 'cannot be written'],
    [{ name: 'x', values: { port: 'y' } }, 'Port needs'],
    [{ name: 'x' }, 'must be an object'],
    [{}, 'Choose a name'],
  ])('does not save %j', async (body, problem) => {
    const { status, json } = await world().call('POST', '/launcher/save', body);
    expect(status).toBe(400);
    expect(json.problems.join(' ')).toContain(problem);
    expect(readdirSync(home)).toEqual([]);
  });

  test('does not load a broken file, one outside of the allowed folders, or another type', async () => {
    const { call } = world();
    writeFileSync(join(home, 'broken.kcpps'), '{');
    writeFileSync(join(home, 'other.txt'), '{}');
    for (const path of [
      join(home, 'broken.kcpps'),
      join(home, 'other.txt'),
      '/etc/passwd',
      join(home, 'gone.kcpps'),
      '',
    ]) {
      const { status, json } = await call('POST', '/launcher/load', { path });
      expect(status, path).toBe(400);
      expect(json.problems[0]).toBeTruthy();
    }
  });

  test('drops a command of a config file', async () => {
    const { call } = world();
    writeFileSync(join(home, 'x.kcpps'), '{"onready": "rm -rf /"}');
    const { json } = await call('POST', '/launcher/load', { path: join(home, 'x.kcpps') });
    expect(json.values.onready).toBe('');
    expect(json.notes.join(' ')).toContain('onready');
  });
});

describe('launcher: start', () => {
  test('starts a server with the values of the page, and removes the temporary file', async () => {
    const { call, children, serverProcess } = world();
    expect((await call('POST', '/launcher/launch', { values: { port: 5009 } })).status).toBe(200);
    const [{ words, config, child } = { words: [], config: '{}', child: new Child() }] = children;
    expect(words).toEqual(['--config', expect.stringMatching(/launch\.kcpps$/)]);
    expect(JSON.parse(config)).toMatchObject({ port: 5009, skiplauncher: true });
    expect((await call('POST', '/launcher/launch', { values: {} })).json.problems[0]).toContain('already');
    await call('POST', '/launcher/stop');
    expect(child.sent).toEqual(['stop']);
    child.emit('close', 0);
    expect(serverProcess.state).toEqual({ type: 'ended', code: 0 });
    await expect.poll(() => existsSync(words[1] ?? '')).toBe(false);
  });

  test('engine programs of the form are in the config that the server starts with', async () => {
    const { call, children } = world({ nomodel: true });
    const engine = { name: 'mine', command: "'my server' --port ${port}", kind: 'text' };
    const values = { nomodel: true, engine: [JSON.stringify(engine)] };
    expect((await call('POST', '/launcher/launch', { values })).status).toBe(200);
    expect(JSON.parse(children[0]?.config ?? '').engine).toEqual(engine);
  });

  test.each([
    [{ command: '/opt/llama-server --port ${port}' }, 'llama-server'],
    [{ command: 'vllm serve ${model} --port ${port}', model: 'Qwen/Qwen3-8B' }, 'Qwen3-8B'],
    [{ command: 'llama-server -m ${model} --port ${port}', model: '/models/qwen.gguf' }, 'qwen'],
    [{ name: 'mine', command: 'llama-server --port ${port}' }, 'launch'],
  ])(
    'the config is called as the program %j without a name, which has the name of its config',
    async (engine, name) => {
      const { call, children } = world({ nomodel: true });
      await call('POST', '/launcher/launch', { values: { nomodel: true, engine: [JSON.stringify(engine)] } });
      expect(children[0]?.words[1]).toMatch(new RegExp(`[/\\\\]${name}\\.kcpps$`));
    },
  );

  test('engine programs of a config are told apart from its settings, so that they run only with consent', async () => {
    const engine = JSON.stringify({ name: 'mine', command: ['rm', '${port}'] });
    writeFileSync(join(home, 'strange.kcpps'), `{"threads":3,"engine":${engine}}`);
    const { call } = world();
    const loaded = (await call('POST', '/launcher/load', { path: join(home, 'strange.kcpps') })).json;
    expect(loaded).toMatchObject({ values: { threads: 3, engine: null }, programs: [engine] });
    const opened = world({ config: join(home, 'strange.kcpps'), engine: [engine] });
    expect((await opened.call('GET', '/launcher/form')).json).toMatchObject({
      values: { engine: null },
      programs: [engine],
    });
    const typed = (await world({ engine: [engine] }).call('GET', '/launcher/form')).json;
    expect(typed).toMatchObject({ values: { engine: [engine] }, programs: [] });
  });

  test('form: has the kinds of engine programs and their recipes', async () => {
    const { engines } = (await world().call('GET', '/launcher/form')).json;
    expect(engines).toEqual({ kinds: expect.arrayContaining(['text', 'comfyui']), recipes: [] });
  });

  test('runs a command only if it was entered in the form', async () => {
    const { call, children } = world();
    await call('POST', '/launcher/launch', { values: { onready: 'say hello' } });
    expect(children[0]?.words).toContain('--allow-config-onready');
  });

  test('rejects what the server would reject', async () => {
    const { call, children } = world();
    const missing = await call('POST', '/launcher/launch', { values: { model: [join(home, 'gone.gguf')] } });
    expect(missing.json.problems[0]).toContain('gone.gguf');
    const both = await call('POST', '/launcher/launch', { values: { usecpu: true, usevulkan: [] } });
    expect(both.status).toBe(400);
    expect((await call('POST', '/launcher/launch', {})).status).toBe(400);
    expect(children).toEqual([]);
  });

  test('validates the values, and shows them as a command line', async () => {
    const { call } = world();
    expect((await call('POST', '/launcher/check', { values: { port: 5009, password: 'x' } })).json).toEqual({
      problems: [],
      notes: expect.any(Array),
      command: ['--port', '5009', '--password', '…'],
    });
    expect((await call('POST', '/launcher/check', { values: { port: 'x' } })).json.problems).toHaveLength(1);
  });

  test('the console streams past and new lines', async () => {
    const { call, children } = world();
    await call('POST', '/launcher/launch', { values: {} });
    children[0]?.child.stdout.write('first\n');
    await expect.poll(async () => (await call('GET', '/launcher/form')).json.state.type).toBe('starting');
    const { reply } = await call('GET', '/launcher/console');
    if (!('stream' in reply)) throw new Error('no stream');
    const iterator = (reply.stream as AsyncIterable<string>)[Symbol.asyncIterator]();
    const next = async () => JSON.parse(String((await iterator.next()).value).replace(/^data: /, ''));
    expect(await next()).toEqual({ type: 'state', state: { type: 'starting' } });
    expect(await next()).toEqual({ type: 'line', text: 'first' });
    children[0]?.child.stdout.write('Please connect to custom endpoint at http://localhost:5001\n');
    expect(await next()).toMatchObject({ type: 'line' });
    expect(await next()).toEqual({ type: 'state', state: { type: 'running', address: 'http://localhost:5001' } });
    await iterator.return?.();
  });

  test('quit: ends the program', async () => {
    const { call, quits } = world();
    await call('POST', '/launcher/quit');
    expect(quits()).toBe(1);
  });
});
