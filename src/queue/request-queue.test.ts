import { expect, test } from 'vitest';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';

const requestQueue = (now = () => 0) => new RequestQueue(new Queue({ capacity: 1, places: () => 3 }), now);

test('numbers all that comes, whoever serves it, from one on and none twice', () => {
  const shared = requestQueue();
  expect([shared.nextNumber(), shared.nextNumber(), shared.nextNumber()]).toEqual([1, 2, 3]);
  expect(requestQueue().nextNumber()).toBe(1);
});

test('has one queue, one register of requests and one log for all who work at it', () => {
  const queue = new Queue({ capacity: 1, places: () => 3 });
  const shared = new RequestQueue(queue, () => 0);
  expect([shared.queue, shared.jobs, shared.log]).toEqual([queue, shared.jobs, shared.log]);
  expect(shared.jobs).not.toBe(requestQueue().jobs);
});

test('its log reads the clock of the requestQueue', () => {
  let now = 1000;
  const shared = requestQueue(() => now);
  const figures = { waiting: 0, running: 0, estimateSeconds: 0 };
  now = 4000;
  expect(shared.log.report(figures)).toMatchObject({ uptimeSeconds: 3 });
});
