import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { partBytes } from './part-file.ts';
import { pullModel } from './pull-model.ts';
import { sha256, testHub } from './testing/hub.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-ranges-'));
afterAll(() => rmSync(root, { recursive: true }));

const id = 'acme/Foo-GGUF';
const name = 'Foo-Q4_K_M.gguf';
const content = randomBytes(400_000);
const chunkBytes = 50_000;

type Faults = Parameters<typeof testHub>[1];

async function world(faults: Faults = {}, files: Record<string, Buffer> = { [name]: content }) {
  const opened = await testHub({ [id]: { files } }, faults);
  const folder = mkdtempSync(join(root, 'models-'));
  const target = join(folder, 'acme--Foo-GGUF', name);
  const waits: number[] = [];
  const seen: number[] = [];
  const pull = (more: { signal?: AbortSignal; stallMs?: number; attempts?: number; progress?: () => void } = {}) =>
    pullModel(
      { repository: id, revision: 'main', tag: undefined },
      { folder },
      {
        hub: { base: opened.base, token: undefined, offline: false },
        fetch,
        wait: async (milliseconds) => void waits.push(milliseconds),
        allowsAddress: () => true,
        chunkBytes,
        ...more,
        progress: (done) => {
          seen.push(done);
          more.progress?.();
        },
      },
    );
  const begin = (part: Buffer, mark: string) => {
    mkdirSync(join(folder, 'acme--Foo-GGUF'));
    writeFileSync(`${target}.part`, part);
    writeFileSync(`${target}.part.etag`, mark);
  };
  const ranges = () => opened.stored.map(({ range }) => range?.replace('bytes=', '') ?? 'all');
  const received = () => readFileSync(target).equals(content);
  return { ...opened, target, pull, begin, waits, seen, ranges, received };
}

test('ranges: a large file comes in chunks, several at a time, and leaves no other file', async () => {
  const { pull, ranges, received, target, seen } = await world();
  await pull();
  expect(received()).toBe(true);
  expect(ranges()).toHaveLength(8);
  expect(ranges()).toContain('350000-399999');
  expect(readdirSync(join(target, '..'))).toEqual([name]);
  expect(seen.at(-1)).toBe(content.length);
  expect(seen.every((done, index) => done >= (seen[index - 1] ?? 0))).toBe(true);
});

test('ranges: a lost connection costs only the rest of its chunk', async () => {
  const { pull, ranges, received, waits } = await world({ breakAfter: [20_000] });
  await pull();
  expect(received()).toBe(true);
  expect(ranges()).toHaveLength(9);
  expect(waits).toEqual([1000]);
});

test('ranges: connections that break again and again do not end a download that goes on', async () => {
  const { pull, received } = await world({ breakAfter: Array.from({ length: 40 }, () => 10_000) });
  await pull();
  expect(received()).toBe(true);
});

test('ranges: a connection without data is given up', async () => {
  const { pull, received } = await world({ stallAfter: [20_000] });
  await pull({ stallMs: 300 });
  expect(received()).toBe(true);
});

test('ranges: an aborted download is resumed at the byte', async () => {
  const first = await world();
  const stop = new AbortController();
  const stopped = first.pull({
    signal: stop.signal,
    progress: () => void ((first.seen.at(-1) ?? 0) >= 60_000 && stop.abort()),
  });
  await expect(stopped).rejects.toThrow();
  expect(existsSync(first.target)).toBe(false);
  const have = await partBytes(first.target);
  expect(have).toBeGreaterThanOrEqual(60_000);
  const before = first.stored.length;
  first.seen.length = 0;
  await first.pull();
  expect(first.received()).toBe(true);
  expect(first.seen[0]).toBe(have);
  const fetched = first
    .ranges()
    .slice(before)
    .map((range) => range.split('-').map(Number) as [number, number])
    .reduce((sum, [from, to]) => sum + to - from + 1, 0);
  expect(fetched).toBe(content.length - have);
});

