import { describe, expect, test, vi } from 'vitest';
import { Aborted } from '../core/abort.ts';
import { AppError } from '../core/errors.ts';
import { emptyStart, type GenerationEvent } from '../core/events.ts';
import { fold } from '../core/fold.ts';
import type { QueueStatus } from '../core/request.ts';
import { plainRequest } from '../core/testing/plain-request.ts';
import {
  fixedTextSource,
  type GenerationSink,
  type TextEngine,
  type TextService,
  type TextState,
} from '../core/text-service.ts';
import { fakeEngine, type Script } from '../engines/testing/fake-engine.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { type TextObserver, textService } from './text.ts';

const later = () => new Promise((resolve) => setImmediate(resolve));

/** A service over a fake engine that moves one step at a time. */
function world(
  script: Script = { pieces: ['a', 'b', 'c'] },
  { places = 10, capacity = 1, observer = {} as TextObserver } = {},
) {
  const waiting: (() => void)[] = [];
  const seeds: number[] = [];
  const engine = fakeEngine({
    script: (_, seed) => {
      seeds.push(seed);
      return script;
    },
    pace: (next) => waiting.push(next),
  });
  const requestQueue = new RequestQueue(new Queue({ capacity, maxRequests: () => places }), () => 0);
  const service = textService({
    source: fixedTextSource(engine),
    requestQueue,
    ...(capacity > 1 && { sharing: () => ({ type: 'shared' }) }),
    randomSeed: () => 77,
    observer,
  });
  const step = async () => {
    await later();
    waiting.shift()?.();
    await later();
  };
  const finishAll = async () => {
    do await step();
    while (waiting.length > 0);
  };
  return { engine, service, requestQueue, step, finishAll, seeds };
}

