import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { liveServers } from '../live/server.ts';
import { servesEverything } from '../live/serves-everything.ts';
import { bareRoots, changesBetween, whyNoBareRoot } from './bare-root.ts';
import { buildImage, type Image } from './image.ts';

// The steps of the Dockerfile, taken in a bare root: everything but Docker itself and the layers of the images that it starts from.

const project = fileURLToPath(new URL('../..', import.meta.url));
const makeRoot = bareRoots();
const startServer = liveServers();

let why: string | undefined;
let image: Image;
beforeAll(async () => {
  why = await whyNoBareRoot('trixie');
  if (why === undefined) image = await buildImage(project, makeRoot);
}, 900_000);

test('image: contains the program and what it needs to run, and nothing of its source', async ({ skip }) => {
  if (why !== undefined) return skip(why);
  const list = await image.root.run(['ls', '/opt/parley', '/opt/parley/node_modules']);
  expect(list.split('\n')).toEqual(expect.arrayContaining(['dist', 'models', 'weights', 'package.json', 'koffi']));
  expect(list.split('\n').filter((name) => /^(src|test|web|vite|svelte|typescript|vitest)$/.test(name))).toEqual([]);
  const [size] = (await image.root.run(['du', '-sm', '/opt/parley'])).split('\t');
  console.log(`The image adds ${size} MB to that of Node.`);
});

test('a container: warns that it is open, is healthy, and runs as an unprivileged user', async ({ skip }) => {
  if (why !== undefined) return skip(why);
  const { root, inside, command, healthCheck } = image;
  const healthy = (network: number | 'own') =>
    root.run(healthCheck, { ...inside, network }).then(
      () => true,
      () => false,
    );
  expect(await healthy('own')).toBe(false);
  const server = await startServer([], { command: root.command(command, { ...inside, network: 'own' }), port: 5001 });
  expect(server.output()).toContain('Open to the network on 0.0.0.0: anybody who reaches this address can use it');
  expect(await healthy(server.pid)).toBe(true);
  expect(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]).toBe('1000');
  expect(root.processes()).toContain(server.pid);
  expect(await server.stop()).toBe(0);
  expect(root.processes()).toEqual([]);
});

test('a container with PARLEY_PASSWORD: says that it is behind the password, and stays healthy', async ({ skip }) => {
  if (why !== undefined) return skip(why);
  const { root, inside, command, healthCheck } = image;
  const environment = { ...inside.environment, PARLEY_PASSWORD: 'secret' };
  const args = root.command(command, { ...inside, environment, network: 'own' });
  const server = await startServer([], { command: args, port: 5001 });
  expect(server.output()).toContain('Open to the network on 0.0.0.0, behind the password.');
  await root.run(healthCheck, { ...inside, network: server.pid });
  await server.stop();
});

test('a container: serves text, speech, transcription, embeddings and images, and writes to its volumes only', async ({
  skip,
}) => {
  if (why !== undefined) return skip(why);
  const { root, inside, command, volumes } = image;
  const before = root.files();
  const server = await startServer([], { command: root.command(command, inside) });
  await servesEverything(server.base);
  expect(await server.stop()).toBe(0);
  const inVolumes = (path: string) => volumes.some((volume) => path.startsWith(`${volume}/`));
  expect(changesBetween(before, root.files()).filter((path) => !inVolumes(path))).toEqual([]);
});
