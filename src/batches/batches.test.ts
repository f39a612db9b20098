import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { BatchRequest, NewBatch } from '../core/batches.ts';
import { Libraries, noKey } from '../core/owner.ts';
import { StoredFiles } from '../store/stored-files.ts';
import { freshFolders } from '../store/testing/folder.ts';
import { Batches } from './batches.ts';
import type { BatchWork, SentReply } from './runner.ts';

const freshFolder = freshFolders();

type Turn = Parameters<BatchWork['send']>[2];

/** A request that is being answered, and its answer. */
interface Sent extends Turn {
  readonly customId: string;
  readonly body: BatchRequest['body'];
  answer(reply?: Partial<SentReply>): void;
}

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** A server over a folder. Its requests are answered by the test, or at once with `answers`. */
function server(folder: string, own: Partial<BatchWork> & { readonly clock?: { now: number } } = {}) {
  const { clock = { now: 1_790_000_000_000 }, ...more } = own;
  const warnings: string[] = [];
  const sent: Sent[] = [];
  const timers = new Set<{ readonly milliseconds: number; readonly passed: () => void }>();
  let stopping = false;
  const now = () => clock.now;
  const warn = (sentence: string) => void warnings.push(sentence);
  const files = new Libraries(
    (owner) =>
      new StoredFiles({
        folder: join(folder, 'common'),
        owner,
        now,
        warn,
        limits: { fileBytes: 10_000, allBytes: 100_000 },
      }),
  );
  const batches = new Batches({
    folder,
    files,
    now,
    warn,
    startTimer: (milliseconds, passed) => {
      const timer = { milliseconds, passed };
      timers.add(timer);
      return { restart: () => void timers.add(timer), cancel: () => void timers.delete(timer) };
    },
  });
  const work: BatchWork = {
    send: (_, { customId, body }, turn) =>
      new Promise((resolve) => {
        const plain = { status: 200, requestId: `req_${customId}`, body: { text: customId } };
        const answer = (reply: Partial<SentReply> = {}) => resolve({ ...plain, ...reply });
        turn.signal.addEventListener('abort', () => answer({ body: 'half' }));
        sent.push({ customId, body, ...turn, answer });
      }),
    delay: async () => 0,
    modelProblem: async () => undefined,
    maxLineBytes: 1000,
    concurrency: 1,
    isStopping: () => stopping,
    ...more,
  };
  const stop = () => {
    stopping = true;
    for (const { answer } of sent) answer();
  };
  stops.push(stop);
  const library = batches.of(noKey);
  return {
    batches,
    library,
    work,
    sent,
    warnings,
    clock,
    files: files.of({}),
    start: () => batches.start(work),
    stop,
    /** Timers of so many milliseconds pass. */
    pass: (milliseconds: number) => {
      for (const timer of [...timers].filter((one) => one.milliseconds === milliseconds)) {
        timers.delete(timer);
        timer.passed();
      }
    },
    next: async (index: number) => {
      await expect.poll(() => sent.length).toBeGreaterThan(index);
      return sent[index] as Sent;
    },
    ended: async (id: string) => {
      await expect.poll(async () => (await library.get(id)).endedAt).toBeDefined();
      return library.get(id);
    },
    store: async (...lines: readonly string[]) => {
      async function* content() {
        yield Buffer.from(lines.join('\n'));
      }
      const file = { name: 'in.jsonl', purpose: 'batch' } as const;
      return (await files.of({}).add(file, content(), new AbortController().signal)).id;
    },
  };
}

const endpoint = '/v1/chat/completions';
const line = (customId: string, own: object = {}) =>
  JSON.stringify({
    custom_id: customId,
    method: 'POST',
    url: endpoint,
    body: { model: 'mini', text: customId },
    ...own,
  });
const openai = (file: string): NewBatch => ({
  api: 'openai',
  endpoint,
  input: { file },
  sender: { address: '127.0.0.1' },
});
const messages = (...ids: readonly string[]): NewBatch => ({
  api: 'messages',
  endpoint: '/v1/messages',
  input: { requests: ids.map((customId) => ({ customId, body: {} })) },
  sender: { address: '127.0.0.1' },
});

