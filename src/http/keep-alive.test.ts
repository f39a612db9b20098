import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { PromptProgress, QueueStatus } from '../core/request.ts';
import type { StartTimer } from '../core/timers.ts';
import {
  awaitFirstEvent,
  paddedReply,
  queueStatusComment,
  queueStatusComments,
  statusAndProgressComments,
} from './keep-alive.ts';

/** A clock that the test advances. */
function clock(): { readonly startTimer: StartTimer; readonly pass: () => void; readonly waiting: () => number } {
  const timers = new Set<() => void>();
  const startTimer: StartTimer = (_, passed) => {
    timers.add(passed);
    return { restart: () => timers.add(passed), cancel: () => void timers.delete(passed) };
  };
  const pass = (): void => {
    for (const passed of [...timers]) passed();
  };
  return { startTimer, waiting: () => timers.size, pass };
}

const failure = (error: unknown) => `failed: ${(error as Error).message}`;
const lost = new AppError('engine-lost', { capability: 'text' });
const text: GenerationEvent = { type: 'text-delta', text: 'a' };

test('paddedReply: a reply in time has no padding and leaves no timer', async () => {
  const { startTimer, waiting } = clock();
  expect(await paddedReply(Promise.resolve('{}'), failure, startTimer)).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(waiting()).toBe(0);
});

test('paddedReply: an error in time keeps its status', async () => {
  await expect(paddedReply(Promise.reject(lost), failure, clock().startTimer)).rejects.toBe(lost);
});

test.each([
  ['answer', (late: PromiseWithResolvers) => late.resolve('{}'), '{}'],
  ['failure', (late: PromiseWithResolvers) => late.reject(new Error('lost')), 'failed: lost'],
])('paddedReply: a late %s comes after padding', async (_, settle, last) => {
  const { startTimer, pass } = clock();
  const late = withResolvers();
  const coming = paddedReply(late.promise, failure, startTimer);
  pass();
  const reply = await coming;
  if (!('stream' in reply)) throw new Error('a stream was expected');
  expect(reply.headers).toMatchObject({ connection: 'close', 'x-accel-buffering': 'no' });
  expect(reply.keepAlive).toEqual({ milliseconds: 15_000, filler: `${' '.repeat(2047)}\n` });
  settle(late);
  const pieces: string[] = [];
  for await (const piece of reply.stream) pieces.push(String(piece));
  expect(pieces).toEqual([`${' '.repeat(2047)}\n`, last]);
});

test('awaitFirstEvent: throws an error before the first event and closes the source', async () => {
  let closed = false;
  async function* events(): AsyncGenerator<GenerationEvent> {
    try {
      yield { type: 'error', error: lost };
    } finally {
      closed = true;
    }
  }
  await expect(awaitFirstEvent(events(), clock().startTimer)).rejects.toBe(lost);
  expect(closed).toBe(true);
});

test('awaitFirstEvent: yields every event, in time or late', async () => {
  const late = withResolvers();
  async function* events(): AsyncGenerator<GenerationEvent> {
    await late.promise;
    yield text;
    yield { type: 'error', error: lost };
  }
  const { startTimer, pass } = clock();
  const coming = awaitFirstEvent(events(), startTimer);
  pass();
  const { events: stream, first } = await coming;
  expect(first).toBeUndefined();
  late.resolve('');
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  expect(types).toEqual(['text-delta', 'error']);
});

test('awaitFirstEvent: reports the first event if it came in time, and still yields it', async () => {
  async function* events(): AsyncGenerator<GenerationEvent> {
    yield text;
  }
  const { events: stream, first } = await awaitFirstEvent(events(), clock().startTimer);
  const all: GenerationEvent[] = [];
  for await (const event of stream) all.push(event);
  expect({ first, all }).toEqual({ first: text, all: [text] });
  const nothing = (async function* (): AsyncGenerator<GenerationEvent> {})();
  expect((await awaitFirstEvent(nothing, clock().startTimer)).first).toBeUndefined();
});

test('awaitFirstEvent: closes the source when the reader stops', async () => {
  let closed = false;
  async function* events(): AsyncGenerator<GenerationEvent> {
    try {
      yield text;
      yield text;
    } finally {
      closed = true;
    }
  }
  const { events: stream } = await awaitFirstEvent(events(), clock().startTimer);
  for await (const _ of stream) break;
  expect(closed).toBe(true);
});

test('awaitFirstEvent: rejects when the queue status throws in its timer', async () => {
  async function* events(): AsyncGenerator<GenerationEvent> {
    await new Promise(() => undefined);
  }
  const timers: (() => void)[] = [];
  const startTimer = (_milliseconds: number, passed: () => void) => {
    timers.push(passed);
    return { restart: () => undefined, cancel: () => undefined };
  };
  const first = awaitFirstEvent(events(), startTimer, () => {
    throw new Error('no status');
  });
  for (const passed of timers.slice(1)) passed();
  await expect(first).rejects.toThrow('no status');
});