function ask(service: TextService, genkey = '', signal = new AbortController().signal) {
  return service.generate(plainRequest('Hello', 10), { genkey, client: genkey, signal });
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const collected: GenerationEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

test('text service: a request runs at once, and its text is the sum of the deltas', async () => {
  const { service, finishAll, seeds } = world();
  const reply = fold(ask(service));
  await finishAll();
  expect(await reply).toMatchObject({ text: 'abc', reason: 'length' });
  expect(seeds).toEqual([77]);
});

test('text service: one request runs at a time, in order of arrival', async () => {
  const { service, engine, step, finishAll } = world();
  const order: string[] = [];
  const replies = ['one', 'two', 'three'].map((key) => fold(ask(service, key)).then(() => order.push(key)));
  await step();
  expect([engine.running, service.performance()]).toEqual([
    1,
    expect.objectContaining({ waiting: 2, estimateSeconds: 15 }),
  ]);
  await finishAll();
  await Promise.all(replies);
  expect(order).toEqual(['one', 'two', 'three']);
});

test('text service: rejects at once when the queue is full', async () => {
  const { service } = world(undefined, { places: 2 });
  ask(service);
  ask(service);
  expect(() => ask(service)).toThrow(expect.objectContaining({ code: 'busy' }));
});

test('text service: admitted requests are served, whatever comes to the full queue', async () => {
  const { service, finishAll } = world(undefined, { places: 3 });
  const crowd = ['crowd', 'crowd', 'crowd'].map((client) =>
    fold(service.generate(plainRequest('Hello', 10), { genkey: '', client, signal: new AbortController().signal })),
  );
  expect(() => ask(service, 'single')).toThrow(expect.objectContaining({ code: 'busy' }));
  await finishAll();
  for (const reply of crowd) expect(await reply).toMatchObject({ text: 'abc', reason: 'length' });
  const single = fold(ask(service, 'single'));
  await finishAll();
  expect((await single).text).toBe('abc');
  expect(service.performance().waiting).toBe(0);
});

test('text service: a waiting request whose client disconnects never reaches the engine', async () => {
  const { service, engine, finishAll } = world();
  const gone = new AbortController();
  const first = fold(ask(service, 'first'));
  const second = collect(ask(service, 'second', gone.signal));
  const third = fold(ask(service, 'third'));
  await later();
  gone.abort();
  expect(await second).toMatchObject([
    { type: 'start' },
    { type: 'finish', reason: 'aborted', usage: { completionTokens: 0 } },
  ]);
  expect(service.performance().waiting).toBe(1);
  await finishAll();
  expect([(await first).text, (await third).text, engine.begun]).toEqual(['abc', 'abc', 2]);
});

test('text service: does not serve a client that disconnects before its turn', async () => {
  const { service, engine } = world();
  const events = await collect(ask(service, '', AbortSignal.abort()));
  expect(events).toMatchObject([{ type: 'start' }, { type: 'finish', reason: 'aborted' }]);
  expect([engine.begun, service.performance().idle]).toEqual([0, true]);
});

test('text service: a running request whose client disconnects is stopped, and the next one starts', async () => {
  const { service, engine, step, finishAll } = world();
  const gone = new AbortController();
  const first = fold(ask(service, 'first', gone.signal));
  const second = fold(ask(service, 'second'));
  await step();
  gone.abort();
  expect(await first).toMatchObject({ text: 'a', reason: 'aborted' });
  await later();
  expect(engine.running).toBe(1);
  await finishAll();
  expect((await second).text).toBe('abc');
});

test('text service: a reader that stops ends the generation', async () => {
  const { service, engine, step } = world();
  const events = ask(service)[Symbol.asyncIterator]();
  await step();
  await events.next();
  await events.return?.();
  expect([engine.running, service.performance().idle]).toEqual([0, true]);
});

test('text service: stop by key returns the text so far; a waiting request ends before it starts', async () => {
  const { service, step, finishAll } = world();
  const first = fold(ask(service, 'first'));
  const second = fold(ask(service, 'second'));
  await step();
  expect(service.abort('nobody')).toBe('refused');
  expect(service.abort('second')).toBe('pending');
  expect(await second).toMatchObject({ text: '', reason: 'aborted' });
  expect(service.abort('first')).toBe('stopped');
  expect(await first).toMatchObject({ text: 'a', reason: 'aborted' });
  await finishAll();
  expect(service.abort('')).toBe('stopped');
});

test('text service: an abort without a genkey stops the running generation while others wait', async () => {
  const { service, step, finishAll } = world();
  const first = fold(ask(service, 'first'));
  const second = fold(ask(service, 'second'));
  await step();
  expect(service.abort('', 'somebody')).toBe('stopped');
  expect(await first).toMatchObject({ text: 'a', reason: 'aborted' });
  await finishAll();
  expect(await second).toMatchObject({ text: 'abc' });
});

test('text service: an abort without a genkey by a client that waits stops the running generation', async () => {
  const { service, step, finishAll } = world();
  const first = fold(ask(service, 'first'));
  const second = fold(ask(service, 'second'));
  await step();
  expect(service.abort('', 'second')).toBe('stopped');
  expect(await first).toMatchObject({ text: 'a', reason: 'aborted' });
  await finishAll();
  expect(await second).toMatchObject({ text: 'abc' });
});

test('text service: the text so far is visible by key, also afterwards', async () => {
  const { service, step, finishAll } = world();
  const reply = fold(ask(service, 'mine'));
  await step();
  expect([service.check('mine'), service.check(''), service.check('other')]).toEqual(['a', '', '']);
  await finishAll();
  await reply;
  expect(service.check('mine')).toBe('abc');
});

test('text service: the finish reason is visible by key for detached requests only', async () => {
  const { service, step, finishAll } = world();
  const { signal } = new AbortController();
  const kept = fold(
    service.generate(plainRequest('Hello', 10), { genkey: 'kept', client: 'k', signal, survivesDisconnect: true }),
  );
  await step();
  expect([service.finished('kept'), service.finished(''), service.finished('other')]).toEqual([
    null,
    undefined,
    undefined,
  ]);
  await finishAll();
  expect(service.finished('kept')).toBe((await kept).reason);
  const plain = fold(ask(service, 'plain'));
  await finishAll();
  await plain;
  expect(service.finished('plain')).toBeUndefined();
});

describe('text service: several running requests', () => {
  async function severalRun(...keys: readonly string[]) {
    const several = world(undefined, { capacity: 2 });
    const replies = keys.map((key) => fold(ask(several.service, key)));
    for (const _ of keys) await several.step();
    return { ...several, replies };
  }

  test('text service: a client without a key sees and stops none of them', async () => {
    const { service, finishAll, replies } = await severalRun('', '');
    const other = 'another client';
    expect([service.check('', other), service.abort('', other), service.lastLogprobs('', other)]).toEqual([
      '',
      'refused',
      undefined,
    ]);
    await finishAll();
    for (const reply of replies) expect(await reply).toMatchObject({ text: 'abc', reason: 'length' });
  });

  test('observers distinguish them by number', async () => {
    const numbers: unknown[] = [];
    const observer: TextObserver = { begun: (_, { number, shared }) => numbers.push([number, shared]) };
    for (const capacity of [2, 1]) {
      const { service, finishAll } = world(undefined, { capacity, observer });
      const replies = [fold(ask(service)), fold(ask(service))];
      await finishAll();
      await Promise.all(replies);
    }
    expect(numbers).toEqual([
      [1, true],
      [2, true],
      [1, false],
      [2, false],
    ]);
  });

  test('a key stops all running requests with it', async () => {
    const { service, replies } = await severalRun('k', 'k');
    expect(service.abort('k')).toBe('stopped');
    for (const reply of replies) expect(await reply).toMatchObject({ reason: 'aborted' });
  });
});

test('text service: a key of a running and a waiting request selects the running one', async () => {
  const { service, step, finishAll } = world();
  const first = fold(ask(service, 'k'));
  const second = fold(ask(service, 'k'));
  await step();
  expect([service.check('k'), service.queuePosition('k'), service.abort('k')]).toEqual(['a', undefined, 'stopped']);
  expect(await first).toMatchObject({ text: 'a', reason: 'aborted' });
  await finishAll();
  expect(await second).toMatchObject({ text: 'abc', reason: 'length' });
});

test('text service: the only request can be stopped without a key while it waits for the model', async () => {
  const { service, engine } = world();
  engine.become({ type: 'loading', name: 'm', progress: 0 });
  const reply = fold(ask(service));
  await later();
  expect(service.abort('')).toBe('stopped');
  expect(await reply).toMatchObject({ text: '', reason: 'aborted' });
});

test('text service: a key of waiting requests stops all of them', async () => {
  const { service, engine, finishAll } = world();
  ask(service, 'first');
  const waiting = [fold(ask(service, 'k')), fold(ask(service, 'k'))];
  expect(service.abort('k')).toBe('pending');
  for (const reply of waiting) expect(await reply).toMatchObject({ text: '', reason: 'aborted' });
  await finishAll();
  expect(engine.begun).toBe(1);
});

test('text service: an engine crash ends the request with an error, and the queue continues', async () => {
  const { service, finishAll } = world({ pieces: ['a'], end: 'lost' });
  const first = fold(ask(service)).catch((error: AppError) => error.code);
  const second = fold(ask(service)).catch((error: AppError) => error.code);
  await finishAll();
  await finishAll();
  expect([await first, await second]).toEqual(['engine-lost', 'engine-lost']);
  expect(service.performance()).toMatchObject({ idle: true, waiting: 0, stop: 'error' });
});

test('text service: a request during a load waits for it, and can be stopped', async () => {
  const { service, engine, finishAll } = world();
  const ready = engine.state();
  engine.become({ type: 'loading', name: 'm', progress: 0 });
  const first = fold(ask(service, 'first'));
  const second = fold(ask(service, 'second'));
  const counted = service.tokenize('abc', { addSpecial: false });
  await later();
  expect(engine.begun).toBe(0);
  service.abort('first');
  expect((await first).text).toBe('');
  engine.become(ready);
  await finishAll();
  expect((await second).text).toBe('abc');
  expect(await counted).toHaveLength(3);
});

test.each([
  [{ type: 'none' }, 'model-missing'],
  [{ type: 'failed', name: 'm', reason: 'no memory' }, 'model-load-failed'],
] as const)('text service: rejects with a sentence in the engine state %o', async (state, code) => {
  const { service, engine } = world();
  engine.become(state);
  await expect(fold(ask(service))).rejects.toMatchObject({ code });
  expect(await service.tokenize('abc', { addSpecial: false })).toEqual([]);
  expect(await service.detokenize([97], { renderSpecial: false })).toBe('');
  expect(service.performance().idle).toBe(true);
});

test('text service: an engine that does not restart soon rejects requests and counts', async () => {
  const { service, engine } = world();
  const trouble = { reason: 'it died', retryAfterSeconds: 8 };
  const settled = vi.spyOn(engine, 'settled').mockResolvedValue();
  engine.become({ type: 'loading', name: 'm', progress: 0, trouble });
  const refusal = { code: 'engine-down', details: { reason: 'it died', retryAfterSeconds: 8 } };
  await expect(fold(ask(service))).rejects.toMatchObject(refusal);
  await expect(service.tokenize('abc', { addSpecial: false })).rejects.toMatchObject(refusal);
  await expect(service.detokenize([97], { renderSpecial: false })).rejects.toMatchObject(refusal);
  expect(settled).toHaveBeenCalledTimes(3);
  expect([engine.begun, service.performance().idle]).toEqual([0, true]);
});

test('text service: keeps the seed of the request, and draws a random one', async () => {
  const { service, finishAll, seeds } = world();
  const request = plainRequest('Hello', 10);
  const context = { genkey: '', client: 'test', signal: new AbortController().signal };
  const reply = fold(service.generate({ ...request, sampling: { ...request.sampling, seed: 5 } }, context));
  await finishAll();
  await reply;
  expect([seeds, service.performance().seed]).toEqual([[5], 5]);
});

test('text service: a waiting request has its position, also by key', async () => {
  const { service, step, finishAll } = world();
  const positions: (() => QueueStatus | undefined)[] = [];
  const placed = (position: () => QueueStatus | undefined) => void positions.push(position);
  const { signal } = new AbortController();
  const replies = ['first', 'second'].map((genkey) =>
    fold(service.generate(plainRequest('Hello', 10), { genkey, client: genkey, signal, onQueued: placed })),
  );
  await step();
  const waiting = { position: 1, estimateSeconds: expect.any(Number) };
  expect(positions.map((position) => position())).toEqual([undefined, { type: 'queued', ...waiting }]);
  expect([service.queuePosition('second'), service.queuePosition('first'), service.queuePosition('')]).toEqual([
    waiting,
    undefined,
    undefined,
  ]);
  await finishAll();
  await Promise.all(replies);
  expect([positions[1]?.(), service.queuePosition('second')]).toEqual([undefined, undefined]);
});

test('text service: the wait of a new request is that of its engine', async () => {
  const requestQueue = new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 10 }), () => 0);
  const engine = fakeEngine({ script: () => ({ pieces: ['a'] }), pace: () => undefined });
  const [busy, idle] = ['busy', 'idle'].map((lane) =>
    textService({ source: fixedTextSource(engine), requestQueue, lane, randomSeed: () => 1 }),
  ) as [TextService, TextService];
  void fold(ask(busy));
  await later();
  expect([busy.performance().estimateSeconds, idle.performance().estimateSeconds]).toEqual([5, 0]);
});