async function linesOf(world: ReturnType<typeof server>, file: string | undefined) {
  const text = readFileSync(await world.files.path(file ?? ''), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((one) => JSON.parse(one) as Record<string, unknown>);
}

async function results(world: ReturnType<typeof server>, id: string) {
  const all: unknown[] = [];
  for await (const { customId, type } of await world.library.results(id)) all.push([customId, type]);
  return all;
}

test('batch: good and failed replies are in two files, and a batch with failed ones is complete', async () => {
  const world = server(freshFolder());
  const { start, library, store, next, ended, clock } = world;
  start();
  const made = await library.create(openai(await store(line('a'), '', line('b'), '  ', line('c'))));
  expect(made).toMatchObject({ status: 'validating', createdAt: 1_790_000_000, expiresAt: 1_790_086_400 });
  const usage = { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } };
  (await next(0)).answer({ body: { usage } });
  expect(await library.get(made.id)).toMatchObject({ status: 'in_progress', model: 'mini', counts: { total: 3 } });
  (await next(1)).answer({ status: 400, body: { error: {} } });
  clock.now += 5000;
  (await next(2)).answer({ body: { usage } });
  const done = await ended(made.id);
  expect(done).toMatchObject({
    status: 'completed',
    endedAt: 1_790_000_005,
    counts: { total: 3, succeeded: 2, failed: 1 },
    usage: { input: 10, cached: 6, output: 4, reasoning: 0 },
  });
  expect(await linesOf(world, done.outputFile)).toEqual([
    {
      id: expect.stringMatching(/^batch_req_/),
      custom_id: 'a',
      response: { status_code: 200, request_id: 'req_a', body: { usage } },
      error: null,
    },
    expect.objectContaining({ custom_id: 'c' }),
  ]);
  expect(await linesOf(world, done.errorFile)).toEqual([
    expect.objectContaining({
      custom_id: 'b',
      response: { status_code: 400, request_id: 'req_b', body: { error: {} } },
    }),
  ]);
});

test.each([
  [
    'no JSON',
    [line('a'), '{'],
    [{ code: 'invalid_json_line', line: 2, message: expect.stringMatching(/^Line 2 is not valid JSON: /) }],
  ],
  ['a list', ['[1]'], [{ code: 'invalid_json_line', line: 1, message: 'Line 1 must be a JSON object.' }]],
  ['no custom_id', [line('a', { custom_id: undefined })], [{ code: 'missing_required_parameter', line: 1 }]],
  ['a custom_id twice', [line('a'), '', line('a')], [{ code: 'duplicate_custom_id', line: 3, param: 'custom_id' }]],
  ['another endpoint', [line('a', { url: '/v1/completions' })], [{ code: 'invalid_url', line: 1, param: 'url' }]],
  ['another method', [line('a', { method: 'GET' })], [{ code: 'invalid_method', line: 1 }]],
  ['no body', [line('a', { body: 'x' })], [{ code: 'invalid_request', line: 1, param: 'body' }]],
  [
    'another model',
    [line('a', { body: { model: 'no' } })],
    [{ code: 'model_not_found', line: 1, param: 'body.model' }],
  ],
  ['a long line', [line('a', { body: { a: 'a'.repeat(1000) } })], [{ code: 'request_too_large', line: 1 }]],
  ['nothing', ['', ' '], [{ code: 'empty_file' }]],
  ['several faults', ['x', line('a'), 'y'], [{ line: 1 }, { line: 3 }]],
])('batch: fails for input with %s, and nothing runs', async (_, lines, problems) => {
  const modelProblem = async (__: string, model: string | undefined) => (model === 'no' ? 'There is none.' : undefined);
  const world = server(freshFolder(), { modelProblem });
  world.start();
  const { id } = await world.library.create(openai(await world.store(...lines)));
  const failed = await world.ended(id);
  expect(failed).toMatchObject({ status: 'failed', problems, counts: { total: 0 } });
  expect(world.sent).toEqual([]);
});

test('batch: fails if its input file is gone', async () => {
  const world = server(freshFolder());
  const file = await world.store(line('a'));
  const { id } = await world.library.create(openai(file));
  await world.files.delete(file);
  world.start();
  expect(await world.ended(id)).toMatchObject({ status: 'failed', problems: [{ code: 'file_not_found' }] });
});

test('batch: goes on where a killed server was, and sends nothing twice', async () => {
  const folder = freshFolder();
  const first = server(folder);
  first.start();
  const { id } = await first.library.create(openai(await first.store(line('a'), line('b'), line('c'))));
  (await first.next(0)).answer();
  await first.next(1);
  first.stop();
  await expect.poll(() => existsSync(join(folder, 'common', 'batches', id, 'run.lock'))).toBe(false);
  // As a crash in the middle of a line leaves it.
  appendFileSync(join(folder, 'common', 'batches', id, 'results.jsonl'), '{"custom_id":"b","sta');
  const second = server(folder);
  second.start();
  const again = await second.next(0);
  expect(again.customId).toBe('b');
  again.answer({ body: 'whole' });
  (await second.next(1)).answer();
  const done = await second.ended(id);
  expect(done.counts).toEqual({ total: 3, succeeded: 3, failed: 0 });
  expect((await linesOf(second, done.outputFile)).map(({ custom_id }) => custom_id)).toEqual(['a', 'b', 'c']);
  expect(second.sent.map(({ customId }) => customId)).toEqual(['b', 'c']);
});

