import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { opened, patientReply } from './patience.ts';
import type { StartTimer } from './timers.ts';

/** A test double: time passes when the test says so. */
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

test('an answer in time is an ordinary one, and no timer is left behind', async () => {
  const { startTimer, waiting } = clock();
  expect(await patientReply(Promise.resolve('{}'), failure, startTimer)).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(waiting()).toBe(0);
});

test('a failure in time keeps its status', async () => {
  await expect(patientReply(Promise.reject(lost), failure, clock().startTimer)).rejects.toBe(lost);
});

test.each([
  ['answer', (late: PromiseWithResolvers) => late.resolve('{}'), '{}'],
  ['failure', (late: PromiseWithResolvers) => late.reject(new Error('lost')), 'failed: lost'],
])('a late %s comes after padding', async (_, settle, last) => {
  const { startTimer, pass } = clock();
  const late = withResolvers();
  const coming = patientReply(late.promise, failure, startTimer);
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

test('an error before anything else is thrown, and the source is closed', async () => {
  let closed = false;
  async function* events(): AsyncGenerator<GenerationEvent> {
    try {
      yield { type: 'error', error: lost };
    } finally {
      closed = true;
    }
  }
  await expect(opened(events(), clock().startTimer)).rejects.toBe(lost);
  expect(closed).toBe(true);
});

test('nothing is lost of a stream that was opened, in time or late', async () => {
  const late = withResolvers();
  async function* events(): AsyncGenerator<GenerationEvent> {
    await late.promise;
    yield text;
    yield { type: 'error', error: lost };
  }
  const { startTimer, pass } = clock();
  const coming = opened(events(), startTimer);
  pass();
  const { events: stream, first } = await coming;
  expect(first).toBeUndefined();
  late.resolve('');
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  expect(types).toEqual(['text-delta', 'error']);
});

test('the first event is known beforehand when it came in time, and still comes', async () => {
  async function* events(): AsyncGenerator<GenerationEvent> {
    yield text;
  }
  const { events: stream, first } = await opened(events(), clock().startTimer);
  const all: GenerationEvent[] = [];
  for await (const event of stream) all.push(event);
  expect({ first, all }).toEqual({ first: text, all: [text] });
  const nothing = (async function* (): AsyncGenerator<GenerationEvent> {})();
  expect((await opened(nothing, clock().startTimer)).first).toBeUndefined();
});

test('a reader that leaves closes the source', async () => {
  let closed = false;
  async function* events(): AsyncGenerator<GenerationEvent> {
    try {
      yield text;
      yield text;
    } finally {
      closed = true;
    }
  }
  const { events: stream } = await opened(events(), clock().startTimer);
  for await (const _ of stream) break;
  expect(closed).toBe(true);
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