describe('text service: request that waits for its model', () => {
  const loading = (progress: number): TextState => ({ type: 'loading', name: 'mini', progress });
  function placed() {
    let position: () => QueueStatus | undefined = () => undefined;
    const stop = new AbortController();
    const context = {
      genkey: 'k',
      client: '',
      signal: stop.signal,
      onQueued: (own: typeof position) => {
        position = own;
      },
    };
    return { stop, context, position: () => position() };
  }

  test('reports the load progress until the model is ready', async () => {
    const { service, engine, finishAll } = world();
    const ready = engine.state();
    const { context, position } = placed();
    engine.become(loading(0));
    const reply = fold(service.generate(plainRequest('Hello', 10), context));
    await later();
    expect(position()).toEqual({ type: 'loading', model: 'mini', progress: 0 });
    engine.become(loading(0.5));
    expect(position()).toEqual({ type: 'loading', model: 'mini', progress: 0.5 });
    // It is not queued, so it has no position.
    expect(service.queuePosition('k')).toBeUndefined();
    engine.become(ready);
    await later();
    expect(position()).toBeUndefined();
    await finishAll();
    expect(await reply).toMatchObject({ text: 'abc' });
    expect(position()).toBeUndefined();
  });

  test('reports the queue position first, then the load', async () => {
    const { service, engine, finishAll } = world();
    const ready = engine.state();
    const first = fold(ask(service, 'first'));
    const { context, position } = placed();
    const second = fold(service.generate(plainRequest('Hello', 10), context));
    await later();
    engine.become(loading(0.25));
    expect(position()).toMatchObject({ type: 'queued', position: 1 });
    await finishAll();
    await first;
    expect(position()).toEqual({ type: 'loading', model: 'mini', progress: 0.25 });
    engine.become(ready);
    await finishAll();
    expect(await second).toMatchObject({ text: 'abc' });
  });

  test.each<[string, TextState]>([
    ['fails', { type: 'failed', name: 'mini', reason: 'no memory' }],
    ['is not worth waiting for', { ...loading(0), trouble: { reason: 'gone', retryAfterSeconds: 9 } } as TextState],
  ])('stops reporting when the model %s', async (_, state) => {
    const engine = fakeEngine({ script: () => ({ pieces: [] }), pace: () => undefined });
    let settle: () => void = () => undefined;
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const service = textService({
      source: fixedTextSource({ ...engine, settled: () => settled }),
      requestQueue: new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 10 }), () => 0),
      randomSeed: () => 1,
    });
    const { context, position } = placed();
    engine.become(loading(0));
    const reply = collect(service.generate(plainRequest('Hello', 10), context));
    await later();
    expect(position()).toMatchObject({ type: 'loading' });
    engine.become(state);
    settle();
    expect(await reply).toMatchObject([{ type: 'error' }]);
    expect(position()).toBeUndefined();
  });

  test('stops reporting when the request is stopped', async () => {
    const { service, engine } = world();
    const { context, position, stop } = placed();
    engine.become(loading(0));
    const reply = fold(service.generate(plainRequest('Hello', 10), context));
    await later();
    stop.abort();
    expect(await reply).toMatchObject({ text: '', reason: 'aborted' });
    expect(position()).toBeUndefined();
  });

  test.each<[string, TextState, object | undefined]>([
    ['was let go and is as good as there', fakeReady('kept'), { type: 'loading', model: 'kept', progress: 0 }],
    ['failed before', { type: 'failed', name: 'mini', reason: '' }, { type: 'loading', model: 'mini', progress: 0 }],
    ['is none at all', { type: 'none' }, undefined],
  ])('waits for a model that %s', async (_, state, expected) => {
    const service = textService({
      source: {
        use: () => new Promise(() => undefined),
        peek: () => undefined,
        state: () => state,
        contextSize: () => 1,
      },
      requestQueue: new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 10 }), () => 0),
      randomSeed: () => 1,
    });
    const { context, position } = placed();
    service.generate(plainRequest('Hello', 10), context);
    await later();
    expect(position()).toEqual(expected);
  });

  test('a reservation without a prompt does not load the engine', async () => {
    const { service, engine } = world();
    const { context, position } = placed();
    engine.become(loading(0));
    const reservation = service.reserve(context, plainRequest('Hello', 10));
    await later();
    expect(position()).toBeUndefined();
    void fold(reservation.generate(plainRequest('Hello', 10)));
    expect(position()).toMatchObject({ type: 'loading' });
  });
});