test('batch: a crash after the output file was written leaves no second one', async () => {
  const folder = freshFolder();
  const first = server(folder);
  first.start();
  const { id } = await first.library.create(openai(await first.store(line('a'))));
  (await first.next(0)).answer();
  const done = await first.ended(id);
  const path = join(folder, 'common', 'batches', id);
  const state = JSON.parse(readFileSync(join(path, 'batch.json'), 'utf8')) as object;
  const { endedAt: _, outputFile: __, ...before } = state as Record<string, unknown>;
  writeFileSync(join(path, 'batch.json'), JSON.stringify({ ...before, status: 'finalizing' }));
  const reply = { custom_id: 'a', status: 200, request_id: 'req_a', body: {} };
  writeFileSync(join(path, 'results.jsonl'), `${JSON.stringify(reply)}\n`);
  const second = server(folder);
  second.start();
  expect((await second.ended(id)).outputFile).toBe(done.outputFile);
  expect((await second.files.list()).filter(({ purpose }) => purpose === 'batch_output')).toHaveLength(1);
});

test('batch: gives way at once, and sends the request again', async () => {
  const world = server(freshFolder());
  world.start();
  const { id } = await world.library.create(messages('a'));
  const first = await world.next(0);
  first.giveWay();
  expect(first.signal.aborted).toBe(true);
  const again = await world.next(1);
  expect(again.customId).toBe('a');
  again.answer();
  expect(await world.ended(id)).toMatchObject({ counts: { total: 1, succeeded: 1, failed: 0 } });
});

test('batch: waits while its key or its model may not be used', async () => {
  let delay = 10_000;
  const world = server(freshFolder(), { delay: async () => delay });
  world.start();
  const { id } = await world.library.create(messages('a'));
  await expect.poll(() => world.pass(10_000)).toBeUndefined();
  expect(world.sent).toEqual([]);
  delay = 0;
  await expect
    .poll(() => {
      world.pass(10_000);
      return world.sent.length;
    })
    .toBe(1);
  world.sent[0]?.answer();
  await world.ended(id);
});

test('batch: what the server could not answer is tried again, ten times', async () => {
  const world = server(freshFolder());
  world.start();
  const { id } = await world.library.create(messages('a', 'b'));
  (await world.next(0)).answer({ status: 503, retryMs: 700 });
  const retried = async (index: number) => {
    await expect
      .poll(() => {
        world.pass(700);
        return world.sent.length;
      })
      .toBeGreaterThan(index);
    return world.sent[index] as Sent;
  };
  (await retried(1)).answer();
  const [from] = [2];
  for (let tries = 0; tries < 10; tries++) (await retried(from + tries)).answer({ status: 503, retryMs: 700 });
  expect(await world.ended(id)).toMatchObject({ counts: { total: 2, succeeded: 1, failed: 1 } });
  expect(world.sent).toHaveLength(12);
});

test('batch: a cancelled one keeps what is done, and says what is not', async () => {
  const world = server(freshFolder());
  world.start();
  const { id } = await world.library.create(openai(await world.store(line('a'), line('b'), line('c'))));
  (await world.next(0)).answer();
  const running = await world.next(1);
  expect(await world.library.cancel(id)).toMatchObject({ status: 'cancelling', cancelledAt: 1_790_000_000 });
  expect(running.signal.aborted).toBe(true);
  const done = await world.ended(id);
  expect(done).toMatchObject({ status: 'cancelled', counts: { total: 3, succeeded: 1, failed: 0 } });
  expect(await linesOf(world, done.outputFile)).toMatchObject([{ custom_id: 'a' }]);
  expect(await linesOf(world, done.errorFile)).toMatchObject([
    { custom_id: 'b', response: null, error: { code: 'batch_cancelled' } },
    { custom_id: 'c', response: null, error: { code: 'batch_cancelled' } },
  ]);
  await expect(world.library.cancel(id)).rejects.toMatchObject({ code: 'invalid-field' });
});

test('batch: can be cancelled before it runs, and by another server', async () => {
  const folder = freshFolder();
  const [one, other] = [server(folder), server(folder)];
  one.start();
  const waiting = await one.library.create(messages('a'));
  const running = await one.next(0);
  await other.library.cancel(waiting.id);
  await expect
    .poll(() => {
      one.pass(2000);
      return running.signal.aborted;
    })
    .toBe(true);
  expect(await one.ended(waiting.id)).toMatchObject({ status: 'cancelled' });
  expect(await results(one, waiting.id)).toEqual([['a', 'cancelled']]);
});

