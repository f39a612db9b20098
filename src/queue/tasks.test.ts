import { describe, expect, test } from 'vitest';
import { Aborted } from '../core/abort.ts';
import type { EngineSource } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import type { RequestContext } from '../core/request-context.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { laneOf, type TaskRun, tasks } from './tasks.ts';

/** An engine that does nothing but have a name. */
interface Bell {
  readonly sound: string;
}

function world({ places = 10, broken = '' }: { places?: number; broken?: string } = {}) {
  let now = 0;
  const queue = new Queue({
    capacity: (lane) => (lane.includes('embedding') ? 8 : 1),
    maxRequests: () => places,
    now: () => now,
  });
  const requestQueue = new RequestQueue(queue, () => now);
  const log: string[] = [];
  const source: EngineSource<Bell> = {
    name: 'bell',
    use: async (signal) => {
      signal?.throwIfAborted();
      if (broken) throw new AppError('model-load-failed', { model: 'bell', reason: broken });
      log.push('used');
      return { engine: { sound: 'ding' }, release: () => log.push('released') };
    },
    peek: () => undefined,
    state: () => ({ type: 'unloaded' }),
  };
  const observer = {
    begun: () => log.push('begun'),
    ended: (_: unknown, milliseconds: number, error: AppError | undefined) =>
      log.push(`ended after ${milliseconds}${error ? ` with ${error.code}` : ''}`),
  };
  return {
    requestQueue,
    queue,
    log,
    speech: tasks({ requestQueue, work: { name: 'speech', cost: 0.5, initialEstimateSeconds: 2 }, source, observer }),
    embedding: tasks({
      requestQueue,
      work: { name: 'embedding', cost: 0.1, initialEstimateSeconds: 0.2 },
      source,
      observer,
    }),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

function context(genkey = '', client = genkey): RequestContext & { readonly leave: () => void } {
  const control = new AbortController();
  return { genkey, client, signal: control.signal, leave: () => control.abort(new Aborted('client-gone')) };
}

/** Work that the test ends. */
function held<Value>() {
  let end: (value: Value) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const result = new Promise<Value>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { result, end, fail };
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (value) => `value ${String(value)}`,
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('tasks: single result', () => {
  test('uses the engine in its turn, and releases it', async () => {
    const { speech, log, pass } = world();
    const result = await speech.once(context(), async ({ engine }) => {
      pass(30);
      return engine.sound;
    });
    expect(result).toBe('ding');
    expect(log).toEqual(['used', 'begun', 'released', 'ended after 30']);
  });

  test('a result is never reported as stopped, however slow the release is', async () => {
    const { speech, log, requestQueue } = world();
    await speech.once(context(), async () => 'done');
    await settle();
    expect(log.at(-1)).toBe('ended after 0');
    expect(requestQueue.count('speech')).toEqual({ done: 1, failed: 0 });
  });

  test('rejects with the error of the engine, which is released', async () => {
    const { speech, log, queue } = world();
    const error = new AppError('engine-failed', { capability: 'speech', reason: 'hoarse' });
    expect(await codeOf(speech.once(context(), () => Promise.reject(error)))).toBe('engine-failed');
    await settle();
    expect(log).toEqual(['used', 'begun', 'released', 'ended after 0 with engine-failed']);
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });

  test('rejects if the engine cannot be loaded, and nothing starts', async () => {
    const { speech, log, queue, requestQueue } = world({ broken: 'no such file' });
    expect(await codeOf(speech.once(context(), async () => 'never'))).toBe('model-load-failed');
    await settle();
    expect(log).toEqual([]);
    expect(queue.running).toBe(0);
    expect(requestQueue.count('speech')).toEqual({ done: 0, failed: 0 });
  });

  test('rejects at once when the queue is full', async () => {
    const { speech } = world({ places: 1 });
    const first = held<string>();
    const running = speech.once(context('a'), () => first.result);
    expect(() => speech.stream(context('b'), async function* () {})).toThrow('busy');
    first.end('done');
    expect(await running).toBe('done');
  });
});

describe('tasks: stream', () => {
  test('yields all events in order', async () => {
    const { speech } = world();
    const events: number[] = [];
    for await (const step of speech.stream(context(), async function* () {
      yield 1;
      yield 2;
    })) {
      events.push(step);
    }
    expect(events).toEqual([1, 2]);
  });

  test('yields the events before an error', async () => {
    const { speech } = world();
    const events: unknown[] = [];
    const work = (async () => {
      for await (const step of speech.stream(context(), async function* () {
        yield 1;
        throw new AppError('engine-lost', { capability: 'speech' });
      })) {
        events.push(step);
      }
    })();
    expect(await codeOf(work)).toBe('engine-lost');
    expect(events).toEqual([1]);
  });

  test('enters the queue when called, not at the first read', async () => {
    const { speech, queue } = world();
    speech.stream(context(), async function* () {
      await new Promise(() => {});
      yield 1;
    });
    expect(queue.running).toBe(1);
  });

  test('ends without a reader', async () => {
    const { speech, queue, log } = world();
    speech.stream(context(), async function* () {
      yield 1;
    });
    await settle();
    expect(queue.running).toBe(0);
    expect(log.at(-1)).toBe('ended after 0');
  });

  test('a reader that stops ends the work', async () => {
    const { speech, log } = world();
    let stopped = false;
    for await (const _ of speech.stream(context(), async function* ({ signal }) {
      yield 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      stopped = true;
    })) {
      break;
    }
    await settle();
    expect(stopped).toBe(true);
    expect(log.at(-1)).toBe('ended after 0 with stopped');
  });
});

describe('tasks: turns', () => {
  test('an engine does one task at a time', async () => {
    const { speech, log } = world();
    const [first, second] = [held<string>(), held<string>()];
    const running = speech.once(context('a'), () => first.result);
    const waiting = speech.once(context('b'), () => second.result);
    await settle();
    expect(log.filter((line) => line === 'begun').length).toBe(1);
    first.end('one');
    await running;
    await settle();
    expect(log.filter((line) => line === 'begun').length).toBe(2);
    second.end('two');
    expect(await waiting).toBe('two');
  });

  test('embeddings share their engine', async () => {
    const { embedding, log } = world();
    const never = new Promise<never>(() => {});
    for (let index = 0; index < 9; index += 1) void embedding.once(context(`client ${index}`), () => never);
    await settle();
    expect(log.filter((line) => line === 'begun').length).toBe(8);
  });

  test('kinds do not wait for each other, but share the places', async () => {
    const { speech, embedding, queue } = world({ places: 2 });
    const never = new Promise<never>(() => {});
    void speech.once(context('a'), () => never);
    void embedding.once(context('b'), () => never);
    await settle();
    expect(queue.running).toBe(2);
    expect(await codeOf(speech.once(context('c'), () => never))).toBe('busy');
  });

  test('a text model that is named like a lane of tasks has a lane of its own', () => {
    expect(laneOf({ name: 'speech', cost: 1, initialEstimateSeconds: 1 }, 'bell')).not.toBe('task speech bell');
  });

  test('a waiting task has its position', async () => {
    const { speech } = world();
    const first = held<string>();
    void speech.once(context('a'), () => first.result);
    let position: (() => unknown) | undefined;
    void speech.once({ ...context('b'), onQueued: (own) => (position = own) }, async () => '');
    expect(position?.()).toMatchObject({ position: 1 });
    first.end('');
    await settle();
    expect(position?.()).toBeUndefined();
  });
});

describe('tasks: stop', () => {
  const endless = ({ signal }: TaskRun<Bell>) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

  test('by key, while it runs', async () => {
    const { speech, requestQueue } = world();
    const work = codeOf(speech.once(context('mine'), endless));
    await settle();
    for (const job of requestQueue.jobs.withKey('mine')) job.abort('key');
    expect(await work).toBe('stopped');
  });

  test('by key, while it waits: it never starts', async () => {
    const { speech, requestQueue, log } = world();
    const first = held<string>();
    const running = speech.once(context('a'), () => first.result);
    const waiting = codeOf(speech.once(context('mine'), endless));
    for (const job of requestQueue.jobs.withKey('mine')) job.abort('key');
    expect(await waiting).toBe('stopped');
    first.end('');
    await running;
    await settle();
    expect(log.filter((line) => line === 'begun').length).toBe(1);
  });

  test('by the end of the server: a running task gets the error after the time-out, a waiting one at once', async () => {
    const { speech, requestQueue } = world();
    const running = codeOf(speech.once(context('a'), endless));
    const waiting = codeOf(speech.once(context('b'), endless));
    await settle();
    requestQueue.close();
    expect(await waiting).toBe('stopping');
    requestQueue.stopAll();
    expect(await running).toBe('stopping');
  });

  test('when its client disconnects', async () => {
    const { speech, queue } = world();
    const mine = context('mine');
    const work = codeOf(speech.once(mine, endless));
    await settle();
    mine.leave();
    expect(await work).toContain('client-gone');
    await settle();
    expect(queue.running).toBe(0);
  });

  test('with an aborted signal', async () => {
    const { speech, log } = world();
    const mine = context('mine');
    mine.leave();
    expect(await codeOf(speech.once(mine, endless))).toContain('client-gone');
    expect(log).toEqual([]);
  });

  test('drops a result that comes after the stop', async () => {
    const { speech, requestQueue } = world();
    const slow = held<string>();
    const work = codeOf(speech.once(context('mine'), () => slow.result));
    await settle();
    for (const job of requestQueue.jobs.withKey('mine')) job.abort('key');
    slow.end('half');
    expect(await work).not.toBe('value undefined');
  });
});

describe('tasks: visible state', () => {
  test('text so far, by key', async () => {
    const { speech, requestQueue } = world();
    const more = held<void>();
    const work = speech.once(context('mine'), async ({ wrote }) => {
      wrote('so far');
      await more.result;
    });
    await settle();
    expect(requestQueue.jobs.visible('mine', '')).toMatchObject({ text: 'so far', state: 'running', kind: 'speech' });
    more.end();
    await work;
    await settle();
    expect(requestQueue.jobs.visible('mine', '')?.state).toBe('done');
  });

  test('counts of finished and failed tasks', async () => {
    const { speech, embedding, requestQueue } = world();
    await speech.once(context(), async () => '');
    await codeOf(speech.once(context(), () => Promise.reject(new Error('no'))));
    await embedding.once(context(), async () => '');
    await settle();
    expect(requestQueue.count('speech')).toEqual({ done: 1, failed: 1 });
    expect(requestQueue.count('embedding')).toEqual({ done: 1, failed: 0 });
    expect(requestQueue.count('image')).toEqual({ done: 0, failed: 0 });
  });
});

describe('tasks: paced streams', () => {
  function counting() {
    let made = 0;
    const work = async function* () {
      for (; made < 100; ) yield ++made;
    };
    return { work, made: () => made };
  }

  test('are pulled only as fast as they are read, and are complete', async () => {
    const { speech, log } = world();
    const { work, made } = counting();
    const reader = speech.stream(context(), work, { paced: true })[Symbol.asyncIterator]();
    for (let step = 1; step <= 100; step++) {
      expect((await reader.next()).value).toBe(step);
      await settle();
      expect(made()).toBe(step);
    }
    expect((await reader.next()).done).toBe(true);
    await settle();
    expect(log).toContain('released');
  });

  test('end when the reader disconnects during a wait', async () => {
    const { speech, log } = world();
    const { work, made } = counting();
    const mine = context();
    const reader = speech.stream(mine, work, { paced: true })[Symbol.asyncIterator]();
    await reader.next();
    mine.leave();
    await settle();
    expect(made()).toBe(1);
    expect(log).toContain('released');
  });
});
