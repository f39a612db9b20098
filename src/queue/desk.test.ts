import { expect, test } from 'vitest';
import { Desk } from './desk.ts';
import { Queue } from './queue.ts';

const desk = (now = () => 0) => new Desk(new Queue({ capacity: 1, places: () => 3 }), now);

test('numbers all that comes, whoever serves it, from one on and none twice', () => {
  const shared = desk();
  expect([shared.nextNumber(), shared.nextNumber(), shared.nextNumber()]).toEqual([1, 2, 3]);
  expect(desk().nextNumber()).toBe(1);
});

test('has one queue, one register of requests and one log for all who work at it', () => {
  const queue = new Queue({ capacity: 1, places: () => 3 });
  const shared = new Desk(queue, () => 0);
  expect([shared.queue, shared.jobs, shared.log]).toEqual([queue, shared.jobs, shared.log]);
  expect(shared.jobs).not.toBe(desk().jobs);
});

test('its log reads the clock of the desk', () => {
  let now = 1000;
  const shared = desk(() => now);
  const figures = { waiting: 0, running: 0, estimateSeconds: 0 };
  now = 4000;
  expect(shared.log.report(figures)).toMatchObject({ uptimeSeconds: 3 });
});
