import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { oauthServer } from '../mcp/testing/oauth-server.ts';
import { mcpCommand } from './mcp-command.ts';
import { loginFile } from './tool-servers.ts';

function world(servers: object) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-mcp-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  const kept = join(folder, 'logins', 'mcp-logins.json');
  const logins = loginFile(kept);
  const run = async (...args: readonly string[]) => {
    const lines: string[] = [];
    const opened: string[] = [];
    const code = await mcpCommand({
      args,
      defaultFile: file,
      terminal: { line: (line = '') => void lines.push(line) },
      product: { name: 'Parley', version: '1' },
      environment: {},
      open: (url) => {
        opened.push(url);
        void fetch(url);
      },
      signal: AbortSignal.timeout(60_000),
      logins,
    });
    return { code, text: lines.join('\n'), opened };
  };
  return { run, kept };
}

test('parley mcp login: opens the page, keeps the tokens for this account, and logout deletes them', async () => {
  const { url } = await oauthServer();
  const { run, kept } = world({ secret: { url }, local: { command: 'x' } });
  const { code, text, opened } = await run('login', 'secret');
  expect([code, opened.length]).toEqual([0, 1]);
  expect(text).toContain('Logged in to secret.');
  expect(text).toContain(opened[0]);
  expect(JSON.parse(readFileSync(kept, 'utf8'))).toMatchObject({ file_version: 1 });
  if (process.platform !== 'win32') expect(statSync(kept).mode & 0o777).toBe(0o600);
  expect((await run('list')).text).toBe(`secret  ${url}  (logged in)\nlocal  x`);
  expect((await run('logout', 'secret')).code).toBe(0);
  expect(readFileSync(kept, 'utf8')).not.toContain('token-');
  expect((await run('list')).text).not.toContain('logged in');
});

test('parley mcp login: says what is wrong and what to do', async () => {
  const { url } = await oauthServer({ denies: true });
  const oauth = { grant: 'client_credentials', clientId: 'a', clientSecret: 'b' };
  const { run } = world({ secret: { url }, local: { command: 'x' }, machine: { url, oauth } });
  expect(await run('login', 'secret')).toMatchObject({ code: 1, text: expect.stringContaining('was refused') });
  expect((await run('login', 'other')).text).toMatch(/has no server other\. It has: secret, local, machine\.$/);
  expect((await run('login', 'local')).text).toContain('is a program');
  expect((await run('login', 'machine')).text).toContain('logs in by itself');
  expect((await run('login')).code).toBe(2);
  expect((await run('login', 'secret', '--mcpfile', '/none')).text).toContain('--mcpfile /none cannot be used');
});
