import { expect, test } from 'vitest';
import { Queue, textWork } from './queue.ts';
import { RequestQueue } from './request-queue.ts';

const requestQueue = (now = () => 0) => new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 3 }), now);

test('admit: numbers requests of all kinds from one on', () => {
  const shared = requestQueue();
  const context = { genkey: '', client: '', signal: new AbortController().signal };
  const number = () => shared.admit(context, { work: textWork, lane: '', abort: () => {} }).job.number;
  expect([number(), number(), number()]).toEqual([1, 2, 3]);
});

test('admit: aborts a request whose client is gone already', () => {
  const stopped: string[] = [];
  const context = { genkey: '', client: '', signal: AbortSignal.abort() };
  requestQueue().admit(context, { work: textWork, lane: '', abort: (_, by) => stopped.push(by) });
  expect(stopped).toEqual(['client-gone']);
});

test('RequestQueue: all services share one queue, one job list and one log', () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 3 });
  const shared = new RequestQueue(queue, () => 0);
  expect([shared.queue, shared.jobs, shared.log]).toEqual([queue, shared.jobs, shared.log]);
  expect(shared.jobs).not.toBe(requestQueue().jobs);
});

test('RequestQueue: the log uses the clock of the queue', () => {
  let now = 1000;
  const shared = requestQueue(() => now);
  const figures = { waiting: 0, running: 0, estimateSeconds: 0 };
  now = 4000;
  expect(shared.log.report(figures)).toMatchObject({ uptimeSeconds: 3 });
});
