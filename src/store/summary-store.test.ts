import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { SavedSummaries } from './state-files.ts';
import { maxSummaryDays, SummaryStore } from './summary-store.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-summaries-'));
afterAll(() => rmSync(root, { recursive: true }));

const day = 24 * 60 * 60 * 1000;
const said = (words: string) => [{ role: 'user', content: [{ type: 'text', text: words }] }];

function world() {
  const folder = join(mkdtempSync(join(root, 'state-')), 'new');
  const path = join(folder, 'summaries-5001.json');
  const warnings: string[] = [];
  const time = { now: 0 };
  const open = (limits?: { readonly entries: number; readonly bytes: number; readonly fileBytes: number }) => {
    const file = new SavedSummaries({ path, warn: (line) => void warnings.push(line), now: () => new Date(0) });
    return new SummaryStore({ file, now: () => time.now, ...(limits && { limits }) });
  };
  return { folder, path, warnings, time, open };
}

test('summaries: are read by the next run, each by its own owner and model', async () => {
  const { open, warnings } = world();
  const first = open();
  first.of('qwen').set('key a', 'hash', said('A.'));
  await first.saved();
  const next = open();
  expect(await next.of('qwen').get('key a', 'hash')).toEqual(said('A.'));
  expect(await next.of('qwen').get('key b', 'hash')).toBeUndefined();
  expect(await next.of('other').get('key a', 'hash')).toBeUndefined();
  expect(warnings).toEqual([]);
});

test('summaries: a new one keeps those of the last run', async () => {
  const { open } = world();
  for (const key of ['first', 'second']) {
    const run = open();
    run.of('m').set('o', key, said(key));
    await run.saved();
  }
  expect(await open().of('m').get('o', 'first')).toEqual(said('first'));
});

test.skipIf(process.platform === 'win32')('summaries: are in a file that its owner alone can read', async () => {
  const { open, path } = world();
  const summaries = open();
  summaries.of('m').set('o', 'k', said('private'));
  await summaries.saved();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('summaries: those of an owner are forgotten, also in the file of an earlier run', async () => {
  const { open, path } = world();
  const first = open();
  for (const owner of ['key a', 'key b']) first.of('m').set(owner, 'k', said(`words of ${owner}`));
  await first.saved();
  const next = open();
  expect(await next.list('key a')).toMatchObject([{ owner: 'key a', messages: said('words of key a') }]);
  await next.forget('key a');
  expect(readFileSync(path, 'utf8')).toContain('words of key b');
  expect(readFileSync(path, 'utf8')).not.toContain('key a');
  expect(await next.of('m').get('key a', 'k')).toBeUndefined();
});

test('summaries: without a file they are in memory', async () => {
  const summaries = new SummaryStore({ now: () => 0 });
  summaries.of('m').set('o', 'k', said('A.'));
  await summaries.saved();
  expect(await summaries.of('m').get('o', 'k')).toEqual(said('A.'));
});

test('summaries: nothing is written before the first one', async () => {
  const { open, folder } = world();
  expect(await open().of('m').get('o', 'k')).toBeUndefined();
  expect(() => readdirSync(folder)).toThrow('ENOENT');
});

test('summaries: those that were not used for long are dropped, and a use counts', async () => {
  const { open, time } = world();
  const first = open();
  for (const key of ['used', 'unused']) first.of('m').set('o', key, said(key));
  time.now = (maxSummaryDays - 1) * day;
  await first.of('m').get('o', 'used');
  first.of('m').set('o', 'new', said('new'));
  await first.saved();
  time.now = (maxSummaryDays + 1) * day;
  const next = open().of('m');
  expect([await next.get('o', 'used'), await next.get('o', 'unused')]).toEqual([said('used'), undefined]);
});

test('summaries: the file has the newest that fit into its limit', async () => {
  const { open, path } = world();
  const limits = { entries: 100, bytes: 10_000, fileBytes: 600 };
  const first = open(limits);
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) first.of('m').set('o', key, said(key.repeat(50)));
  await first.saved();
  expect(readFileSync(path).length).toBeLessThan(700);
  expect(await first.of('m').get('o', 'a')).toEqual(said('a'.repeat(50)));
  const next = open(limits).of('m');
  expect([await next.get('o', 'a'), await next.get('o', 'h')]).toEqual([undefined, said('h'.repeat(50))]);
});

test.each([
  'no JSON',
  '{"summaries":[{"owner":"o","key":"k","usedAt":0,"messages":[{"role":"user","content":"text"}]}]}',
])('summaries: a damaged file is kept aside, and the server goes on: %s', async (text) => {
  const { open, path, folder, warnings } = world();
  const first = open();
  first.of('m').set('o', 'k', said('A.'));
  await first.saved();
  writeFileSync(path, text);
  expect(await open().of('m').get('o', 'k')).toBeUndefined();
  expect(warnings).toHaveLength(1);
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/damaged/)]);
});