function fakeReady(name: string): TextState {
  const state = fakeEngine({ script: () => ({ pieces: [] }), pace: () => undefined }).state();
  return state.type === 'ready' ? { ...state, model: { ...state.model, name } } : state;
}

test('text service: requests of one client share its turns, whatever their keys', async () => {
  const { service, step } = world();
  const { signal } = new AbortController();
  for (const [genkey, client] of [
    ['a', 'one'],
    ['b', 'one'],
    ['c', 'one'],
    ['d', 'other'],
  ] as const) {
    service.generate(plainRequest('Hello', 10), { genkey, client, signal });
  }
  await step();
  expect(['b', 'c', 'd'].map((key) => service.queuePosition(key)?.position)).toEqual([1, 3, 2]);
});

describe('text service: exclusive work', () => {
  const context = (signal = new AbortController().signal) => ({ genkey: '', client: 'admin', signal });

  test('waits for earlier requests, and later ones wait for it', async () => {
    const { service, engine, finishAll } = world();
    const order: string[] = [];
    const first = fold(ask(service, 'first')).then(() => order.push('first'));
    const work = service.exclusively(context(), async () => {
      await later();
      order.push(`work beside ${engine.running}`);
      return 'done';
    });
    const second = fold(ask(service, 'second')).then(() => order.push('second'));
    await finishAll();
    expect(await work).toBe('done');
    await finishAll();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'work beside 0', 'second']);
  });

  test('is rejected when the queue is full', async () => {
    const { service } = world(undefined, { places: 1 });
    ask(service);
    await expect(service.exclusively(context(), async () => 1)).rejects.toMatchObject({ code: 'busy' });
  });

  test('never runs if its client disconnects, and blocks no other request', async () => {
    const { service, finishAll } = world();
    const gone = new AbortController();
    const first = fold(ask(service));
    let done = false;
    const work = service.exclusively(context(gone.signal), async () => {
      done = true;
    });
    gone.abort();
    await expect(work).rejects.toThrow();
    await finishAll();
    await first;
    expect([done, service.performance()]).toEqual([false, expect.objectContaining({ idle: true, waiting: 0 })]);
  });

  test('releases its place when it fails', async () => {
    const { service } = world();
    const broken = service.exclusively(context(), () => Promise.reject(new Error('broken')));
    await expect(broken).rejects.toThrow('broken');
    expect(service.performance().idle).toBe(true);
  });
});

