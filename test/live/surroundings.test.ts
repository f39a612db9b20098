import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { nativeClient } from './client.ts';
import { freePort } from './free-port.ts';
import { program, programEnvironment } from './server.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-surroundings-'));
const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});
afterAll(() => rmSync(folder, { recursive: true }));

type Stdio = 'pipe' | 'ignore' | number;

function start(flags: readonly string[], stdio: readonly [Stdio, Stdio, Stdio]): ChildProcess {
  const child = spawn(process.execPath, [program, '--threads', '1', ...flags], {
    env: programEnvironment(),
    stdio: [...stdio],
  });
  children.add(child);
  return child;
}

async function untilItSays(child: ChildProcess, text: string): Promise<void> {
  let output = '';
  for await (const piece of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    output += String(piece);
    if (output.includes(text)) return;
  }
}

async function untilReady(base: string): Promise<void> {
  for (;;) {
    const reply = await fetch(`${base}/api/v1/model`).catch(() => undefined);
    const model = (await reply?.json()) as { result: string } | undefined;
    if (model?.result.includes('parley-mini')) return;
    await wait(50);
  }
}

const ended = async (child: ChildProcess) => (await once(child, 'exit'))[0] as number | null;
const story = { prompt: 'Once upon a time', max_length: 24, ban_eos_token: true };

/** Asks often enough that many lines were due, and then ends the server as usual. */
async function servesOn(child: ChildProcess, port: number): Promise<void> {
  const client = nativeClient(`http://localhost:${port}`);
  for (let round = 0; round < 3; round += 1) {
    expect((await client.generate(story)).completion_tokens).toBe(24);
    expect((await client.post('/api/v1/generate', 'no JSON' as never)).status).toBe(400);
  }
  expect(child.exitCode).toBeNull();
  child.kill('SIGTERM');
  expect(await ended(child)).toBe(0);
}

describe('server whose log has no reader', () => {
  test('survives a reader that exits after the first line (| head -1)', async () => {
    const port = await freePort();
    const child = start(['--port', String(port), '--debugmode'], ['ignore', 'pipe', 'pipe']);
    await untilItSays(child, 'Welcome');
    child.stdout?.destroy();
    child.stderr?.destroy();
    await untilReady(`http://localhost:${port}`);
    await servesOn(child, port);
  });

  test('survives the death of the reader while serving', async () => {
    const port = await freePort();
    const child = start(['--port', String(port)], ['ignore', 'pipe', 'pipe']);
    await untilItSays(child, 'Please connect to custom endpoint');
    const client = nativeClient(`http://localhost:${port}`);
    const running = client.generate({ ...story, max_length: 400 });
    await client.performanceWhere(({ idle }) => idle === 0);
    child.stdout?.destroy();
    child.stderr?.destroy();
    expect((await running).completion_tokens).toBe(400);
    await servesOn(child, port);
  });

  test('still runs the command of --onready', async () => {
    const mark = join(folder, 'ready');
    const begin = async () => {
      const port = await freePort();
      const flags = ['--port', String(port), '--onready', `sleep 0.2; touch ${mark}`];
      const child = start(flags, ['ignore', 'pipe', 'pipe']);
      await untilItSays(child, 'Welcome');
      child.stdout?.destroy();
      child.stderr?.destroy();
      while (!existsSync(mark) && child.exitCode === null) await wait(50);
      return { child, port };
    };
    // Another program may have taken the port since it was found free.
    const first = await begin();
    const { child, port } = first.child.exitCode === null ? first : await begin();
    expect(child.exitCode).toBeNull();
    await servesOn(child, port);
  });

  test('survives a reader that stops reading', async () => {
    const port = await freePort();
    const child = start(['--port', String(port)], ['ignore', 'pipe', 'pipe']);
    await untilReady(`http://localhost:${port}`);
    await servesOn(child, port);
  });
});

describe.skipIf(!existsSync('/dev/full'))('on a full disk', () => {
  /** The same file for both streams, as a shell gives it with `> FILE 2>&1`. */
  function startOnFull(flags: readonly string[]): ChildProcess {
    const full = openSync('/dev/full', 'w');
    const child = start(flags, ['ignore', full, full]);
    closeSync(full);
    return child;
  }

  test('the server continues', async () => {
    const port = await freePort();
    const child = startOnFull(['--port', String(port), '--debugmode']);
    await untilReady(`http://localhost:${port}`);
    await servesOn(child, port);
  });

  test.each([['--help'], ['--version'], ['--prompt', 'Once', '--defaultgenamt', '8']])(
    '%s: exits with an error code if its output is lost',
    async (...flags) => {
      const full = openSync('/dev/full', 'w');
      const child = start(flags, ['ignore', full, 'pipe']);
      closeSync(full);
      let stderr = '';
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      expect((await once(child, 'close'))[0]).toBe(1);
      expect(stderr).toContain('Standard output cannot be written: ENOSPC');
      expect(stderr).not.toMatch(/\n\s+at /);
    },
  );
});

describe('terminal mode whose reader has exited', () => {
  test('--prompt: stops and exits without a message', async () => {
    const child = start(['--prompt', 'Once upon a time', '--defaultgenamt', '1600'], ['ignore', 'pipe', 'pipe']);
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    child.stdout?.destroy();
    expect([0, 141]).toContain(await ended(child));
    expect(stderr).not.toMatch(/EPIPE|\n\s+at /);
  });

  test('--cli: exits although its input continues', async () => {
    const child = start(['--cli', '--defaultgenamt', '1600'], ['pipe', 'pipe', 'pipe']);
    await untilItSays(child, 'Commands: ');
    child.stdin?.on('error', () => {}).write('Tell me a story.\n');
    child.stdout?.destroy();
    expect(await ended(child)).toBe(141);
  });

  test('--help: exits without a message', async () => {
    const child = start(['--help'], ['ignore', 'pipe', 'pipe']);
    child.stdout?.destroy();
    expect([0, 141]).toContain(await ended(child));
  });
});
