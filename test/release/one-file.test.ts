import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type LiveServer, liveServers } from '../live/server.ts';
import { servesEverything } from '../live/serves-everything.ts';
import { type BareRoot, bareRoots, changesBetween, type Inside, whyNoBareRoot } from './bare-root.ts';
import { installOneFile, oneFile, whyNoFile } from './one-file.ts';

// The file that people download, on a system without Node, as a user who may write to nothing but the home folder.

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
  why = whyNoFile() ?? (await whyNoBareRoot('trixie'));
  if (why !== undefined) return;
  root = await makeRoot('trixie');
  await root.run(['/usr/sbin/useradd', '--create-home', '--uid', '1000', 'person']);
  installOneFile(root);
  mkdirSync(join(root.path, 'read-only'), { mode: 0o555 });
  const environment = { HOME: home, PATH: '/usr/local/bin:/usr/bin:/bin' };
  inside = { user: '1000:1000', folder: '/read-only', environment };
}, 600_000);

async function start(): Promise<{ server: LiveServer; seconds: number }> {
  const begin = performance.now();
  const server = await startServer([], { command: root.command(['/usr/local/bin/parley'], inside) });
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
    `${megabytes(oneFile)} MB, unpacked ${Math.round(cache)} MB; ready after ${first.seconds.toFixed(1)} s, ` +
      `the second time after ${second.seconds.toFixed(1)} s.`,
  );
});

test('the single file: says what to do if its cache folder cannot be written', async ({ skip }) => {
  if (why !== undefined) return skip(why);
  const environment = { ...inside.environment, HOME: '/read-only' };
  const run = root.run(['/usr/local/bin/parley', '--version'], { ...inside, environment });
  await expect(run).rejects.toThrow(/PARLEY_HOME|read-only/);
});