test('text service: observers get the wait of each request', async () => {
  const waits: number[] = [];
  let now = 0;
  const engine = fakeEngine({ script: () => ({ pieces: ['a'] }), pace: (next) => setImmediate(next) });
  const service = textService({
    source: fixedTextSource(engine),
    requestQueue: new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 10 }), () => now),
    randomSeed: () => 77,
    observer: { dequeued: (waited) => waits.push(waited), event: ({ type }) => (now += type === 'finish' ? 3000 : 0) },
  });
  await Promise.all([fold(ask(service)), fold(ask(service))]);
  expect(waits).toEqual([0, 3000]);
});

test('text service: observers see the start, the deltas and the end of each request', async () => {
  const seen: string[] = [];
  const observer: TextObserver = {
    begun: (request) => seen.push(`begun ${request.prompt}`),
    event: ({ type }) => seen.push(type),
    abortAsked: (genkey, deferred) => seen.push(`abort ${genkey} ${deferred}`),
  };
  const { service, step } = world(undefined, { observer });
  const reply = fold(ask(service, 'k'));
  await step();
  service.abort('k');
  await reply;
  expect(seen).toEqual(['begun Hello', 'start', 'text-delta', 'finish', 'abort k false']);
});

describe('text service: end of the server', () => {
  const kinds = async (events: AsyncIterable<GenerationEvent>) =>
    (await collect(events)).map((event) => (event.type === 'error' ? event.error.code : event.type));

  test('close: the running request finishes, and the waiting one ends with an error', async () => {
    const { service, requestQueue, step, finishAll } = world();
    const replies = [kinds(ask(service)), kinds(ask(service))];
    await step();
    requestQueue.close();
    expect(await replies[1]).toEqual(['stopping']);
    await finishAll();
    expect((await replies[0])?.at(-1)).toBe('finish');
    expect(() => ask(service)).toThrow('The server is stopping.');
  });

  test('stopAll: a running request ends with an error, without an event of its engine', async () => {
    const { service, requestQueue, step } = world();
    const reply = kinds(ask(service));
    await step();
    requestQueue.stopAll();
    expect(await reply).toEqual(['start', 'text-delta', 'stopping']);
    expect(requestQueue.queue.running).toBe(0);
  });
});

