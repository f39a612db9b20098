import { describe, expect, test } from 'vitest';
import type { AppError } from '../../core/errors.ts';
import { EngineProcess, type EngineProcessParts } from './engine-process.ts';
import { lossLine } from './engine-state.ts';
import { fakeWorkers } from './testing/workers.ts';

type To = { readonly type: 'open' | 'ask' | 'begin' | 'abort'; readonly id?: number };
type From =
  | { readonly type: 'ready' }
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'broken'; readonly reason?: string }
  | { readonly type: 'answer' | 'end'; readonly id: number; readonly value?: unknown };

/** An engine of messages that mean nothing, whose processes and whose time are those of the test. */
function world(more: Partial<EngineProcessParts<To, From>> = {}) {
  const fakes = fakeWorkers<To, From>();
  const seen: string[] = [];
  const engine: EngineProcess<To, From> = new EngineProcess<To, From>({
    capability: 'speech',
    spawn: fakes.spawn,
    entry: 'worker.js',
    startTimer: fakes.startTimer,
    opening: () => ({ type: 'open' }),
    closingMs: 2000,
    receive: (message) => {
      if (message.type === 'ready') engine.becameReady();
      else if (message.type === 'progress') engine.progressed(message.fraction);
      else if (message.type === 'broken') engine.couldNotLoad(message.reason);
      else if (message.type === 'answer') engine.answered(message.id, message.value);
      else engine.ended(message.id);
    },
    observer: {
      starting: () => seen.push('starting'),
      failed: (reason) => seen.push(`failed: ${reason}`),
      lost: ({ type, failures, nextTryMs }) => seen.push(`${type} ${failures}, again in ${nextTryMs}`),
    },
    ...more,
  });

  /** Starts a piece of work and tells what becomes of it. */
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
    fakes.worker().say({ type: 'ready' });
  };
  return { ...fakes, engine, seen, undertake, ask, code, crashAndReturn };
}

function readyWorld(more: Partial<EngineProcessParts<To, From>> = {}) {
  const all = world(more);
  all.engine.start();
  all.worker().say({ type: 'ready' });
  return all;
}

