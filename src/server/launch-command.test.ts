import { EventEmitter } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { agents } from '../agents/catalogue.ts';
import type { ModelFolder } from '../library/model-folders.ts';
import { Terminal } from '../observe/terminal.ts';
import { type LaunchCommand, launchCommand, launchUsage } from './launch-command.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-launch-'));
afterAll(() => rmSync(root, { recursive: true }));
const models: ModelFolder = {
  program: 'Parley',
  folder: fileURLToPath(new URL('../../models', import.meta.url)),
  layout: 'files',
};

class Child extends EventEmitter {
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly sent: unknown[] = [];
  readonly killed: unknown[] = [];
  readonly spawnfile = 'agent';
  connected = true;
  constructor(
    readonly args: readonly string[],
    readonly environment: NodeJS.ProcessEnv = {},
  ) {
    super();
  }
  send(message: unknown): boolean {
    this.sent.push(message);
    this.end(0);
    return true;
  }
  kill(signal?: unknown): boolean {
    this.killed.push(signal);
    this.end(null);
    return true;
  }
  end(code: number | null): void {
    this.emit('exit', code, code === null ? 'SIGTERM' : null);
    this.emit('close', code);
  }
}

interface World {
  readonly installed?: readonly string[];
  /** Ports of Parleys that run, with their models. */
  readonly running?: Readonly<Record<number, readonly string[]>>;
  readonly contextSize?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** What the server does when it is started. */
  readonly server?: (child: Child) => void;
  /** What the agent does when it is started. */
  readonly agent?: (child: Child) => void;
  readonly modelFolders?: readonly ModelFolder[];
  readonly answer?: string;
}

const ready = (child: Child): void =>
  void child.stdout.write('Please connect to custom endpoint at http://localhost:7000\n');

function world(options: World = {}) {
  const { installed = ['claude', 'codex'], running = {}, contextSize = 65_536, server = ready } = options;
  const home = mkdtempSync(join(root, 'home-'));
  const bin = mkdtempSync(join(root, 'bin-'));
  for (const name of installed) {
    const file = join(bin, process.platform === 'win32' ? `${name}.exe` : name);
    writeFileSync(file, '');
    chmodSync(file, 0o755);
  }
  const servers: Child[] = [];
  const started: Child[] = [];
  const signals = new EventEmitter();
  let text = '';
  const write = (piece: string) => {
    text += piece;
  };
  const ports: Record<string, readonly string[]> = { ...running, 7000: ['own'] };
  const fetch = (async (address: string) => {
    const { port, pathname } = new URL(address);
    const names = ports[port];
    if (!names || (port === '7000' && servers.length === 0)) throw new TypeError('fetch failed');
    const bodies: Readonly<Record<string, object>> = {
      '/api/extra/version': { parley: {}, protected: false },
      '/v1/models': { data: names.map((id) => ({ id })) },
    };
    return new Response(JSON.stringify(bodies[pathname] ?? { value: contextSize }));
  }) as typeof globalThis.fetch;
  const command: Omit<LaunchCommand, 'args'> = {
    terminal: new Terminal({ interactive: false, columns: 80, write }),
    system: { home, platform: process.platform, environment: { PATH: bin, ...options.environment } },
    modelFolders: options.modelFolders ?? [models],
    backups: join(home, 'parley', 'agents'),
    ask:
      options.answer === undefined
        ? undefined
        : async (question) => {
            write(question);
            return options.answer ?? '';
          },
    startServer: (args) => {
      const child = new Child(args);
      servers.push(child);
      setImmediate(() => server(child));
      return child as never;
    },
    signals: signals as never,
    spawn: ((_: string, args: readonly string[], { env }: { env: NodeJS.ProcessEnv }) => {
      const child = new Child(args, env);
      started.push(child);
      setImmediate(() => (options.agent ?? ((one: Child) => one.end(0)))(child));
      return child;
    }) as never,
    fetch,
  };
  const run = (line: string) => launchCommand({ ...command, args: line.split(' ').filter(Boolean) });
  return { run, home, servers, started, signals, text: () => text };
}