describe('text service: observers get the cause of an early end', () => {
  function watched() {
    const causes: string[] = [];
    const observer: TextObserver = { aborted: ({ number }, by) => causes.push(`#${number} ${by}`) };
    return { ...world(undefined, { observer }), causes };
  }

  test.each(['client-gone', 'shutdown', 'cancelled'] as const)('the cause of the signal: %s', async (by) => {
    const { service, step, causes } = watched();
    const gone = new AbortController();
    const reply = fold(ask(service, '', gone.signal));
    await step();
    gone.abort(new Aborted(by));
    await reply;
    expect(causes).toEqual([`#1 ${by}`]);
  });

  test('by key, running and waiting, and without a key for the only request', async () => {
    const { service, step, causes, finishAll } = watched();
    const replies = [fold(ask(service, 'first')), fold(ask(service, 'second'))];
    await step();
    service.abort('second');
    service.abort('first');
    await Promise.all(replies);
    const third = fold(ask(service));
    await step();
    service.abort('');
    await third;
    await finishAll();
    expect(causes).toEqual(['#2 key', '#1 key', '#3 no-key']);
  });

  test('a reader that stops', async () => {
    const { service, step, causes } = watched();
    const events = ask(service)[Symbol.asyncIterator]();
    await step();
    await events.next();
    await events.return?.();
    expect(causes).toEqual(['#1 unread']);
  });

  test('a disconnected client, also if its reader stops first', async () => {
    const { service, step, causes } = watched();
    const gone = new AbortController();
    let events: AsyncIterator<GenerationEvent> | undefined;
    gone.signal.addEventListener('abort', () => void events?.return?.());
    events = ask(service, '', gone.signal)[Symbol.asyncIterator]();
    await step();
    gone.abort(new Aborted('client-gone'));
    expect(causes).toEqual(['#1 client-gone']);
  });

  test('once for several causes, and never after the end', async () => {
    const { service, step, finishAll, causes } = watched();
    const gone = new AbortController();
    const first = fold(ask(service, 'k', gone.signal));
    await step();
    service.abort('k');
    gone.abort(new Aborted('client-gone'));
    await first;
    const late = new AbortController();
    const second = fold(ask(service, 'k', late.signal));
    await finishAll();
    await second;
    late.abort(new Aborted('client-gone'));
    service.abort('k');
    expect(causes).toEqual(['#1 key']);
  });
});

describe('text service: several generations of one request', () => {
  const reserve = (service: TextService, client: string) =>
    service.reserve({ genkey: client, client, signal: new AbortController().signal }, plainRequest('', 1));

  test('follow each other at once without waiting requests', async () => {
    const { service, engine, finishAll } = world();
    const place = reserve(service, 'many');
    for (const count of [1, 2]) {
      const reply = fold(place.generate(plainRequest('Hello', 10)));
      await finishAll();
      expect((await reply).text).toBe('abc');
      expect(engine.begun).toBe(count);
      place.pass();
    }
    place.release();
  });

  test('let other requests go first in between after pass()', async () => {
    const { service, finishAll } = world();
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const place = reserve(service, 'many');
    const first = fold(place.generate(plainRequest('Hello', 10))).then(note('first'));
    const other = fold(ask(service, 'other')).then(note('other'));
    await finishAll();
    await first;
    place.pass();
    expect(service.queuePosition('many')).toMatchObject({ position: 1 });
    const second = fold(place.generate(plainRequest('Hello', 10))).then(note('second'));
    await finishAll();
    await Promise.all([other, second]);
    expect(order).toEqual(['first', 'other', 'second']);
    place.release();
  });

  test('stay together without it', async () => {
    const { service, finishAll } = world();
    const order: string[] = [];
    const place = reserve(service, 'many');
    const other = fold(ask(service, 'other')).then(() => order.push('other'));
    for (const name of ['first', 'second']) {
      const reply = fold(place.generate(plainRequest('Hello', 10))).then(() => order.push(name));
      await finishAll();
      await reply;
    }
    place.release();
    await finishAll();
    await other;
    expect(order).toEqual(['first', 'second', 'other']);
  });

  test('can be stopped by key while they wait for another turn', async () => {
    const { service, step, finishAll } = world();
    const place = reserve(service, 'many');
    const first = fold(place.generate(plainRequest('Hello', 10)));
    const other = fold(ask(service, 'other'));
    await step();
    await step();
    await step();
    await step();
    await first;
    place.pass();
    const second = fold(place.generate(plainRequest('Hello', 10)));
    expect(service.abort('many')).toBe('pending');
    expect((await second).reason).toBe('aborted');
    place.release();
    await finishAll();
    expect((await other).text).toBe('abc');
  });
});

