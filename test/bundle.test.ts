import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const { bundle }: { bundle: (from: string, to: string) => Promise<void> } = await import(
  new URL('../scripts/bundle.mjs', import.meta.url).href
);

const folder = mkdtempSync(join(tmpdir(), 'parley-bundle-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Modules as a compiler leaves them, joined; `run` starts one of the programs that come of it. */
async function joined(name: string, modules: Record<string, string>) {
  const [from, to] = [join(folder, name, 'compiled'), join(folder, name, 'dist')];
  for (const [path, code] of Object.entries(modules)) {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), code);
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await bundle(from, to);
  const files = readdirSync(to, { recursive: true }).map(String);
  const run = (program: string) => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(to, program)], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.trim().split('\n');
  };
  return { to, run, files: files.filter((file) => file.endsWith('.js')) };
}

test('bundle: static imports become one file, dynamic imports another', async () => {
  const { files, run } = await joined('few', {
    'main.js': `#!/usr/bin/env node
import { a } from './deep/a.js';
console.log(a);
console.log((await import('./later.js')).later);`,
    'deep/a.js': `import { b } from '../b.js'; export const a = 'a' + b;`,
    'b.js': `export const b = 'b';`,
    'later.js': `export const later = 'later';`,
  });
  expect(files.filter((file) => !file.startsWith('parts'))).toEqual(['main.js']);
  expect(files).toHaveLength(2);
  expect(run('main.js')).toEqual(['ab', 'later']);
});

test('bundle: import.meta.url of a module keeps its original location', async () => {
  const { to, run } = await joined('addresses', {
    'main.js': `import { own } from './deep/down/a.js'; console.log(own); console.log(import.meta.url);
console.log((await import('./deep/later.js')).own);`,
    'deep/down/a.js': `export const own = new URL('../../../models/some.gguf', import.meta.url).href;`,
    'deep/later.js': `export const own = import.meta.url;`,
  });
  const address = (path: string) => new URL(path, `file://${to}/`).href;
  expect(run('main.js')).toEqual([
    new URL('../models/some.gguf', `file://${to}/`).href,
    address('main.js'),
    address('deep/later.js'),
  ]);
});

test('bundle: a program that is started by URL keeps its path and shares common chunks', async () => {
  const { files, run } = await joined('programs', {
    'main.js': `import { common } from './common.js'; import { worker } from './run/engine.js'; console.log(common, worker);`,
    'run/engine.js': `export const worker = new URL(
  '../engines/worker/main.js',
  import.meta.url,
).pathname.split('/').slice(-3).join('/');`,
    'engines/worker/main.js': `import { common } from '../../common.js'; console.log('worker', common);`,
    'common.js': `export const common = { length: 'common'.length }.length;`,
  });
  expect(files).toContain(join('engines', 'worker', 'main.js'));
  expect(run('main.js')).toEqual(['6 engines/worker/main.js']);
  expect(run('engines/worker/main.js')).toEqual(['worker 6']);
});

test('bundle: packages stay external', async () => {
  const { run } = await joined('packages', {
    'main.js': `import { sep } from 'node:path';
try { await import('some-package-that-nobody-has'); } catch (error) { console.log(sep, error.code); }`,
  });
  expect(run('main.js')).toEqual(['/ ERR_MODULE_NOT_FOUND']);
});
