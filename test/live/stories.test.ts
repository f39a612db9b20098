import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NativeClient, nativeClient } from './client.ts';
import { runProgram } from './program.ts';
import { liveServers, program } from './server.ts';

const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-stories-'));
const stories = join(folder, 'home', 'stories');
const home = process.env.PARLEY_HOME;

beforeAll(() => {
  mkdirSync(stories, { recursive: true });
  process.env.PARLEY_HOME = join(folder, 'home');
});

afterAll(() => {
  if (home === undefined) delete process.env.PARLEY_HOME;
  else process.env.PARLEY_HOME = home;
  rmSync(folder, { recursive: true, force: true });
});

/** Nothing where nothing was ever written. */
function fileAt(path: string): Record<string, unknown> {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

const filesLeft = () => readdirSync(folder, { recursive: true }).map((name) => basename(String(name)));

interface Told {
  readonly success: boolean;
  readonly turn_minor: number;
}

describe('server killed during a write', () => {
  const saves = join(folder, 'saves.jsondb');
  const flags = ['--nomodel', '--savedatafile', saves, '--multiplayer'];
  const story = (version: number) => `${'story '.repeat(150_000)}${version}`;
  /** The latest save of each slot that was confirmed, and the latest turn. */
  const confirmed = new Map<number, number>();
  let confirmedTurn = 1;
  let version = 0;

  /** Sends many saves at once to a server that is killed in the middle of its third change of `file`. */
  async function round(file: string, at: string): Promise<void> {
    const dying = new URL(`die-while-writing.mjs?file=${file}&at=${at}`, import.meta.url).href;
    const server = await startServer(flags, { command: [process.execPath, '--import', dying, program] });
    const { post } = nativeClient(server.base);
    const save = async (slot: number, own: number) => {
      const reply = await post('/api/extra/data/save', { slot, title: `v${own}`, format: 'f', data: story(own) });
      if (!(reply.json() as Told).success) throw new Error(reply.text);
      confirmed.set(slot, Math.max(confirmed.get(slot) ?? 0, own));
    };
    const play = async (own: number) => {
      const reply = await post('/api/extra/multiplayer/setstory', { data_format: 'f', data: story(own) });
      confirmedTurn = Math.max(confirmedTurn, (reply.json() as Told).turn_minor);
    };
    await save(0, ++version);
    await play(++version);
    const sent = Array.from({ length: 24 }, (_, index) => {
      version += 1;
      return index % 3 === 2 ? play(version) : save(index % 12, version);
    });
    // A client without an answer knows that its story may be lost.
    const outcomes = await Promise.allSettled(sent);
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    await server.exited;
    expect(filesLeft()).toContain(`${file}.${server.pid}.part`);
  }

  test.each([
    ['saves.jsondb', 'content'],
    ['saves.jsondb', 'rename'],
    ['multiplayer-0.json', 'content'],
    ['multiplayer-0.json', 'rename'],
  ])('to %s, at its %s: confirmed data survives, and the file is valid', async (file, at) => {
    await round(file, at);
    const slots = fileAt(saves) as Record<string, { title: string; data: string }>;
    for (const [slot, minRevision] of confirmed) {
      const { title, data } = slots[slot] ?? { title: 'v0', data: '' };
      const revision = Number(title.slice(1));
      expect(revision).toBeGreaterThanOrEqual(minRevision);
      expect(data === story(revision)).toBe(true);
    }
    const shared = { minor: 1, story: story(0), ...fileAt(join(stories, 'multiplayer-0.json')) };
    expect(shared.minor).toBeGreaterThanOrEqual(confirmedTurn);
    expect(shared.story === story(Number(/\d+$/.exec(shared.story)?.[0]))).toBe(true);
  });

  test('restart: has all confirmed data and no partial files', async () => {
    const server = await startServer(flags);
    const { post } = nativeClient(server.base);
    const titles = (await post('/api/extra/data/list')).json() as readonly string[];
    for (const [slot, minRevision] of confirmed)
      expect(Number(titles[slot]?.slice(1))).toBeGreaterThanOrEqual(minRevision);
    const status = (await post('/api/extra/multiplayer/status', { sender: 'a' })).json() as Told;
    expect(status.turn_minor).toBeGreaterThanOrEqual(confirmedTurn);
    const shared = (await post('/api/extra/multiplayer/getstory')).text;
    expect(shared === story(Number(/\d+$/.exec(shared)?.[0]))).toBe(true);
    expect(filesLeft().filter((name) => /part|damaged/.test(name))).toEqual([]);
    await server.stop();
  });
});

describe('server with save slots, shared story, search and a password', () => {
  let client: NativeClient;
  let stranger: NativeClient;
  let searches = 0;
  const searx = createServer((_, response) => {
    searches += 1;
    const inside = { title: 'Inside', url: 'http://127.0.0.1:9/admin', content: 'A page inside.' };
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ results: [inside] }));
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => searx.listen(0, '127.0.0.1', resolve));
    const { port } = searx.address() as AddressInfo;
    const saved = join(folder, 'begin.json');
    writeFileSync(saved, '{"gamestarted": true}');
    const { base } = await startServer([
      ...['--nomodel', '--password', 'secret', '--multiplayer', '--preloadstory', saved],
      ...['--savedatafile', join(folder, 'others'), '--websearchurl', `http://127.0.0.1:${port}/`],
    ]);
    client = nativeClient(base, { authorization: 'Bearer secret' });
    stranger = nativeClient(base);
  });
  afterAll(() => void searx.close().closeAllConnections());

  test('reports these features', async () => {
    const version = (await stranger.get('/api/extra/version')).json();
    expect(version).toMatchObject({ protected: true, savedata: true, multiplayer: true, websearch: true });
  });

  test.each([
    'data/list',
    'data/load',
    'data/save',
    'multiplayer/status',
    'multiplayer/getstory',
    'multiplayer/setstory',
    'websearch',
  ])('needs the key at %s', async (path) => {
    expect((await stranger.post(`/api/extra/${path}`, { slot: 0, q: 'x' })).status).toBe(401);
  });

  test('preloaded story: needs the key', async () => {
    expect((await client.get('/api/extra/preloadstory')).text).toBe('{"gamestarted": true}');
    expect((await stranger.get('/api/extra/preloadstory')).text).toBe('{}');
  });

  test('web search: uses --websearchurl and fetches no private addresses', async () => {
    const result = { title: 'Inside', url: 'http://127.0.0.1:9/admin', desc: 'A page inside.', content: '' };
    expect((await client.post('/api/extra/websearch', { q: 'lighthouse' })).json()).toEqual([result]);
    expect((await client.post('/api/extra/websearch', { q: ' lighthouse ' })).json()).toEqual([result]);
    expect(searches).toBe(1);
  });
});

test.each<[string, readonly string[], RegExp]>([
  [
    'a save file in a missing folder',
    ['--savedatafile', join(folder, 'none', 'saves')],
    /--savedatafile: .*saves\.jsondb cannot be used: ENOENT/,
  ],
  [
    'an invalid story file',
    ['--preloadstory', fileURLToPath(import.meta.url)],
    /--preloadstory: .* is no story, because it is no JSON/,
  ],
])('start with %s: ends with a message', async (_, flags, sentence) => {
  const { code, stderr } = await runProgram(['--nomodel', ...flags]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)]);
});