describe('text service: paused request', () => {
  const reserve = (service: TextService, client: string, signal = new AbortController().signal) =>
    service.reserve({ genkey: client, client, signal }, plainRequest('', 1));
  const once = async ({ service, finishAll }: ReturnType<typeof world>, client: string) => {
    const place = reserve(service, client);
    const reply = fold(place.generate(plainRequest('Hello', 10)));
    await finishAll();
    await reply;
    return place;
  };

  test('leaves the engine to waiting and new requests', async () => {
    const own = world();
    const place = await once(own, 'away');
    const waiting = fold(ask(own.service, 'waiting'));
    place.rest();
    const coming = fold(ask(own.service, 'coming'));
    await own.finishAll();
    expect([(await waiting).text, (await coming).text]).toEqual(['abc', 'abc']);
    place.release();
  });

  test('gets its next turn after waiting requests when it resumes', async () => {
    const own = world();
    const place = await once(own, 'away');
    place.rest();
    const other = fold(ask(own.service, 'other')).then(() => 'other');
    await later();
    const back = fold(place.generate(plainRequest('Hello', 10))).then(() => 'back');
    expect(own.service.queuePosition('away')).toMatchObject({ position: 1 });
    const first = Promise.race([other, back]);
    await own.finishAll();
    await own.finishAll();
    expect([await first, await back]).toEqual(['other', 'back']);
    place.release();
  });

  test('starts at once when it resumes without waiting requests', async () => {
    const own = world();
    const place = await once(own, 'away');
    place.rest();
    const back = fold(place.generate(plainRequest('Hello', 10)));
    await own.finishAll();
    expect((await back).text).toBe('abc');
    place.release();
    expect(own.service.performance().idle).toBe(true);
  });

  test('keeps its place: it is never rejected, and no other request gets it', async () => {
    const own = world(undefined, { places: 2 });
    const place = await once(own, 'away');
    place.rest();
    const other = fold(ask(own.service, 'other'));
    expect(() => ask(own.service, 'third')).toThrow('busy');
    const back = fold(place.generate(plainRequest('Hello', 10)));
    await own.finishAll();
    await own.finishAll();
    expect([(await other).text, (await back).text]).toEqual(['abc', 'abc']);
    place.release();
  });

  test.each([
    ['its key', (service: TextService) => void service.abort('away')],
    ['its client', (_: TextService, client: AbortController) => client.abort()],
  ])('is aborted by %s, and starts nothing more', async (_, end) => {
    const own = world();
    const client = new AbortController();
    const place = reserve(own.service, 'away', client.signal);
    const reply = fold(place.generate(plainRequest('Hello', 10)));
    await own.finishAll();
    await reply;
    place.rest();
    expect(place.stopped.aborted).toBe(false);
    end(own.service, client);
    expect(place.stopped.aborted).toBe(true);
    expect((await fold(place.generate(plainRequest('Hello', 10)))).reason).toBe('aborted');
    place.release();
  });

  test('can be released while paused', async () => {
    const own = world(undefined, { places: 1 });
    const place = await once(own, 'away');
    place.rest();
    place.release();
    const next = fold(ask(own.service, 'next'));
    await own.finishAll();
    expect((await next).text).toBe('abc');
  });
});

test('text service: free capacity excludes running and waiting requests', () => {
  const { service } = world(undefined, { capacity: 3 });
  const traits = plainRequest('', 1);
  expect(service.room(traits)).toBe(3);
  ask(service, 'one');
  expect(service.room(traits)).toBe(2);
  const { service: single } = world();
  expect(single.room(traits)).toBe(1);
  ask(single, 'one');
  expect(single.room(traits)).toBe(0);
});

test('text service: work without a prompt is queued, observed and stopped like any other', async () => {
  const { service, engine } = world();
  const stopped = vi.fn();
  const context = { genkey: 'K', client: 'me', signal: new AbortController().signal };
  const reservation = service.reserve(context, plainRequest('', 1));
  const asked: unknown[] = [];
  const events = reservation.generate(plainRequest('shown', 5), (used, seed, sink) => {
    asked.push(used, seed);
    sink.event({ type: 'start', promptTokens: 0, cachedTokens: 0, maxTokens: 5, seed });
    sink.event({ type: 'text-delta', text: 'told' });
    return { abort: stopped };
  });
  await later();
  expect(asked).toEqual([engine, 77]);
  expect(engine.begun).toBe(0);
  expect(service.check('K')).toBe('told');
  expect(service.abort('K')).toBe('stopped');
  expect(stopped).toHaveBeenCalledOnce();
  reservation.release();
  expect(events).toBeDefined();
});