/** Whether a promise is over by now. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  const open = {};
  const first = await Promise.race([promise.catch(() => undefined), Promise.resolve(open)]);
  return first !== open;
}

describe('the start', () => {
  test('comes when it is asked for, once, and with the opening as the first message', () => {
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
    worker().say({ type: 'ready' });
    expect(engine.state()).toEqual({ type: 'ready' });
  });

  test.each(['settled', 'ask', 'undertake'] as const)('comes by itself for whoever calls %s', (how) => {
    const { engine, workers, ask, undertake } = world();
    if (how === 'settled') void engine.settled();
    else if (how === 'ask') void ask();
    else undertake();
    expect(workers).toHaveLength(1);
  });

  test('settles those who wait when it succeeds', async () => {
    const { engine, worker } = world();
    const settled = [engine.settled(), engine.settled()];
    expect(await isOver(settled[0] as Promise<void>)).toBe(false);
    worker().say({ type: 'ready' });
    await Promise.all(settled);
    await engine.settled();
  });

  test('settles those who wait when it fails, and gives work and questions an error with the reason', async () => {
    const { engine, worker, undertake, ask, code, seen } = world();
    const settled = engine.settled();
    const [work, question] = [undertake(), code(ask())];
    worker().say({ type: 'broken', reason: 'no such file' });
    expect(engine.state().type).toBe('starting');
    worker().exit({ code: 3, signal: null });
    await settled;
    expect(engine.state()).toEqual({ type: 'failed', reason: 'no such file' });
    expect(work.told).toEqual(['engine-failed']);
    expect(await question).toBe('engine-failed');
    expect(undertake().told).toEqual(['engine-failed']);
    expect(seen).toEqual(['starting', 'failed: no such file']);
  });

  test('that fails without a word is explained by how the process ended', () => {
    const { engine, worker, pendingTimers } = world();
    engine.start();
    worker().exit({ code: 9, signal: null });
    expect(engine.state()).toEqual({ type: 'failed', reason: 'the engine process ended with code 9' });
    expect(pendingTimers()).toBe(0);
  });

  test('takes as long as it takes', () => {
    const { engine, worker, advance } = world();
    engine.start();
    worker().lively = false;
    advance(3_600_000);
    expect(engine.state().type).toBe('starting');
    expect(worker().killed).toBe(false);
  });

  test('is tried again at once, uncounted, where the end calls for another opening', () => {
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

describe('questions', () => {
  test('are answered, also those that were asked while it started', async () => {
    const { engine, worker, ask } = world();
    engine.start();
    const answer = ask();
    expect(worker().sent).toHaveLength(1);
    worker().say({ type: 'ready' });
    await engine.settled();
    const id = worker().sent[1]?.id as number;
    worker().say({ type: 'answer', id, value: 42 });
    expect(await answer).toBe(42);
  });

  test('are refused when the process dies', async () => {
    const { ask, code, worker, engine } = readyWorld();
    const answer = code(ask());
    await engine.settled();
    worker().exit();
    expect(await answer).toBe('engine-lost');
  });

  test('are refused after two minutes without an answer, although the process is well', async () => {
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

  test('that were asked of one who comes back are asked of the new process', async () => {
    const { ask, worker, engine } = readyWorld();
    worker().exit();
    const answer = ask();
    worker().say({ type: 'ready' });
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

describe('a process that hangs', () => {
  test('is ended within ten seconds of its last sign, and its work and questions get an error of their own', async () => {
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
    worker().say({ type: 'ready' });
    expect(engine.state()).toEqual({ type: 'ready' });
  });

  test('and says so itself is ended with the next tick', () => {
    const { worker, advance, engine } = readyWorld();
    worker().lively = false;
    worker().pulse({ hung: true });
    advance(500);
    expect(worker().killed).toBe(true);
    expect(engine.state()).toEqual({ type: 'lost' });
  });

  test('and cannot even be killed is left behind after a while', () => {
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

  test('has nothing more to say', () => {
    const { worker, advance, undertake, engine } = readyWorld();
    const work = undertake();
    const id = work.id();
    worker().pulse({ hung: true });
    worker().lively = false;
    advance(500);
    worker().say({ type: 'end', id });
    worker().say({ type: 'ready' });
    expect(engine.state()).toEqual({ type: 'lost' });
    expect(work.told).toEqual(['begun', 'engine-silent']);
  });

  test('is not one that never gave a sign: it is of a kind that cannot', () => {
    const { engine, worker, advance } = world();
    engine.start();
    worker().lively = false;
    worker().say({ type: 'ready' });
    advance(600_000);
    expect(worker().killed).toBe(false);
  });

  test('is not one that slept together with everything else', () => {
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

describe('work', () => {
  test('begins at once where the engine is ready, and otherwise when it is', () => {
    const early = world();
    const held = early.undertake();
    expect(held.told).toEqual([]);
    early.worker().say({ type: 'ready' });
    expect([held.told, early.undertake().told]).toEqual([['begun'], ['begun']]);
  });

  test('that was stopped before it began never begins', () => {
    const { undertake, worker } = world();
    const work = undertake();
    work.abort();
    work.abort();
    worker().say({ type: 'ready' });
    expect(work.told).toEqual(['withdrawn']);
    expect(worker().sent).toEqual([{ type: 'open' }]);
  });

  test('that was stopped is asked to end, and nothing is killed when it does', () => {
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

  test('that goes on after it was stopped means a process that hangs', () => {
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

  test('may go on for as long as the step takes that the process is in', () => {
    const { undertake, worker, advance } = readyWorld();
    const work = undertake();
    worker().lively = false;
    work.abort();
    for (let tick = 0; tick < 100; tick += 1) {
      worker().pulse({ patienceMs: 60_000 });
      advance(500);
    }
    expect(worker().killed).toBe(false);
    for (let tick = 0; tick < 30; tick += 1) {
      worker().pulse({ patienceMs: 60_000 });
      advance(500);
    }
    expect(worker().killed).toBe(true);
  });

  test('of a process that dies is lost, and what is held waits for the next one', () => {
    const { undertake, worker, engine } = readyWorld();
    const running = undertake('a');
    worker().exit();
    const held = undertake('b');
    expect([running.told, held.told]).toEqual([['begun', 'engine-lost'], []]);
    expect(engine.state().type).toBe('starting');
    worker().say({ type: 'ready' });
    expect(held.told).toEqual(['begun']);
  });
});

describe('a process that dies', () => {
  test('again and again is tried for ever, with pauses of half a minute at most', () => {
    const { worker, advance, seen, engine } = readyWorld();
    for (let death = 0; death < 20; death += 1) {
      worker().exit();
      advance(31_000);
      worker().say({ type: 'ready' });
    }
    const pauses = seen.filter((line) => line.startsWith('died')).map((line) => Number(line.split(' ').at(-1)));
    expect(pauses).toEqual([0, 500, 1000, 2000, 4000, 8000, 16_000, ...Array(13).fill(30_000)]);
    expect(engine.state().type).toBe('ready');
  });

  test('after work that was done, or after a minute of health, has its first failure', () => {
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

  test('and cannot be loaded any more is tried again too, with that reason', () => {
    const { worker, advance, seen, engine } = readyWorld();
    worker().exit();
    worker().say({ type: 'broken', reason: 'the file is gone' });
    worker().exit({ code: 3, signal: null });
    expect(engine.state().type).toBe('lost');
    advance(500);
    worker().say({ type: 'ready' });
    expect(engine.state().type).toBe('ready');
    expect(seen.slice(1)).toEqual(['died 1, again in 0', 'starting', 'not-loaded 2, again in 500', 'starting']);
  });

  test('while it loads for the first time is tried again where the model is known to be good', () => {
    const { engine, worker } = world({ proven: true });
    engine.start();
    worker().exit();
    expect(engine.state().type).toBe('starting');
  });

  test('makes those who come wait while it comes back soon', async () => {
    const { engine, worker, advance } = readyWorld();
    worker().exit();
    worker().exit();
    expect(engine.state()).toEqual({ type: 'lost' });
    const settled = engine.settled();
    advance(500);
    expect(await isOver(settled)).toBe(false);
    worker().say({ type: 'ready' });
    await settled;
  });

  test('and does not come back soon refuses whoever waits or comes, with the reason and the time', async () => {
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
    worker().say({ type: 'ready' });
    expect(later.told).toEqual(['begun']);
  });

  test('and takes too long to load again is not waited for either', async () => {
    const { engine, worker, advance, undertake } = readyWorld();
    worker().exit();
    const [settled, held] = [engine.settled(), undertake()];
    advance(60_000);
    expect(await isOver(settled)).toBe(false);
    advance(500);
    await settled;
    expect(held.told).toEqual(['engine-down']);
    expect(engine.state()).toMatchObject({ type: 'starting', trouble: { retryAfterSeconds: 1 } });
    worker().say({ type: 'ready' });
    expect(undertake().told).toEqual(['begun']);
  });

  test('is waited for longer where loading takes long', async () => {
    const { engine, worker, advance } = world();
    engine.start();
    advance(100_000);
    worker().say({ type: 'ready' });
    worker().exit();
    const settled = engine.settled();
    advance(399_000);
    expect(await isOver(settled)).toBe(false);
    advance(1500);
    await settled;
    expect(engine.state()).toMatchObject({ type: 'starting', trouble: { retryAfterSeconds: 100 } });
  });
});

describe('a request that ends the engine', () => {
  test('twice is refused the third time, and others are served', () => {
    const { undertake, crashAndReturn } = readyWorld();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(undertake('bad').told).toEqual(['begun']);
      crashAndReturn();
    }
    expect(undertake('bad').told).toEqual(['request-ends-engine']);
    expect(undertake('good').told).toEqual(['begun']);
  });

  test('is tried alone before it is blamed: others wait for it, in their order', () => {
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

  test('by hanging counts like one that ends it by dying', () => {
    const { undertake, worker, advance } = readyWorld();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      undertake('bad');
      worker().lively = false;
      worker().pulse({ hung: true });
      advance(500);
      worker().exit({ signal: 'SIGKILL' });
      advance(31_000);
      worker().say({ type: 'ready' });
    }
    expect(undertake('bad').told).toEqual(['request-ends-engine']);
  });

  test('is forgiven once it comes to its end', () => {
    const { undertake, worker, crashAndReturn } = readyWorld();
    undertake('bad');
    crashAndReturn();
    const work = undertake('bad');
    worker().say({ type: 'end', id: work.id() });
    undertake('bad');
    crashAndReturn();
    expect(undertake('bad').told).toEqual(['begun']);
  });

  test('is not forgiven for being stopped', () => {
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

describe('stopping', () => {
  test('gives the process its time, and everybody who waits an end at once', async () => {
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

  test('while it loads settles those who wait', async () => {
    const { engine, undertake, ask, code } = world();
    const settled = engine.settled();
    const [held, question] = [undertake(), code(ask())];
    await engine.stop();
    await settled;
    expect(held.told).toEqual(['engine-down']);
    expect(await question).toBe('engine-down');
  });

  test('between two tries starts nothing any more', async () => {
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

  test('while a hung process is being ended waits for that one', async () => {
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

  test('is for good: nothing is begun, and whoever asks is told so', async () => {
    const { engine, workers, undertake, ask, code } = world();
    await engine.stop();
    engine.start();
    await engine.settled();
    expect(workers).toHaveLength(0);
    expect(undertake().told).toEqual(['engine-down']);
    expect(await code(ask())).toBe('engine-down');
    expect(await Promise.all([engine.stop(), engine.stop()])).toEqual([undefined, undefined]);
  });

  test('the exit that follows is no crash', async () => {
    const { engine, worker, workers, seen } = readyWorld();
    await engine.stop();
    worker().exit({ code: 0, signal: null });
    expect(workers).toHaveLength(1);
    expect(seen).toEqual(['starting']);
  });
});

describe('the line for the console', () => {
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
