import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type NativeResult, nativeClient } from './client.ts';
import { expectMostlyShared, sharedUntilTie, withTokens } from './near-tie.ts';
import { liveServers, untrainedServers } from './server.ts';

const start = untrainedServers();
/** Its snapshots are megabytes, and it repeats what it has read. */
const startEmbedded = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-disk-'));
const cacheFolder = join(folder, 'kept');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const text = (topic: string) =>
  Array.from({ length: 30 }, (_, line) => `Line ${line} about ${topic}: ${line * 7} of ${line + 3}.`).join('\n');

const request = (prompt: string) => withTokens({ prompt, max_length: 12, temperature: 0 });

async function complete(base: string, prompt: string) {
  const client = nativeClient(base);
  const reply = await client.generate(request(prompt));
  const { last_reused_count: cached } = await client.performance();
  return { reply, all: reply.prompt_tokens, cached };
}

/** The last token of a prompt is computed alone here, and with others at the first time. */
async function expectSame(base: string, prompt: string, actual: NativeResult, expected: NativeResult): Promise<void> {
  await sharedUntilTie(nativeClient(base), request(prompt), actual, expected);
}

describe.each([
  ['memory', ['--smartcache']],
  ['disk', ['--diskcache', `${join(folder, 'small')}:1G`]],
])('with snapshots in %s', (_, flags) => {
  test('--smartcache: an evicted chat is restored with the same text', async () => {
    const { base } = await start(flags);
    const fresh = await complete(base, text('trees'));
    expect(fresh.cached).toBeLessThan(10);
    await complete(base, text('ships'));
    const again = await complete(base, text('trees'));
    expect(again.cached).toBe(again.all - 1);
    await expectSame(base, text('trees'), again.reply, fresh.reply);
  });
});

test('--diskcache: is used after a restart, until the folder is emptied', async () => {
  const first = await start(['--diskcache', cacheFolder]);
  const fresh = await complete(first.base, text('clouds'));
  await first.stop();
  expect(readdirSync(cacheFolder)).toHaveLength(1);
  const second = await start(['--diskcache', cacheFolder]);
  const again = await complete(second.base, text('clouds'));
  expect(again.cached).toBe(again.all - 1);
  await expectSame(second.base, text('clouds'), again.reply, fresh.reply);
  await second.stop();
  rmSync(cacheFolder, { recursive: true, force: true });
  const third = await start(['--diskcache', cacheFolder]);
  expect((await complete(third.base, text('clouds'))).cached).toBe(0);
});

interface DiskFigures {
  readonly snapshots: number;
  readonly bytes: number;
  readonly other_bytes: number;
  readonly failures: number;
  readonly last_failure: string | null;
}

const figures = async (base: string): Promise<DiskFigures> =>
  ((await (await fetch(`${base}/api/extra/cache`)).json()) as { disk: DiskFigures }).disk;

test('--diskcache: all models share the limit, and a smaller one applies at the start', async () => {
  const shared = join(folder, 'shared');
  const first = await startEmbedded(['--diskcache', shared]);
  await complete(first.base, text('rivers'));
  await first.stop();
  expect(statSync(shared).mode & 0o777).toBe(0o700);
  const other = await startEmbedded(['--diskcache', shared, '--quantkv', 'q8_0']);
  expect(await figures(other.base)).toMatchObject({ snapshots: 0, failures: 0, last_failure: null });
  expect((await figures(other.base)).other_bytes).toBeGreaterThan(1e6);
  await other.stop();
  const small = await startEmbedded(['--diskcache', `${shared}:1MB`]);
  await expect.poll(() => figures(small.base)).toMatchObject({ snapshots: 0, bytes: 0, other_bytes: 0 });
  expect(readdirSync(shared)).toEqual([]);
  await complete(small.base, text('rivers'));
  await small.says('is larger than the limit of 1.0 MB');
  await expect.poll(() => figures(small.base)).toMatchObject({ snapshots: 0, failures: 1 });
  await small.stop();
});

test('--diskcache: a deleted folder is created again', async () => {
  const missingFolder = join(folder, 'gone');
  const { base, stop } = await start(['--diskcache', missingFolder]);
  await complete(base, text('stones'));
  await expect.poll(async () => (await figures(base)).snapshots).toBe(1);
  rmSync(missingFolder, { recursive: true });
  expect(await figures(base)).toMatchObject({ snapshots: 0, bytes: 0, failures: 0 });
  await complete(base, text('birds'));
  await stop();
  expect(readdirSync(missingFolder)).not.toEqual([]);
});

test.each([
  ['/proc/nope', 'the folder /proc/nope cannot be used'],
  ['/cache:20Gx', '"20Gx" is not a size'],
])('--diskcache %s: ends the start with a message', async (value, sentence) => {
  await expect(start(['--diskcache', value])).rejects.toThrow(sentence);
});

test('--draftngram: does not change the text, up to near ties', async () => {
  const [plain, guessing] = (await Promise.all([startEmbedded([]), startEmbedded(['--draftngram', '1'])])).map(
    ({ base }) => nativeClient(base),
  ) as [ReturnType<typeof nativeClient>, ReturnType<typeof nativeClient>];
  const shares: number[] = [];
  let right = 0;
  for (const extra of [
    { temperature: 0 },
    { temperature: 0.8, sampler_seed: 3 },
    { temperature: 0, banned_tokens: ['three four'] },
    { temperature: 0.7, sampler_seed: 9, grammar: 'root ::= [a-z ]+' },
  ]) {
    const request = withTokens({
      prompt: `${'one two three four five six '.repeat(8)}one two`,
      max_length: 40,
      ...extra,
    });
    const [actual, expected] = [await guessing.generate(request), await plain.generate(request)];
    right += (await guessing.performance()).last_draft_success ?? 0;
    shares.push(await sharedUntilTie(plain, request, actual, expected));
  }
  expectMostlyShared(shares);
  expect(right).toBeGreaterThan(0);
});

test('return_progress: streams tell how far a prompt is processed, also through another Parley', async () => {
  const own = await start([]);
  const through = await startEmbedded(['--nomodel', '--remote', own.base]);
  const read = async (base: string, path: string, body: object) => {
    const sent = { ...body, stream: true, return_progress: true, max_tokens: 2, temperature: 0 };
    const response = await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(sent) });
    const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('data: {'));
    return frames.map((frame) => JSON.parse(frame.slice(6)).prompt_progress).filter((progress) => progress);
  };
  const messages = (topic: string) => ({ messages: [{ role: 'user', content: text(topic) }] });
  for (const [base, path, body] of [
    [own.base, '/v1/chat/completions', messages('seas')],
    [own.base, '/v1/completions', { prompt: text('woods') }],
    [own.base, '/completion', { prompt: text('hills'), n_predict: 2 }],
    [through.base, '/v1/chat/completions', messages('lakes')],
  ] as const) {
    const progress = await read(base, path, body);
    const [first] = progress;
    expect(first.processed).toBe(first.cache);
    expect(progress.at(-1).processed).toBe(first.total);
    const steps = progress.map(({ processed }) => processed);
    expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b));
    expect(
      progress.every(({ total, cache, time_ms }) => total === first.total && cache === first.cache && time_ms >= 0),
    ).toBe(true);
    expect(first.total).toBeGreaterThan(200);
  }
});