test('text service: pauses an engine whose events are not read, and resumes it once they are', async () => {
  const calls: string[] = [];
  const { engine, service } = world();
  let emit: (event: GenerationEvent) => void = () => undefined;
  vi.spyOn(engine, 'generate').mockImplementation((_request, _seed, sink) => {
    emit = (event) => sink.event(event);
    return { abort: () => undefined, pause: () => calls.push('pause'), resume: () => calls.push('resume') };
  });
  const events = ask(service)[Symbol.asyncIterator]();
  await later();
  emit({ type: 'start', promptTokens: 0, cachedTokens: 0, maxTokens: 1000, seed: 1 });
  for (let piece = 0; piece < 254; piece += 1) emit({ type: 'text-delta', text: 'x' });
  expect(calls).toEqual([]);
  emit({ type: 'text-delta', text: 'x' });
  expect(calls).toEqual(['pause']);
  for (let event = 0; event < 255; event += 1) await events.next();
  expect(calls).toEqual(['pause']);
  await events.next();
  await later();
  expect(calls).toEqual(['pause', 'resume']);
});

test('text service: the context of a request knows how far its prompt is processed, until the first text', async () => {
  let sink: GenerationSink | undefined;
  const engine: TextEngine = {
    ...fakeEngine({ script: () => ({ pieces: [] }), pace: () => undefined }),
    state: () => ({ type: 'ready', model: {} as never }),
    contextSize: () => 100,
    generate: (_request, _seed, own) => {
      sink = own;
      return { abort: () => undefined };
    },
  };
  const service = textService({
    source: fixedTextSource(engine),
    requestQueue: new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 10 }), () => 0),
    randomSeed: () => 1,
  });
  let reading: () => object | undefined = () => undefined;
  const context = { genkey: '', client: 'me', signal: new AbortController().signal };
  const placed = (_: unknown, own: () => object | undefined = reading): void => {
    reading = own;
  };
  const reply = fold(service.generate(plainRequest('Hi', 9), { ...context, onQueued: placed }));
  expect(reading()).toBeUndefined();
  await later();
  expect(reading()).toEqual({ done: 0, total: 0 });
  sink?.event({ ...emptyStart(9, 1), promptTokens: 22, cachedTokens: 2 });
  expect(reading()).toEqual({ done: 0, total: 20 });
  sink?.promptProgress?.({ done: 5, total: 20 });
  sink?.event({ type: 'warning', code: 'w', text: 'W.' });
  expect(reading()).toEqual({ done: 5, total: 20 });
  sink?.event({ type: 'text-delta', text: 'a' });
  expect(reading()).toBeUndefined();
  sink?.event({ type: 'error', error: new AppError('stopping', {}) });
  await expect(reply).rejects.toThrow();
});

test('text service: the events of a request tell how far its prompt is processed only if it asks for it', async () => {
  const read = async (reportsProgress: boolean) => {
    const asked: unknown[] = [];
    const engine: TextEngine = {
      ...fakeEngine({ script: () => ({ pieces: [] }), pace: () => undefined }),
      state: () => ({ type: 'ready', model: {} as never }),
      contextSize: () => 100,
      generate: (_request, _seed, sink) => {
        asked.push(sink.reportsProgress);
        queueMicrotask(() => {
          sink.event({ ...emptyStart(9, 1), promptTokens: 22, cachedTokens: 2 });
          sink.promptProgress?.({ done: 5, total: 20 });
          sink.event({ type: 'text-delta', text: 'a' });
          sink.event({ type: 'error', error: new AppError('stopping', {}) });
        });
        return { abort: () => undefined };
      },
    };
    const service = textService({
      source: fixedTextSource(engine),
      requestQueue: new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 10 }), () => 0),
      randomSeed: () => 1,
    });
    const context = { genkey: '', client: 'me', signal: new AbortController().signal };
    const request = { ...plainRequest('Hi', 9), ...(reportsProgress && { reportsProgress }) };
    return { events: await collect(service.generate(request, context)), asked };
  };
  const asking = await read(true);
  expect(asking.events.map(({ type }) => type)).toEqual(['start', 'prompt-progress', 'text-delta', 'error']);
  expect(asking.events[1]).toEqual({ type: 'prompt-progress', done: 5, total: 20 });
  expect(asking.asked).toEqual([true]);
  const other = await read(false);
  expect(other.events.map(({ type }) => type)).toEqual(['start', 'text-delta', 'error']);
});