interface PromiseWithResolvers {
  readonly promise: Promise<string>;
  readonly resolve: (value: string) => void;
  readonly reject: (error: Error) => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve: (value: string) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<string>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

test('queueStatusComments: reports the position at first and on each change, until the request runs', () => {
  const statuses: (QueueStatus | undefined)[] = [
    { type: 'queued', position: 3, estimateSeconds: 15 },
    { type: 'queued', position: 3, estimateSeconds: 14 },
    { type: 'queued', position: 2, estimateSeconds: 9 },
    { type: 'queued', position: 4, estimateSeconds: 19 },
    undefined,
  ];
  const { next, milliseconds } = queueStatusComments(() => statuses.shift());
  expect([1, 2, 3, 4, 5].map(() => next())).toEqual([
    ': queue position 3, about 15 s\n\n',
    '',
    ': queue position 2, about 9 s\n\n',
    ': queue position 4, about 19 s\n\n',
    undefined,
  ]);
  expect(milliseconds).toBe(1000);
});

describe('statusAndProgressComments', () => {
  const world = (steps: readonly (QueueStatus | PromptProgress | undefined)[], delayed: boolean) => {
    let step = -1;
    const current = () => steps[step];
    const status = queueStatusComments(() => {
      step += 1;
      const now = current();
      return now && 'type' in now ? now : undefined;
    });
    const reading = () => {
      const now = current();
      return now && 'done' in now ? now : undefined;
    };
    const { next } = statusAndProgressComments(status, reading, delayed);
    return steps.map(() => next());
  };

  test('report the queue, then each change of how far the prompt is processed, until the text begins', () => {
    const steps = [
      { type: 'queued', position: 1, estimateSeconds: 5 } as const,
      { done: 0, total: 0 },
      { done: 0, total: 31_000 },
      { done: 0, total: 31_000 },
      { done: 12_400, total: 31_000 },
      undefined,
    ];
    expect(world(steps, false)).toEqual([
      ': queue position 1, about 5 s\n\n',
      '',
      ': reading 0 of 31000 tokens\n\n',
      '',
      ': reading 12400 of 31000 tokens\n\n',
      undefined,
    ]);
  });

  test('delayed: nothing about a prompt that is processed within their interval', () => {
    expect(world([{ done: 0, total: 20 }, undefined], true)).toEqual(['', undefined]);
    expect(
      world(
        [
          { done: 0, total: 20 },
          { done: 8, total: 20 },
        ],
        true,
      ),
    ).toEqual(['', ': reading 8 of 20 tokens\n\n']);
  });
});

describe('queueStatusComments: model load', () => {
  const loading = (progress: number, model = 'mini'): QueueStatus => ({ type: 'loading', model, progress });
  const comments = (...statuses: (QueueStatus | undefined)[]) => {
    let asked = 0;
    const { next } = queueStatusComments(() => statuses[asked++]);
    return Array.from(statuses, () => next());
  };

  test('reports the progress in whole percent, on each change', () => {
    expect(comments(loading(0), loading(0.004), loading(0.419), loading(0.42), loading(0.999), undefined)).toEqual([
      ': loading mini, 0 %\n\n',
      '',
      ': loading mini, 41 %\n\n',
      ': loading mini, 42 %\n\n',
      ': loading mini, 99 %\n\n',
      undefined,
    ]);
  });

  test('reports the load after the queue position', () => {
    expect(
      comments({ type: 'queued', position: 1, estimateSeconds: 4 }, loading(0.01), loading(0.01, 'other')),
    ).toEqual([': queue position 1, about 4 s\n\n', ': loading mini, 1 %\n\n', ': loading other, 1 %\n\n']);
  });

  test('reports lower progress when the load restarts', () => {
    expect(comments(loading(0.8), loading(0))).toEqual([': loading mini, 80 %\n\n', ': loading mini, 0 %\n\n']);
  });

  test.each([
    [-1, 0],
    [0.5, 50],
    [1, 100],
    [7, 100],
  ])('%d is %d %', (progress, percent) => {
    expect(queueStatusComment(loading(progress))).toBe(`: loading mini, ${percent} %\n\n`);
  });

  test('a file name cannot form an SSE frame', () => {
    const comment = queueStatusComment(loading(0, 'a\n\ndata: {"forged":true}\r\nb'));
    expect(comment).toBe(': loading a data: {"forged":true} b, 0 %\n\n');
  });
});
