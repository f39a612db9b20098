import { chmodSync, copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import { type LiveServer, liveServers } from '../live/server.ts';
import { servesEverything } from '../live/serves-everything.ts';
import { type BareRoot, bareRoots, changesBetween, type Inside, whyNoBareRoot } from './bare-root.ts';

// The file that people download, on a system without Node, as a user who may write to nothing but the home folder.
// PARLEY_TEST_ONE_FILE names another file than that of `npm run release`.

const file =
  process.env.PARLEY_TEST_ONE_FILE ??
  fileURLToPath(new URL(`../../release/parley-${packageFile.version}-linux-${process.arch}`, import.meta.url));
const makeRoot = bareRoots();
const startServer = liveServers();
const home = '/home/person';
const own = [`${home}/.cache/parley`, `${home}/.local/share/parley`];
/** Parents of these may be made along with them. */
const isOwn = (path: string) =>
  own.some((folder) => `${path}/`.startsWith(`${folder}/`) || folder.startsWith(`${path}/`));

let why: string | undefined;
let root: BareRoot;
let inside: Inside;
beforeAll(async () => {
  why = existsSync(file) ? await whyNoBareRoot('trixie') : `there is no ${file}: \`npm run release\` makes it`;
  if (why !== undefined) return;
  root = await makeRoot('trixie');
  await root.run(['/usr/sbin/useradd', '--create-home', '--uid', '1000', 'person']);
  copyFileSync(file, join(root.path, 'opt/parley'));
  chmodSync(join(root.path, 'opt/parley'), 0o755);
  mkdirSync(join(root.path, 'read-only'), { mode: 0o555 });
  const environment = { HOME: home, PATH: '/usr/bin:/bin' };
  inside = { user: '1000:1000', folder: '/read-only', environment };
}, 600_000);

async function start(): Promise<{ server: LiveServer; seconds: number }> {
  const begin = performance.now();
  const server = await startServer([], { command: root.command(['/opt/parley'], inside) });
  return { server, seconds: (performance.now() - begin) / 1000 };
}

test('the single file: starts without Node, serves everything, stops, and leaves its cache and data only', async ({
  skip,
}) => {
  if (why !== undefined) return skip(why);
  await expect(root.run(['sh', '-c', 'command -v node'], inside)).rejects.toThrow();
  const before = root.files();

  const first = await start();
  await servesEverything(first.server.base);
  expect(await first.server.stop()).toBe(0);
  expect(root.processes()).toEqual([]);
  const unpacked = root.files();
  const left = changesBetween(before, unpacked);
  expect(left.filter((path) => !isOwn(path))).toEqual([]);

  const second = await start();
  expect(await second.server.stop()).toBe(0);
  expect(changesBetween(unpacked, root.files())).toEqual([]);

  const megabytes = (path: string) => Math.round(statSync(path).size / 1e6);
  const cache = left.reduce((sum, path) => sum + statSync(join(root.path, path)).size, 0) / 1e6;
  console.log(
    `${megabytes(file)} MB, unpacked ${Math.round(cache)} MB; ready after ${first.seconds.toFixed(1)} s, ` +
      `the second time after ${second.seconds.toFixed(1)} s.`,
  );
});

test('the single file: says what to do if its cache folder cannot be written', async ({ skip }) => {
  if (why !== undefined) return skip(why);
  const environment = { ...inside.environment, HOME: '/read-only' };
  const run = root.run(['/opt/parley', '--version'], { ...inside, environment });
  await expect(run).rejects.toThrow(/PARLEY_HOME|read-only/);
});
