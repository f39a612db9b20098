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

/** Bundled modules; `run` starts one of the programs. */
async function joined(name: string, modules: Record<string, string>) {
  const [from, to] = [join(folder, name, 'src'), join(folder, name, 'dist')];
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
    'main.ts': `#!/usr/bin/env node
import { a } from './deep/a.ts';
console.log(a);
console.log((await import('./later.ts')).later);`,
    'deep/a.ts': `import { b } from '../b.ts'; export const a = 'a' + b;`,
    'b.ts': `export const b = 'b';`,
    'later.ts': `export const later = 'later';`,
  });
  expect(files.filter((file) => !file.startsWith('parts'))).toEqual(['main.js']);
  expect(files).toHaveLength(2);
  expect(run('main.js')).toEqual(['ab', 'later']);
});

test('bundle: what a module shares with one that it imports later stays in its file', async () => {
  const { files, run } = await joined('shared', {
    'main.ts': `import { a } from './a.ts'; void import('./later.ts').then(({ later }) => console.log(a, later));`,
    'a.ts': `export const a = 'a';`,
    'later.ts': `import { a } from './a.ts'; export const later = 'later' + a;`,
  });
  expect(run('main.js')).toEqual(['a latera']);
  expect(files).toHaveLength(2);
});

test('bundle: import.meta.url of a module keeps its original location', async () => {
  const { to, run } = await joined('addresses', {
    'main.ts': `import { own } from './deep/down/a.ts'; console.log(own); console.log(import.meta.url);
console.log((await import('./deep/later.ts')).own);`,
    'deep/down/a.ts': `export const own = new URL('../../../models/some.gguf', import.meta.url).href;`,
    'deep/later.ts': `export const own = import.meta.url;`,
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
    'main.ts': `import { common } from './common.ts'; import { worker } from './run/engine.ts'; console.log(common, worker);`,
    'run/engine.ts': `export const worker = new URL(
  '../engines/worker/main.js',
  import.meta.url,
).pathname.split('/').slice(-3).join('/');`,
    'engines/worker/main.ts': `import { common } from '../../common.ts'; console.log('worker', common);`,
    'common.ts': `export const common = { length: 'common'.length }.length;`,
  });
  expect(files).toContain(join('engines', 'worker', 'main.js'));
  expect(run('main.js')).toEqual(['6 engines/worker/main.js']);
  expect(run('engines/worker/main.js')).toEqual(['worker 6']);
});

test('bundle: the server is one file before its engine starts and one afterwards, without what commands and workers use', async () => {
  const { files, run } = await joined('server', {
    'main.ts': `import { flag } from './flag.ts';
if (process.argv.length > 9) void import('./server/commands.ts');
else void import('./server/model-modes.ts').then(({ run }) => run(flag));`,
    'flag.ts': `export const flag = { value: 'flag' }.value;`,
    'server/commands.ts': `for (const command of [() => import('./pull-command.ts'), () => import('./doctor.ts'),
() => import('./licenses.ts'), () => import('./launcher.ts')]) void command();`,
    'server/doctor.ts': `console.log('doctor');`,
    'server/licenses.ts': `console.log('licenses');`,
    'server/launcher.ts': `console.log('launcher');`,
    'server/pull-command.ts': `import { file } from '../file.ts'; console.log(file);`,
    'file.ts': `export const file = { value: 'file' }.value;`,
    'server/model-modes.ts': `import { file } from '../file.ts'; import { engine } from '../engine.ts';
export async function run(flag) { console.log(flag, file, engine, (await import('./app.ts')).app, (await import('./routed-app.ts')).routed); }`,
    'engine.ts': `export const engine = new URL('./worker.js', import.meta.url).pathname.split('/').at(-1);`,
    'worker.ts': `import { shared } from './shared.ts'; console.log(shared);`,
    'shared.ts': `export const shared = { value: 'shared' }.value;`,
    'server/app.ts': `import { shared } from '../shared.ts'; import { page } from '../page.ts'; export const app = shared + page;`,
    'page.ts': `export const page = { value: 'page' }.value;`,
    'server/routed-app.ts': `import { page } from '../page.ts'; export const routed = 'routed' + page;`,
  });
  expect(run('main.js')).toEqual(['flag file worker.js sharedpage routedpage']);
  expect(run('worker.js')).toEqual(['shared']);
  const parts = files.map((file) => file.replace(/^parts.|-[\w-]{8}(?=\.js$)/g, ''));
  const entries = [
    'app.js',
    'commands.js',
    'doctor.js',
    'launcher.js',
    'licenses.js',
    'main.js',
    'model-modes.js',
    'pull-command.js',
    'routed-app.js',
    'worker.js',
  ];
  expect(parts.sort()).toEqual([...entries, 'main.js', 'server.js', 'shared.js', 'start.js'].sort());
});

test('bundle: packages stay external', async () => {
  const { run } = await joined('packages', {
    'main.ts': `import { sep } from 'node:path';
try { await import('some-package-that-nobody-has'); } catch (error) { console.log(sep, error.code); }`,
  });
  expect(run('main.js')).toEqual(['/ ERR_MODULE_NOT_FOUND']);
});
