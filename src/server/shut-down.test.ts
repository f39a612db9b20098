import { describe, expect, test } from 'vitest';
import { latch } from '../http/testing/world.ts';
import { shutDown } from './shut-down.ts';

/** A server with so many running requests; `answer` lets them finish, and a wait is over when `pass` is called with it. */
function world({ running = 2, timeoutSeconds = 8 } = {}) {
  const seen: string[] = [];
  const answered = latch();
  const waits = new Map<number, () => void>();
  const server = {
    running,
    drain: () => {
      seen.push('drain');
      return answered.promise;
    },
    close: async () => void seen.push('close'),
  };
  const requestQueue = {
    close: () => void seen.push('close queue'),
    stopAll: () => void seen.push('stop all'),
  };
  const done = shutDown({
    server,
    requestQueue,
    timeoutSeconds,
    log: (line) => seen.push(line),
    wait: (milliseconds) => new Promise((resolve) => waits.set(milliseconds, resolve)),
  });
  const pass = async (milliseconds: number): Promise<void> => {
    while (!waits.has(milliseconds)) await new Promise(setImmediate);
    waits.get(milliseconds)?.();
    waits.delete(milliseconds);
  };
  return { seen, done, pass, answer: () => answered.open() };
}

describe('shutDown', () => {
  test('without running requests: closes at once', async () => {
    const { seen, done, answer } = world();
    answer();
    await done;
    expect(seen).toEqual(['close queue', 'drain', 'close']);
  });

  test('with running requests: says how many, waits for them and closes', async () => {
    const { seen, done, pass, answer } = world();
    await pass(100);
    while (seen.length < 3) await new Promise(setImmediate);
    answer();
    await done;
    const line = '2 requests are finishing, for up to 8 s; press Ctrl+C again to end now.';
    expect(seen).toEqual(['close queue', 'drain', line, 'close']);
  });

  test('one request: is counted in the singular', async () => {
    const { seen, done, pass, answer } = world({ running: 1 });
    await pass(100);
    answer();
    await done;
    expect(seen[2]).toBe('1 request is finishing, for up to 8 s; press Ctrl+C again to end now.');
  });

  test('only WebSockets are open: waits without a line', async () => {
    const { seen, done, pass, answer } = world({ running: 0 });
    await pass(100);
    answer();
    await done;
    expect(seen).toEqual(['close queue', 'drain', 'close']);
  });

  test('after the time-out: stops what runs, leaves time for its last events, and closes', async () => {
    const { seen, done, pass } = world();
    await pass(100);
    await pass(7900);
    await pass(1000);
    await done;
    expect(seen.slice(3)).toEqual(['stop all', 'close']);
  });

  test('a time-out of 0: closes at once', async () => {
    const { seen, done } = world({ timeoutSeconds: 0 });
    await done;
    expect(seen).toEqual(['close queue', 'drain', 'close']);
  });
});
