import { describe, expect, test } from 'vitest';
import type { AppError } from '../../core/errors.ts';
import { EngineProcess, type EngineProcessDeps, type LoadMessage } from './engine-process.ts';
import { lossLine } from './engine-state.ts';
import { fakeWorkers } from './testing/workers.ts';

type To = { readonly type: 'open' | 'ask' | 'begin' | 'abort'; readonly id?: number };
type From = { readonly type: 'answer' | 'end'; readonly id: number; readonly value?: unknown };
type Parts = EngineProcessDeps<To, From, undefined>;
const loaded = { type: 'loaded', facts: undefined } as const;

/** An engine of messages that mean nothing, whose processes and whose time are those of the test. */
function world(more: Partial<Parts> = {}) {
  const fakes = fakeWorkers<To, From | LoadMessage<undefined>>();
  const seen: string[] = [];
  const engine: EngineProcess<To, From, undefined> = new EngineProcess<To, From, undefined>({
    capability: 'speech',
    spawn: fakes.spawn,
    entry: 'worker.js',
    startTimer: fakes.startTimer,
    opening: () => ({ type: 'open' }),
    closingMs: 2000,
    loaded: () => undefined,
    receive: (message) => {
      if (message.type === 'answer') engine.calls.answer(message.id, message.value);
      else engine.ended(message.id);
    },
    observer: {
      starting: () => seen.push('starting'),
      failed: (reason) => seen.push(`failed: ${reason}`),
      lost: ({ type, failures, nextTryMs }) => seen.push(`${type} ${failures}, again in ${nextTryMs}`),
    },
    ...more,
  });

  /** Starts a task and returns its outcome. */
  function undertake(name = 'work') {
    const told: string[] = [];
    const { abort } = engine.startTask({
      fingerprint: () => name,
      begin: (id) => {
        told.push('begun');
        engine.send({ type: 'begin', id });
      },
      abort: (id) => engine.send({ type: 'abort', id }),
      withdrawn: () => told.push('withdrawn'),
      lost: (error) => told.push(error.code),
    });
    return { told, abort, id: () => fakes.worker().sent.findLast(({ type }) => type === 'begin')?.id ?? 0 };
  }

  const ask = () => engine.call<unknown>((id) => ({ type: 'ask', id }));
  const code = (promise: Promise<unknown>) => promise.then(String, (error: AppError) => error.code);
  /** The process dies, is started again, and is ready. */
  const crashAndReturn = () => {
    fakes.worker().exit();
    fakes.advance(31_000);
    fakes.worker().say(loaded);
  };
  return { ...fakes, engine, seen, undertake, ask, code, crashAndReturn };
}

function readyWorld(more: Partial<Parts> = {}) {
  const all = world(more);
  all.engine.start();
  all.worker().say(loaded);
  return all;
}

test('EngineProcess: a process that cannot be started for lack of files is tried again, and calls are refused with the reason', async () => {
  const { engine, worker, advance, ask, seen, code } = world();
  const unstarted = { reason: 'too many files are open', isPassing: true };
  const first = ask().catch((error: AppError) => error);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    worker().exit({ code: null, signal: null, unstarted });
    advance(attempt < 4 ? 31_000 : 0);
  }
  expect(await first).toMatchObject({
    code: 'engine-down',
    status: 503,
    message: expect.stringContaining('the engine process could not be started: too many files are open'),
  });
  expect(seen.some((line) => line.startsWith('failed'))).toBe(false);
  advance(31_000);
  worker().say(loaded);
  expect(engine.state().type).toBe('ready');
  const later = code(ask());
  await Promise.resolve();
  worker().say({ type: 'answer', id: worker().sent.at(-1)?.id ?? 0, value: 'there' });
  expect(await later).toBe('there');
});

test('lossLine: a process that could not be started', () => {
  const exit = { code: null, signal: null, lastLines: [], unstarted: { reason: 'no files', isPassing: true } };
  expect(lossLine('speech', { type: 'not-loaded', exit, reason: 'x', failures: 1, nextTryMs: 0 }, 'Advice.')).toBe(
    'The speech engine could not be started (no files); it is being started again.',
  );
});

test('EngineProcess: a program that is missing is a failed load', async () => {
  const { engine, worker } = world();
  engine.start();
  worker().exit({ code: null, signal: null, unstarted: { reason: 'spawn node ENOENT', isPassing: false } });
  expect(engine.state()).toEqual({
    type: 'failed',
    reason: 'the engine process could not be started: spawn node ENOENT',
  });
});

