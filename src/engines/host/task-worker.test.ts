import { expect, test } from 'vitest';
import { maxUnreadBytes, maxWaitMs, ReaderCredit } from './task-worker.ts';

function world() {
  const timers = new Set<{ readonly length: number; readonly passed: () => void }>();
  const stop = new AbortController();
  const credit = new ReaderCredit(stop.signal, (length, passed) => {
    const timer = { length, passed };
    timers.add(timer);
    return { cancel: () => timers.delete(timer) };
  });
  const drained = async () => {
    const waiting = credit.drained().then(
      () => 'room',
      (error: { code: string }) => error.code,
    );
    const now = new Promise<string>((resolve) => setImmediate(() => resolve('waits')));
    return { waiting, first: await Promise.race([waiting, now]) };
  };
  return { credit, stop, timers, drained };
}

test('ReaderCredit: a task whose reader keeps up never waits', async () => {
  const { credit, drained, timers } = world();
  for (let piece = 0; piece < 100; piece++) {
    credit.sent(maxUnreadBytes / 2);
    expect((await drained()).first).toBe('room');
    credit.taken(maxUnreadBytes / 2);
  }
  expect(timers.size).toBe(0);
});

test('ReaderCredit: a task waits while too many bytes are unread, until enough are read', async () => {
  const { credit, drained, timers } = world();
  credit.sent(maxUnreadBytes + 10);
  const { waiting, first } = await drained();
  expect(first).toBe('waits');
  credit.taken(10);
  expect(timers.size).toBe(1);
  credit.taken(1);
  expect(await waiting).toBe('room');
  expect(timers.size).toBe(0);
});

test('ReaderCredit: an abort ends the wait', async () => {
  const { credit, stop, drained, timers } = world();
  credit.sent(maxUnreadBytes);
  const { waiting } = await drained();
  stop.abort();
  expect(await waiting).toBe('room');
  expect(timers.size).toBe(0);
});

test('ReaderCredit: rejects after a reader stalls for a minute', async () => {
  const { credit, drained, timers } = world();
  credit.sent(maxUnreadBytes);
  const { waiting } = await drained();
  const [timer] = timers;
  expect(timer?.length).toBe(maxWaitMs);
  timer?.passed();
  expect(await waiting).toBe('stopped');
});
