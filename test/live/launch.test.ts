import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { embeddedModel, liveServers, program } from './server.ts';

// `parley launch` with a program in the place of Claude Code. It says where the server is, asks it, and waits for the end of its input.

const agent = `#!${process.execPath}
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_MODEL: model, ANTHROPIC_AUTH_TOKEN: key } = process.env;
const headers = { authorization: 'Bearer ' + key };
const body = JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] });
fetch(url + '/v1/messages', { method: 'POST', headers, body }).then(async (reply) => {
  console.log('AGENT ' + url + ' ' + reply.status + ' ' + process.argv.slice(2).join(' '));
  process.stdin.resume().on('end', () => process.exit(7));
});
`;

const root = mkdtempSync(join(tmpdir(), 'parley-launch-live-'));
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true });
});
const startServer = liveServers();

function launch(args: readonly string[]) {
  const home = mkdtempSync(join(root, 'home-'));
  const bin = mkdtempSync(join(root, 'bin-'));
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(bin, 'claude'), agent);
  chmodSync(join(bin, 'claude'), 0o755);
  const env = { ...process.env, HOME: home, PATH: [bin, process.env.PATH].join(delimiter) };
  const child = spawn(process.execPath, [program, 'launch', 'claude', ...args], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  children.add(child);
  let output = '';
  const started = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => {
        output += text;
        const [, url] = /AGENT (\S+) 200/.exec(output) ?? [];
        if (url) resolve(url);
      });
    child.on('close', () => reject(new Error(output)));
  });
  const closed = once(child, 'close').then(([code]) => code as number | null);
  return { child, started, closed, home, output: () => output };
}

const answers = (url: string): Promise<boolean> => fetch(`${url}/api/extra/version`).then(Boolean, () => false);
const own = ['--model', embeddedModel, '--contextsize', '32768', '--usecpu'];

describe.skipIf(process.platform === 'win32')('parley launch', () => {
  test('starts a server for the agent and ends it with the agent, whose exit code it has', async () => {
    const { child, started, closed, output, home } = launch([...own, '--', '-p', 'Hello there']);
    const url = await started;
    expect(output()).toContain('200 -p Hello there');
    expect(await answers(url)).toBe(true);
    child.stdin.end();
    expect(await closed).toBe(7);
    expect(await answers(url)).toBe(false);
    expect([readdirSync(home), readdirSync(join(home, '.claude'))]).toEqual([['.claude'], []]);
  });

  test('a server whose launcher is killed ends by itself', async () => {
    const { child, started } = launch(own);
    const url = await started;
    child.kill('SIGKILL');
    await expect.poll(() => answers(url)).toBe(false);
    child.stdin.end();
  });

  test('SIGTERM ends the agent, then the server', async () => {
    const { child, started, closed } = launch(own);
    const url = await started;
    child.kill('SIGTERM');
    expect(await closed).toBe(128 + 15);
    expect(await answers(url)).toBe(false);
  });

  test('uses a Parley that runs, with its password, and leaves it running', async () => {
    const server = await startServer(['--contextsize', '32768', '--password', 'secret']);
    const refused = launch(['--port', String(server.port)]);
    refused.started.catch(() => undefined);
    expect([await refused.closed, refused.output()]).toEqual([
      2,
      expect.stringContaining('has a password: add --password'),
    ]);
    const { child, started, closed } = launch(['--port', String(server.port), '--password', 'secret']);
    expect(await started).toBe(`http://127.0.0.1:${server.port}`);
    child.stdin.end();
    expect(await closed).toBe(7);
    expect(await answers(server.base)).toBe(true);
  });
});