/** Whether a promise is over by now. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  const open = {};
  const first = await Promise.race([promise.catch(() => undefined), Promise.resolve(open)]);
  return first !== open;
}

describe('EngineProcess: start', () => {
  test('starts once, and the first message is the opening', () => {
    const { engine, workers, worker } = world();
    expect(engine.state()).toEqual({ type: 'idle' });
    expect(engine.pid).toBeUndefined();
    engine.start();
    engine.start();
    expect(workers).toHaveLength(1);
    expect(worker().sent).toEqual([{ type: 'open' }]);
    expect(engine.pid).toBe(1);
    worker().say({ type: 'progress', fraction: 0.25 });
    expect(engine.state()).toEqual({ type: 'starting', progress: 0.25 });
    worker().say(loaded);
    expect(engine.state()).toEqual({ type: 'ready' });
  });

  test.each(['settled', 'ask', 'undertake'] as const)('is implied by %s', (how) => {
    const { engine, workers, ask, undertake } = world();
    if (how === 'settled') void engine.settled();
    else if (how === 'ask') void ask();
    else undertake();
    expect(workers).toHaveLength(1);
  });

  test('resolves settled() on success', async () => {
    const { engine, worker } = world();
    const settled = [engine.settled(), engine.settled()];
    expect(await isOver(settled[0] as Promise<void>)).toBe(false);
    worker().say(loaded);
    await Promise.all(settled);
    await engine.settled();
  });

  test('resolves settled() on failure, and rejects tasks and calls with the reason', async () => {
    const { engine, worker, undertake, ask, code, seen } = world();
    const settled = engine.settled();
    const [work, question] = [undertake(), code(ask())];
    worker().say({ type: 'load-failed', reason: 'no such file' });
    expect(engine.state().type).toBe('starting');
    worker().exit({ code: 3, signal: null });
    await settled;
    expect(engine.state()).toEqual({ type: 'failed', reason: 'no such file' });
    expect(work.told).toEqual(['engine-failed']);
    expect(await question).toBe('engine-failed');
    expect(undertake().told).toEqual(['engine-failed']);
    expect(seen).toEqual(['starting', 'failed: no such file']);
  });

  test('a failure without a message has the exit as its reason', () => {
    const { engine, worker, pendingTimers } = world();
    engine.start();
    worker().exit({ code: 9, signal: null });
    expect(engine.state()).toEqual({ type: 'failed', reason: 'the engine process ended with code 9' });
    expect(pendingTimers()).toBe(0);
  });

  test('has no timeout', () => {
    const { engine, worker, advance } = world();
    engine.start();
    worker().lively = false;
    advance(3_600_000);
    expect(engine.state().type).toBe('starting');
    expect(worker().killed).toBe(false);
  });

  test('is repeated at once, uncounted, if the exit asks for another opening', () => {
    let lower = 0;
    const { engine, worker, workers, seen } = world({
      opening: () => ({ type: 'open', id: lower }),
      startsOver: ({ signal }) => signal === 'SIGILL' && ++lower < 3,
    });
    engine.start();
    worker().exit({ signal: 'SIGILL' });
    worker().exit({ signal: 'SIGILL' });
    expect(workers.map(({ sent }) => sent[0]?.id)).toEqual([0, 1, 2]);
    worker().exit({ signal: 'SIGILL' });
    expect(engine.state().type).toBe('failed');
    expect(seen).toEqual(['starting', 'starting', 'starting', 'failed: the engine process died of SIGILL']);
  });
});

describe('EngineProcess: calls', () => {
  test('are answered, also those made during the start', async () => {
    const { engine, worker, ask } = world();
    engine.start();
    const answer = ask();
    expect(worker().sent).toHaveLength(1);
    worker().say(loaded);
    await engine.settled();
    const id = worker().sent[1]?.id as number;
    worker().say({ type: 'answer', id, value: 42 });
    expect(await answer).toBe(42);
  });

  test('are rejected when the process dies', async () => {
    const { ask, code, worker, engine } = readyWorld();
    const answer = code(ask());
    await engine.settled();
    worker().exit();
    expect(await answer).toBe('engine-lost');
  });

  test('are rejected after two minutes without an answer, although the process is alive', async () => {
    const { ask, code, advance, worker, engine } = readyWorld();
    const answer = code(ask());
    await engine.settled();
    advance(120_000);
    expect(await isOver(answer)).toBe(false);
    advance(500);
    expect(await answer).toBe('engine-silent');
    expect(worker().killed).toBe(false);
    expect(engine.state().type).toBe('ready');
  });

  test('made during a restart are sent to the new process', async () => {
    const { ask, worker, engine } = readyWorld();
    worker().exit();
    const answer = ask();
    worker().say(loaded);
    await engine.settled();
    await engine.settled();
    const id = worker().sent.find(({ type }) => type === 'ask')?.id as number;
    worker().say({ type: 'answer', id, value: 'new' });
    expect(await answer).toBe('new');
  });

  test('carry attachments', async () => {
    const { engine, worker } = readyWorld();
    void engine.call((id) => ({ type: 'ask', id }), [Uint8Array.of(1, 2)]);
    await engine.settled();
    expect(worker().attached.at(-1)).toEqual([Uint8Array.of(1, 2)]);
  });
});

describe('EngineProcess: hang', () => {
  test('kills the process within ten seconds of its last heartbeat, and rejects tasks and calls with a specific error', async () => {
    const { worker, workers, advance, undertake, ask, code, engine, seen } = readyWorld();
    const work = undertake();
    const answer = code(ask());
    await engine.settled();
    advance(60_000);
    expect(work.told).toEqual(['begun']);
    worker().lively = false;
    advance(7500);
    expect(worker().killed).toBe(false);
    advance(2500);
    expect(worker().killed).toBe(true);
    expect(work.told).toEqual(['begun', 'engine-silent']);
    expect(await answer).toBe('engine-silent');
    expect(workers).toHaveLength(1);
    worker().exit({ signal: 'SIGKILL' });
    expect(workers).toHaveLength(2);
    expect(seen).toEqual(['starting', 'silent 1, again in 0', 'starting']);
    worker().say(loaded);
    expect(engine.state()).toEqual({ type: 'ready' });
  });

  test('a process that reports its hang is killed at the next tick', () => {
    const { worker, advance, engine } = readyWorld();
    worker().lively = false;
    worker().pulse({ hung: true });
    advance(500);
    expect(worker().killed).toBe(true);
    expect(engine.state()).toEqual({ type: 'lost' });
  });

  test('a process that cannot be killed is abandoned after a while', () => {
    const { worker, workers, advance } = readyWorld();
    worker().lively = false;
    worker().pulse({ hung: true });
    advance(500);
    advance(9500);
    expect(workers).toHaveLength(1);
    advance(500);
    expect(workers).toHaveLength(2);
    workers[0]?.exit({ signal: 'SIGKILL' });
    expect(workers).toHaveLength(2);
  });

  test('ignores messages of a hung process', () => {
    const { worker, advance, undertake, engine } = readyWorld();
    const work = undertake();
    const id = work.id();
    worker().pulse({ hung: true });
    worker().lively = false;
    advance(500);
    worker().say({ type: 'end', id });
    worker().say(loaded);
    expect(engine.state()).toEqual({ type: 'lost' });
    expect(work.told).toEqual(['begun', 'engine-silent']);
  });

  test('a process without any heartbeat is not checked', () => {
    const { engine, worker, advance } = world();
    engine.start();
    worker().lively = false;
    worker().say(loaded);
    advance(600_000);
    expect(worker().killed).toBe(false);
  });

  test('is not detected after the whole machine has slept', () => {
    const { worker, sleep, advance, engine } = readyWorld();
    advance(1000);
    for (let night = 0; night < 10; night += 1) {
      sleep(8 * 3_600_000);
      advance(500);
    }
    worker().lively = false;
    sleep(60_000);
    worker().lively = true;
    advance(5000);
    expect(worker().killed).toBe(false);
    expect(engine.state().type).toBe('ready');
  });
});

describe('EngineProcess: tasks', () => {
  test('start at once if the engine is ready, otherwise when it is', () => {
    const early = world();
    const held = early.undertake();
    expect(held.told).toEqual([]);
    early.worker().say(loaded);
    expect([held.told, early.undertake().told]).toEqual([['begun'], ['begun']]);
  });

  test('stopped before their start never start', () => {
    const { undertake, worker } = world();
    const work = undertake();
    work.abort();
    work.abort();
    worker().say(loaded);
    expect(work.told).toEqual(['withdrawn']);
    expect(worker().sent).toEqual([{ type: 'open' }]);
  });

  test('stopped while running get a stop message, and the process is not killed if they end', () => {
    const { undertake, worker, advance } = readyWorld();
    const work = undertake();
    work.abort();
    expect(worker().sent.at(-1)).toEqual({ type: 'abort', id: work.id() });
    advance(9000);
    worker().say({ type: 'end', id: work.id() });
    advance(600_000);
    work.abort();
    expect(worker().sent.at(-1)).toMatchObject({ type: 'abort' });
    expect(worker().sent).toHaveLength(3);
    expect(worker().killed).toBe(false);
  });

  test('that continue after a stop count as a hang', () => {
    const { undertake, worker, advance, seen } = readyWorld();
    const [work, other] = [undertake(), undertake()];
    advance(3_600_000);
    work.abort();
    advance(10_000);
    expect(worker().killed).toBe(false);
    advance(500);
    expect(worker().killed).toBe(true);
    expect([work.told, other.told]).toEqual([
      ['begun', 'engine-silent'],
      ['begun', 'engine-silent'],
    ]);
    worker().exit();
    expect(seen).toContain('silent 1, again in 0');
  });

  test('may continue for the declared time of the current step', () => {
    const { undertake, worker, advance } = readyWorld();
    const work = undertake();
    worker().lively = false;
    work.abort();
    for (let tick = 0; tick < 100; tick += 1) {
      worker().pulse({ timeoutMs: 60_000 });
      advance(500);
    }
    expect(worker().killed).toBe(false);
    for (let tick = 0; tick < 30; tick += 1) {
      worker().pulse({ timeoutMs: 60_000 });
      advance(500);
    }
    expect(worker().killed).toBe(true);
  });

  test('of a dead process fail, and held ones wait for the next process', () => {
    const { undertake, worker, engine } = readyWorld();
    const running = undertake('a');
    worker().exit();
    const held = undertake('b');
    expect([running.told, held.told]).toEqual([['begun', 'engine-lost'], []]);
    expect(engine.state().type).toBe('starting');
    worker().say(loaded);
    expect(held.told).toEqual(['begun']);
  });
});

describe('EngineProcess: crash', () => {
  test('restarts for ever, with pauses of at most half a minute', () => {
    const { worker, advance, seen, engine } = readyWorld();
    for (let death = 0; death < 20; death += 1) {
      worker().exit();
      advance(31_000);
      worker().say(loaded);
    }
    const pauses = seen.filter((line) => line.startsWith('died')).map((line) => Number(line.split(' ').at(-1)));
    expect(pauses).toEqual([0, 500, 1000, 2000, 4000, 8000, 16_000, ...Array(13).fill(30_000)]);
    expect(engine.state().type).toBe('ready');
  });

  test('after a finished task or a minute of uptime counts as the first failure', () => {
    const { worker, advance, undertake, seen, crashAndReturn } = readyWorld();
    crashAndReturn();
    crashAndReturn();
    const work = undertake();
    worker().say({ type: 'end', id: work.id() });
    crashAndReturn();
    crashAndReturn();
    advance(60_000);
    worker().exit();
    expect(seen.filter((line) => line.startsWith('died'))).toEqual([
      'died 1, again in 0',
      'died 2, again in 500',
      'died 1, again in 0',
      'died 2, again in 500',
      'died 1, again in 0',
    ]);
  });

  test('a failed reload is retried with its reason', () => {
    const { worker, advance, seen, engine } = readyWorld();
    worker().exit();
    worker().say({ type: 'load-failed', reason: 'the file is gone' });
    worker().exit({ code: 3, signal: null });
    expect(engine.state().type).toBe('lost');
    advance(500);
    worker().say(loaded);
    expect(engine.state().type).toBe('ready');
    expect(seen.slice(1)).toEqual(['died 1, again in 0', 'starting', 'not-loaded 2, again in 500', 'starting']);
  });

  test('during the first load is retried if the model is known to be valid', () => {
    const { engine, worker } = world({ proven: true });
    engine.start();
    worker().exit();
    expect(engine.state().type).toBe('starting');
  });

  test('new requests wait for a quick restart', async () => {
    const { engine, worker, advance } = readyWorld();
    worker().exit();
    worker().exit();
    expect(engine.state()).toEqual({ type: 'lost' });
    const settled = engine.settled();
    advance(500);
    expect(await isOver(settled)).toBe(false);
    worker().say(loaded);
    await settled;
  });

  test('without a quick restart rejects waiting and new requests with the reason and the retry time', async () => {
    const { engine, worker, advance, undertake, ask, code } = readyWorld();
    for (let death = 0; death < 4; death += 1) {
      worker().exit({ signal: 'SIGABRT' });
      advance([0, 500, 1000, 2000][death] as number);
    }
    worker().exit({ signal: 'SIGABRT' });
    const [settled, held, question] = [engine.settled(), undertake(), code(ask())];
    advance(4000);
    expect(held.told).toEqual([]);
    worker().exit({ signal: 'SIGABRT' });
    await settled;
    expect(held.told).toEqual(['engine-down']);
    expect(await question).toBe('engine-down');
    expect(undertake().told).toEqual(['engine-down']);
    const trouble = { reason: 'the engine process died of SIGABRT (6 times in a row)', retryAfterSeconds: 8 };
    expect(engine.state()).toEqual({ type: 'lost', trouble });
    advance(3000);
    expect(engine.state()).toEqual({ type: 'lost' });
    const later = undertake();
    advance(5000);
    worker().say(loaded);
    expect(later.told).toEqual(['begun']);
  });

  test('a reload that takes too long is not waited for', async () => {
    const { engine, worker, advance, undertake } = readyWorld();
    worker().exit();
    const [settled, held] = [engine.settled(), undertake()];
    advance(60_000);
    expect(await isOver(settled)).toBe(false);
    advance(500);
    await settled;
    expect(held.told).toEqual(['engine-down']);
    expect(engine.state()).toMatchObject({ type: 'starting', trouble: { retryAfterSeconds: 1 } });
    worker().say(loaded);
    expect(undertake().told).toEqual(['begun']);
  });

  test('waits longer if loading takes long', async () => {
    const { engine, worker, advance } = world();
    engine.start();
    advance(100_000);
    worker().say(loaded);
    worker().exit();
    const settled = engine.settled();
    advance(399_000);
    expect(await isOver(settled)).toBe(false);
    advance(1500);
    await settled;
    expect(engine.state()).toMatchObject({ type: 'starting', trouble: { retryAfterSeconds: 100 } });
  });
});

describe('EngineProcess: request that crashes the engine', () => {
  test('is rejected after two crashes, and other requests are served', () => {
    const { undertake, crashAndReturn } = readyWorld();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(undertake('bad').told).toEqual(['begun']);
      crashAndReturn();
    }
    expect(undertake('bad').told).toEqual(['request-ends-engine']);
    expect(undertake('good').told).toEqual(['begun']);
  });

  test('runs alone the second time: other requests wait in their order', () => {
    const { undertake, crashAndReturn, worker } = readyWorld();
    const first = [undertake('bad'), undertake('innocent')];
    crashAndReturn();
    expect(first.map(({ told }) => told.at(-1))).toEqual(['engine-lost', 'engine-lost']);
    const innocent = undertake('innocent');
    const id = innocent.id();
    const bad = undertake('bad');
    const stranger = undertake('stranger');
    expect([innocent.told, bad.told, stranger.told]).toEqual([['begun'], [], []]);
    worker().say({ type: 'end', id });
    expect([bad.told, stranger.told]).toEqual([['begun'], []]);
    crashAndReturn();
    expect([bad.told, stranger.told]).toEqual([['begun', 'engine-lost'], ['begun']]);
    expect(undertake('bad').told).toEqual(['request-ends-engine']);
    expect(undertake('innocent').told).toEqual(['begun']);
  });

  test('a hang counts like a crash', () => {
    const { undertake, worker, advance } = readyWorld();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      undertake('bad');
      worker().lively = false;
      worker().pulse({ hung: true });
      advance(500);
      worker().exit({ signal: 'SIGKILL' });
      advance(31_000);
      worker().say(loaded);
    }
    expect(undertake('bad').told).toEqual(['request-ends-engine']);
  });

  test('is cleared when it finishes', () => {
    const { undertake, worker, crashAndReturn } = readyWorld();
    undertake('bad');
    crashAndReturn();
    const work = undertake('bad');
    worker().say({ type: 'end', id: work.id() });
    undertake('bad');
    crashAndReturn();
    expect(undertake('bad').told).toEqual(['begun']);
  });

  test('is not cleared when it is stopped', () => {
    const { undertake, worker, crashAndReturn } = readyWorld();
    undertake('bad');
    crashAndReturn();
    const work = undertake('bad');
    work.abort();
    worker().say({ type: 'end', id: work.id() });
    undertake('bad');
    crashAndReturn();
    expect(undertake('bad').told).toEqual(['request-ends-engine']);
  });
});

describe('EngineProcess: stop', () => {
  test('gives the process its grace time, and rejects waiting requests at once', async () => {
    const { engine, worker, undertake, ask, code, pendingTimers } = readyWorld();
    const running = undertake();
    const question = code(ask());
    await engine.settled();
    const stopped = engine.stop();
    expect(engine.state()).toEqual({ type: 'stopping' });
    expect(running.told).toEqual(['begun', 'engine-down']);
    expect(await question).toBe('engine-down');
    await stopped;
    expect(worker().stoppedWithin).toBe(2000);
    expect(engine.state()).toEqual({ type: 'stopped' });
    expect(pendingTimers()).toBe(0);
  });

  test('during a load resolves settled()', async () => {
    const { engine, undertake, ask, code } = world();
    const settled = engine.settled();
    const [held, question] = [undertake(), code(ask())];
    await engine.stop();
    await settled;
    expect(held.told).toEqual(['engine-down']);
    expect(await question).toBe('engine-down');
  });

  test('between two restarts starts nothing', async () => {
    const { engine, worker, workers, advance, pendingTimers } = readyWorld();
    worker().exit();
    worker().exit();
    const settled = engine.settled();
    await engine.stop();
    await settled;
    expect(pendingTimers()).toBe(0);
    advance(60_000);
    expect(workers).toHaveLength(2);
  });

  test('waits for a hung process that is being killed', async () => {
    const { engine, worker, workers, advance } = readyWorld();
    worker().lively = false;
    worker().pulse({ hung: true });
    advance(500);
    await engine.stop();
    expect(worker().stoppedWithin).toBe(2000);
    worker().exit();
    advance(20_000);
    expect(workers).toHaveLength(1);
  });

  test('is final: nothing starts, and calls are rejected', async () => {
    const { engine, workers, undertake, ask, code } = world();
    await engine.stop();
    engine.start();
    await engine.settled();
    expect(workers).toHaveLength(0);
    expect(undertake().told).toEqual(['engine-down']);
    expect(await code(ask())).toBe('engine-down');
    expect(await Promise.all([engine.stop(), engine.stop()])).toEqual([undefined, undefined]);
  });

  test('the exit that follows is not a crash', async () => {
    const { engine, worker, workers, seen } = readyWorld();
    await engine.stop();
    worker().exit({ code: 0, signal: null });
    expect(workers).toHaveLength(1);
    expect(seen).toEqual(['starting']);
  });
});

describe('lossLine', () => {
  const exit = { code: null, signal: 'SIGSEGV', lastLines: [] } as const;
  const loss = { type: 'died', exit, reason: 'r', failures: 1, nextTryMs: 0 } as const;

  test.each([
    [loss, 'The speech engine stopped (SIGSEGV); it is being started again.'],
    [
      { ...loss, exit: { ...exit, signal: null, code: 7 } },
      'The speech engine stopped (code 7); it is being started again.',
    ],
    [
      { ...loss, type: 'silent', exit: undefined },
      'The speech engine did not answer any more and was ended; it is being started again.',
    ],
    [
      { ...loss, failures: 2, nextTryMs: 500 },
      'The speech engine stopped (SIGSEGV), 2 times in a row now; the next try comes in 0.5 s.',
    ],
    [
      { ...loss, type: 'not-loaded', reason: 'no memory', failures: 3, nextTryMs: 1000 },
      'The speech model could not be loaded again (no memory), 3 times in a row now; the next try comes in 1 s. Do this.',
    ],
    [
      { ...loss, failures: 20, nextTryMs: 30_000 },
      'The speech engine stopped (SIGSEGV), 20 times in a row now; the next try comes in 30 s. Do this.',
    ],
  ] as const)('of %j', (one, expected) => {
    expect(lossLine('speech', one, 'Do this.')).toBe(expected);
  });
});
