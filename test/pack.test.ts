import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { nativeClient } from './live/client.ts';
import { liveServers } from './live/server.ts';

const run = promisify(execFile);
const project = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-pack-'));
const startServer = liveServers();
afterAll(() => rmSync(folder, { recursive: true }));

async function registryAnswers(): Promise<boolean> {
  try {
    const { stdout } = await run('npm', ['config', 'get', 'registry'], { cwd: project });
    return (await fetch(new URL('koffi', stdout.trim()), { signal: AbortSignal.timeout(10_000) })).ok;
  } catch {
    return false;
  }
}

test('the packed program runs from an empty folder', async ({ skip }) => {
  if (!(await registryAnswers())) skip('the npm registry does not answer, so nothing can be installed');
  // The build is there already; making it anew would take it away from under other tests.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: project });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  expect(tarball).toMatch(/^parley-\d/);
  const home = mkdtempSync(join(folder, 'empty-'));
  writeFileSync(join(home, 'package.json'), '{"private": true}');
  await run('npm', ['install', '--no-fund', '--no-audit', '--prefer-offline', join(folder, tarball ?? '')], {
    cwd: home,
  });

  const installed = join(home, 'node_modules/parley');
  expect(readdirSync(installed)).not.toContain('src');
  expect(readdirSync(join(installed, 'models'))).toContain('parley-mini.gguf');
  const server = await startServer([], { command: [join(home, 'node_modules/.bin/parley')] });
  const { text } = await nativeClient(server.base).generate({ prompt: 'Once upon a time', max_length: 8 });
  expect(text).toMatch(/^, there was a/);
  await server.stop();
}, 300_000);