test('batch: two servers on one folder do not run the same batch', async () => {
  const folder = freshFolder();
  const [one, other] = [server(folder), server(folder)];
  one.start();
  const { id } = await one.library.create(messages('a'));
  const running = await one.next(0);
  other.start();
  await expect.poll(async () => (await other.library.list('messages')).length).toBe(1);
  for (let turn = 0; turn < 3; turn++) other.pass(60_000);
  running.answer();
  await one.ended(id);
  expect([other.sent, other.warnings]).toEqual([[], []]);
});

test('batch: what is not done after a day expires', async () => {
  const world = server(freshFolder());
  world.start();
  const { id } = await world.library.create(messages('a', 'b'));
  (await world.next(0)).answer();
  await world.next(1);
  world.clock.now += 24 * 3600_000;
  world.pass(24 * 3600_000);
  expect(await world.ended(id)).toMatchObject({ status: 'expired', counts: { total: 2, succeeded: 1, failed: 0 } });
  expect(await results(world, id)).toEqual([
    ['a', 'reply'],
    ['b', 'expired'],
  ]);
});

test('batch: one that expired while no server ran is ended by the next one', async () => {
  const folder = freshFolder();
  const { id } = await server(folder).library.create(messages('a'));
  const later = server(folder, { clock: { now: 1_790_000_000_000 + 25 * 3600_000 } });
  later.start();
  expect(await later.ended(id)).toMatchObject({ status: 'expired' });
  expect(later.sent).toEqual([]);
});

test('batch: several run beside each other, and a batch has only so many requests in the queue', async () => {
  const world = server(freshFolder(), { concurrency: 2 });
  world.start();
  await world.library.create(messages('a', 'b', 'c'));
  await world.library.create(messages('d', 'e', 'f'));
  await world.next(3);
  expect(world.sent.map(({ customId }) => customId).sort()).toEqual(['a', 'b', 'd', 'e']);
});

test('batches: are listed by API, the newest first, and deleted after their end only', async () => {
  const world = server(freshFolder());
  const { library } = world;
  const first = await library.create(messages('a'));
  const second = await library.create(messages('b'));
  const other = await library.create(openai(await world.store(line('a'))));
  expect((await library.list('messages')).map(({ id }) => id)).toEqual([second.id, first.id]);
  expect((await library.list('openai')).map(({ id }) => id)).toEqual([other.id]);
  await expect(library.delete(first.id)).rejects.toThrow('cancel it first');
  await expect(library.results(first.id)).rejects.toThrow('has ended');
  for (const id of ['', '..', `batch_${'0'.repeat(36)}`, `../../common/${first.id}`])
    await expect(library.get(id)).rejects.toMatchObject({ code: 'not-stored' });
  world.start();
  // They run beside each other, in any order.
  for (const index of [0, 1, 2]) (await world.next(index)).answer();
  await world.ended(first.id);
  await library.delete(first.id);
  await expect(library.get(first.id)).rejects.toMatchObject({ code: 'not-stored' });
});

test('batches: results of messages are deleted after 29 days, and the batch after 90', async () => {
  const folder = freshFolder();
  const world = server(folder);
  world.start();
  const { id } = await world.library.create(messages('a'));
  (await world.next(0)).answer();
  await world.ended(id);
  const day = 24 * 3600_000;
  world.clock.now += 29 * day;
  await expect
    .poll(async () => {
      world.pass(60_000);
      return (await world.library.get(id)).archivedAt;
    })
    .toBe(world.clock.now / 1000);
  expect(readdirSync(join(folder, 'common', 'batches', id))).toEqual(['batch.json']);
  world.clock.now += 61 * day;
  await expect
    .poll(async () => {
      world.pass(60_000);
      return world.library.list('messages');
    })
    .toEqual([]);
});

test('stop: cancels the batches of an owner, and resolves when none of them runs', async () => {
  const world = server(freshFolder());
  const { start, library, batches, next, sent } = world;
  const early = await library.create(messages('a'));
  await batches.stop(noKey);
  expect((await library.get(early.id)).status).toBe('cancelling');
  start();
  const { id } = await library.create(messages('b', 'c'));
  await next(0);
  await batches.stop(noKey);
  for (const one of [early.id, id]) expect((await library.get(one)).status).toBe('cancelled');
  expect(sent).toHaveLength(1);
  await batches.stop(noKey);
});