describe('parley launch', () => {
  test('without a name: the agents, and the install command of those that are not here', async () => {
    const { run, text } = world({ installed: ['codex'] });
    expect(await run('')).toBe(0);
    for (const name of Object.keys(agents)) expect(text()).toContain(name);
    expect(text()).toMatch(/codex +Codex +installed\n/);
    expect(text()).toMatch(/claude +Claude Code +not installed +npm install -g @anthropic-ai\/claude-code\n/);
  });

  test('--help', async () => {
    const { run, text } = world();
    expect([await run('claude --help'), text().trim()]).toEqual([0, launchUsage]);
  });

  test.each([
    ['emacs', 'emacs is not an agent that can be launched: claude, codex'],
    ['--nonsense', 'Name the agent first: parley launch AGENT --nonsense'],
    ['goose', 'Goose is not installed. Install it: '],
    ['claude --model nothing', 'There is no model nothing here'],
    ['claude --model', '--model needs a value.'],
    ['claude --config', 'No Parley runs on port 5001: start one first'],
    ['goose --config', 'The settings of Goose are not changed'],
    ['claude --restore', 'There is no backup for claude'],
  ])('%s: %s', async (line, sentence) => {
    const { run, text, servers } = world();
    expect(await run(line)).toBe(2);
    expect(text()).toContain(sentence);
    expect(servers).toEqual([]);
  });

  test('uses the Parley that runs, and leaves it running', async () => {
    const { run, started, servers, text } = world({ running: { 5001: ['big'] } });
    expect(await run('claude -- -p hello')).toBe(0);
    expect(servers).toEqual([]);
    expect(started[0]?.args).toEqual(['-p', 'hello']);
    expect(started[0]?.environment).toMatchObject({
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:5001',
      ANTHROPIC_MODEL: 'big',
    });
    expect(text()).toContain('Using the Parley at http://127.0.0.1:5001.');
  });

  test('starts a server that ends with the agent, and exits with the code of the agent', async () => {
    const { run, servers, started } = world({ agent: (child) => child.end(7) });
    expect(await run('codex --gpulayers 5 -- exec hi')).toBe(7);
    const [server] = servers;
    expect(server?.args).toEqual([
      ...['--model', join(models.folder, 'parley-mini.gguf'), '--port', '0', '--skiplauncher'],
      ...['--targetcontext', '65536', '--defaultgenamt', '8192', '--gpulayers', '5'],
    ]);
    expect(server?.sent).toEqual(['stop']);
    expect(started[0]?.args.slice(-2)).toEqual(['exec', 'hi']);
  });

  test('--remote needs no model of this machine', async () => {
    const { run, servers } = world({ modelFolders: [] });
    expect(await run('codex --remote http://gpu:8000')).toBe(0);
    expect(servers[0]?.args).toEqual(expect.arrayContaining(['--nomodel', '--remote', 'http://gpu:8000']));
  });

  test('asks which model where there are several, or names them where nobody can answer', async () => {
    const folder = mkdtempSync(join(root, 'models-'));
    for (const name of ['a.gguf', 'b.gguf']) cpSync(join(models.folder, 'parley-mini.gguf'), join(folder, name));
    const modelFolders = [{ ...models, folder }];
    const asked = world({ modelFolders, answer: '2' });
    expect(await asked.run('codex')).toBe(0);
    expect(asked.text()).toMatch(/1 {2}a .*\n.*2 {2}b .*\nWhich model\? \[1-2\] /);
    expect(asked.servers[0]?.args[1]).toBe(join(folder, 'b.gguf'));
    const silent = world({ modelFolders });
    expect([await silent.run('codex'), silent.text()]).toEqual([2, 'Name a model with --model: a, b.\n']);
    const none = world({ modelFolders: [] });
    expect([await none.run('codex'), none.text()]).toEqual([2, expect.stringContaining('There is no model on this')]);
  });

  test('an agent that a signal ends has the code of a shell, and the server stops', async () => {
    const { run, servers } = world({ agent: (child) => child.end(null) });
    expect(await run('codex')).toBe(128 + 15);
    expect(servers[0]?.sent).toEqual(['stop']);
  });

  test('Ctrl+C is left to the agent, other signals are passed on, and no listener stays', async () => {
    const { run, signals, servers, started } = world({
      agent: (child) => {
        signals.emit('SIGINT', 'SIGINT');
        expect(child.killed).toEqual([]);
        expect(servers[0]?.sent).toEqual([]);
        signals.emit('SIGTERM', 'SIGTERM');
      },
    });
    expect(await run('codex')).toBe(128 + 15);
    expect(started[0]?.killed).toEqual(['SIGTERM']);
    expect(signals.eventNames()).toEqual([]);
  });

  test('Ctrl+C while the server starts stops it, and no agent is started', async () => {
    const { run, signals, servers, started } = world({ server: () => signals.emit('SIGINT', 'SIGINT') });
    expect(await run('codex')).toBe(130);
    expect([servers[0]?.sent, started]).toEqual([['stop'], []]);
  });

  test('a server that cannot start: its lines, and code 3', async () => {
    const { run, text, started } = world({
      server: (child) => {
        child.stderr.write('m.gguf could not be loaded: it is damaged\n');
        child.stderr.end(() => setImmediate(() => child.end(1)));
      },
    });
    expect(await run('codex')).toBe(3);
    expect(text()).toContain('m.gguf could not be loaded: it is damaged');
    expect(started).toEqual([]);
  });

  test('an agent is not started in a context that its instructions do not fit into', async () => {
    const { run, text, servers, started } = world({ contextSize: 2048 });
    expect(await run('claude')).toBe(2);
    expect(text()).toContain('The context of own is 2048 tokens, and Claude Code sends about 11000 tokens');
    expect([servers[0]?.sent, started]).toEqual([['stop'], []]);
  });

  test('--model of a Parley with several models', async () => {
    const { run, started, servers } = world({ running: { 5001: ['a', 'b'] } });
    expect(await run('claude --model b')).toBe(0);
    expect(started[0]?.environment.ANTHROPIC_MODEL).toBe('b');
    expect(servers).toEqual([]);
  });

  test('a model name that Claude Code would take for a large one is not used', async () => {
    const { run, started } = world({ running: { 5001: ['claude-distill'] } });
    await run('claude');
    expect(started[0]?.environment.ANTHROPIC_MODEL).toBe('local');
  });

  test('a proxy of the environment is not used for this machine', async () => {
    const { run, started } = world({ environment: { NO_PROXY: 'a.example' } });
    await run('codex');
    expect(started[0]?.environment.NO_PROXY).toBe('a.example,127.0.0.1');
  });

  test('changes nothing in the home folder, and deletes the files of the session', async () => {
    let file = '';
    const { run, home } = world({
      installed: ['qwen'],
      agent: (child) => {
        file = child.environment.QWEN_CODE_SYSTEM_SETTINGS_PATH ?? '';
        expect(existsSync(file)).toBe(true);
        child.end(0);
      },
    });
    await run('qwen');
    expect([existsSync(file), readdirSync(home)]).toEqual([false, []]);
  });

  test('--config writes the settings of the agent, and --restore puts them back exactly', async () => {
    const { run, home, text } = world({ running: { 5001: ['big'] } });
    const path = join(home, '.claude', 'settings.json');
    mkdirSync(join(home, '.claude'));
    const own = '{"theme":"dark",\n\t"env":{"A":"1"}}';
    writeFileSync(path, own);
    expect(await run('claude --config')).toBe(0);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      theme: 'dark',
      env: { A: '1', ANTHROPIC_BASE_URL: 'http://127.0.0.1:5001', ANTHROPIC_MODEL: 'big' },
    });
    expect(await run('claude --restore')).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(own);
    expect(text()).toContain(`${path} is as it was.`);
  });

  test('--config refuses a file that it cannot read, and leaves it', async () => {
    const { run, home, text } = world({ running: { 5001: ['big'] } });
    const path = join(home, '.claude', 'settings.json');
    mkdirSync(join(home, '.claude'));
    writeFileSync(path, '{ // mine\n}');
    expect(await run('claude --config')).toBe(2);
    expect(text()).toContain(`${path} was not changed: it is not a JSON object`);
    expect(readFileSync(path, 'utf8')).toBe('{ // mine\n}');
  });
});