test('ranges: the part of one connection is continued', async () => {
  const { pull, begin, ranges, received } = await world();
  begin(content.subarray(0, 120_000), `{"file_version":2,"etag":"${sha256(content)}"}`);
  await pull();
  expect(received()).toBe(true);
  expect(ranges().sort()[0]).toBe('120000-149999');
  expect(ranges()).toHaveLength(6);
});

test('ranges: the part of one connection with an ETag is continued over one connection', async () => {
  const { pull, begin, ranges } = await world();
  begin(content.subarray(0, 120_000), `{"file_version":2,"etag":"\\"v1\\""}`);
  await pull();
  expect(ranges()).toEqual(['120000-']);
});

test('ranges: a file that has changed since is downloaded from its beginning', async () => {
  const { pull, begin, ranges, received } = await world();
  begin(Buffer.alloc(120_000), `{"file_version":2,"etag":"${'a'.repeat(64)}"}`);
  await pull();
  expect(received()).toBe(true);
  expect(ranges()).toHaveLength(8);
});

test.each([
  '{"file_version":3,"etag":"HASH","chunks":{"bytes":400000,"size":50000,"done":[50001,0,0,0,0,0,0,0]}}',
  '{"file_version":3,"etag":"HASH","chunks":{"bytes":400000,"size":50000,"done":[50000]}}',
  '{"file_version":3,"etag":"HASH","chunks":{"bytes":300000,"size":50000,"done":[50000,0,0,0,0,0]}}',
  '{"file_version":3,"etag":"HASH","chunks":"all"}',
])('ranges: a mark that makes no sense is not trusted: %s', async (mark) => {
  const { pull, begin, received } = await world();
  begin(Buffer.alloc(400_000), mark.replace('HASH', sha256(content)));
  await pull();
  expect(received()).toBe(true);
});

test('ranges: a storage that sends whole files only is asked over one connection', async () => {
  const { pull, received, ranges, target } = await world({ ignoresRanges: true });
  await pull();
  expect(received()).toBe(true);
  expect(ranges().at(-1)).toBe('all');
  expect(readdirSync(join(target, '..'))).toEqual([name]);
});

test('ranges: something else than the file does not cost what was downloaded', async () => {
  const page = [200, { 'content-length': '0' }] as [number, Record<string, string>];
  const { pull, begin, ranges, received } = await world({ firstStored: [page] });
  begin(content.subarray(0, 120_000), `{"file_version":2,"etag":"${sha256(content)}"}`);
  await pull();
  expect(received()).toBe(true);
  expect(ranges()).not.toContain('0-49999');
});

test('ranges: a wrong hash leaves nothing', async () => {
  const { pull, target } = await world({ damages: name });
  await expect(pull()).rejects.toThrow(/the sha256 of what came is .*nothing of it is kept/);
  expect(readdirSync(join(target, '..'))).toEqual([]);
});

test('ranges: waits as long as the storage or the hub says', async () => {
  const busy = (headers: Record<string, string>) => [429, headers] as [number, Record<string, string>];
  const storage = await world({ firstStored: [busy({ 'retry-after': '7' })] });
  await storage.pull();
  expect([storage.received(), storage.waits]).toEqual([true, [7000]]);
  const hub = await world({ firstResolved: [busy({ ratelimit: '"resolvers";r=0;t=55' })] });
  await hub.pull();
  expect([hub.received(), hub.waits]).toEqual([true, [56_000]]);
});

test('ranges: a refusal ends all connections and keeps what was downloaded', async () => {
  const forbidden = [403, {}] as [number, Record<string, string>];
  const { pull, begin, target } = await world({ firstStored: [forbidden] });
  begin(content.subarray(0, 120_000), `{"file_version":2,"etag":"${sha256(content)}"}`);
  await expect(pull()).rejects.toThrow('answered 403');
  expect(await partBytes(target)).toBeGreaterThanOrEqual(120_000);
});

test('ranges: a storage that stays broken ends the download with a reason', async () => {
  const broken = Array.from({ length: 60 }, () => [503, {}] as [number, Record<string, string>]);
  const { pull } = await world({ firstStored: broken });
  await expect(pull({ attempts: 2 })).rejects.toThrow(/answered 503 .*Try again/);
});
