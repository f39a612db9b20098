import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { isAlive } from './alive.ts';
import { program } from './server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const started = new Set<number>();
afterEach(() => {
  for (const pid of started) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It is gone, as it should be.
    }
  }
  started.clear();
});

/** Everything that a launcher has started, by the numbers of their processes: npm, a shell, the server, its worker. */
interface Launched {
  readonly first: ChildProcess;
  readonly output: () => string;
  /** Below the first one. */
  readonly others: readonly { readonly pid: number; readonly command: string }[];
}

async function launch(file: string, args: readonly string[]): Promise<Launched> {
  const first = spawn(file, [...args, '--port', '0', '--threads', '1'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [first.stdout, first.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes('Please connect to custom endpoint')) resolve();
      });
    }
    first.once('exit', () => reject(new Error(`ended too early:\n${output}`)));
  });
  started.add(first.pid as number);
  await ready;
  const others = descendants(first.pid as number);
  for (const { pid } of others) started.add(pid);
  return { first, output: () => output, others };
}

function descendants(of: number): { pid: number; command: string }[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8');
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(name), parent: Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]), command }];
      } catch {
        return [];
      }
    });
  const below = (parent: number): typeof all =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)]);
  return below(of);
}

/** Resolves when all of these are gone; a test that waits for ever tells which are left by its time limit. */
async function allGone(others: Launched['others']): Promise<void> {
  while (others.some(({ pid }) => isAlive(pid))) await wait(50);
}

const find = ({ others }: Launched, part: string): number => {
  const child = others.find(({ command }) => command.includes(part) && !command.startsWith('sh '));
  expect(child, part).toBeDefined();
  return child?.pid as number;
};

describe.skipIf(process.platform !== 'linux')('npm start', () => {
  // An interrupt that only npm hears is kept by some shells between it and us until we end; that of a terminal is below.
  test.each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)('ended by %s: server and worker end too', async (signal) => {
    const launched = await launch('npm', ['start', '--']);
    for (const part of ['start.mjs', 'worker/main.js']) find(launched, part);
    launched.first.kill(signal);
    await allGone(launched.others);
    await expect.poll(() => launched.output().match(/Stopping: SIG(TERM|HUP)/g)).toHaveLength(1);
  });

  test('npm start: killing the server ends its worker and npm', async () => {
    const launched = await launch('npm', ['start', '--']);
    process.kill(find(launched, 'node scripts/start.mjs'), 'SIGKILL');
    await allGone(launched.others);
  });

  test('npm start: one Ctrl+C for the whole process group stops the server gracefully', async () => {
    const launched = await launch('npm', ['start', '--']);
    const server = find(launched, 'start.mjs');
    for (const { pid, command } of launched.others) {
      if (!command.includes('worker/main.js')) process.kill(pid, 'SIGINT');
    }
    launched.first.kill('SIGINT');
    await allGone(launched.others);
    expect(isAlive(server)).toBe(false);
    await expect.poll(() => launched.output().match(/Stopping: /g)).toHaveLength(1);
  });
});

describe.skipIf(process.platform !== 'linux')('a server that was started without a launcher', () => {
  test('server: survives the end of the shell that started it', async () => {
    const command = `"${process.execPath}" "${program}" "$@" & echo; wait`;
    const launched = await launch('bash', ['-c', command, 'bash']);
    const server = find(launched, 'dist/main.js');
    launched.first.kill('SIGKILL');
    while (isAlive(launched.first.pid as number)) await wait(20);
    const port = /Listening on http:\/\/localhost:(\d+)/.exec(launched.output())?.[1];
    // Longer than a launcher needs to notice.
    for (let round = 0; round < 15; round += 1) {
      expect((await fetch(`http://localhost:${port}/api/v1/model`)).status).toBe(200);
      await wait(100);
    }
    process.kill(server, 'SIGHUP');
    await allGone(launched.others);
    await expect.poll(() => launched.output()).toContain('Stopping: SIGHUP');
  });

  test('nohup: the server ignores SIGHUP', async () => {
    const command = `nohup "${process.execPath}" "${program}" "$@" </dev/null & wait`;
    const launched = await launch('bash', ['-c', command, 'bash']);
    const server = find(launched, 'dist/main.js');
    process.kill(server, 'SIGHUP');
    const port = /Listening on http:\/\/localhost:(\d+)/.exec(launched.output())?.[1];
    for (let round = 0; round < 5; round += 1) {
      expect((await fetch(`http://localhost:${port}/api/v1/model`)).status).toBe(200);
    }
    process.kill(server, 'SIGTERM');
    await allGone(launched.others);
  });
});

describe.skipIf(process.platform !== 'linux')('a start without arguments at a display', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-start-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const opened = join(folder, 'opened');
  const log = join(folder, 'log');
  /** A browser that notes the address, on a machine that is no container. */
  const environment = () => {
    writeFileSync(
      join(folder, 'xdg-open'),
      `#!/bin/sh\necho "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`,
    );
    chmodSync(join(folder, 'xdg-open'), 0o755);
    rmSync(opened, { force: true });
    return { HOME: folder, PATH: `${folder}${delimiter}/usr/bin${delimiter}/bin`, DISPLAY: ':99', container: '' };
  };
  const start = (file: string, args: readonly string[], own: Readonly<Record<string, string>> = {}) => {
    const output = openSync(log, 'w');
    // In a session of its own it has no terminal.
    const child = spawn(file, args, {
      env: { ...environment(), ...own },
      stdio: ['ignore', output, output],
      detached: true,
    });
    started.add(child.pid as number);
    return child;
  };
  const address = async (child: ChildProcess) => {
    while (!existsSync(opened)) {
      expect(child.exitCode, readFileSync(log, 'utf8')).toBeNull();
      await wait(50);
    }
    return readFileSync(opened, 'utf8').trim();
  };

  test('a double click on the single file opens the launcher', async () => {
    const child = start(process.execPath, [program], { PARLEY_SINGLE_FILE: '1' });
    expect(await address(child)).toMatch(/^http:\/\/localhost:\d+\/\?token=[\w-]{32}$/);
    expect(readFileSync(log, 'utf8')).not.toContain('Loading');
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(child.exitCode).toBe(0);
  });

  test('in a terminal: serves, opens the web client and names the launcher, in a dozen lines', async (context) => {
    if (!existsSync('/usr/bin/script') || !(await isFree(5001))) return context.skip();
    const child = start('script', ['-qefc', `"${process.execPath}" "${program}"`, join(folder, 'typescript')]);
    expect(await address(child)).toBe('http://localhost:5001');
    const others = descendants(child.pid as number);
    for (const { pid } of others) started.add(pid);
    expect((await fetch('http://localhost:5001/api/v1/model')).status).toBe(200);
    const lines = readFileSync(log, 'utf8').trim().split('\n');
    expect(lines.at(-1)).toContain('For all settings on a page: parley --showgui. To stop: Ctrl+C');
    expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(12);
    const server = others.find(({ command }) => command.startsWith(`${process.execPath} ${program}`));
    process.kill(server?.pid as number, 'SIGINT');
    await allGone(others);
  });

  test('with its output in a pipe: opens nothing', async () => {
    const child = spawn(process.execPath, [program], { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    started.add(child.pid as number);
    // Whether the port is free or not: a launcher would have come first.
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(existsSync(opened)).toBe(false);
  });
});

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .listen(port, () => probe.close(() => resolve(true)));
  });
}
