import { expect, test } from 'vitest';
import { BodyBudget } from './body-budget.ts';
import { ask, echo, endpoint, latch, serve, wire } from './testing/world.ts';

test('BodyBudget: refuses what exceeds the limit together, and takes it after a release', () => {
  const budget = new BodyBudget(100);
  const [first, second] = [budget.open(), budget.open()];
  expect([first.take(60), second.take(30), second.take(20)]).toEqual([true, true, false]);
  first.release();
  expect(second.take(70)).toBe(true);
});

test('BodyBudget: a body that is alone may exceed the limit, and a share is released once', () => {
  const budget = new BodyBudget(100);
  const alone = budget.open();
  expect([alone.take(90), alone.take(90)]).toEqual([true, true]);
  const next = budget.open();
  expect(next.take(1)).toBe(false);
  alone.release();
  alone.release();
  expect([next.take(50), budget.open().take(51)]).toEqual([true, false]);
});

test('HTTP server: a body that exceeds the budget of all bodies gets 503, and is accepted when the others are done', async () => {
  const [started, gate] = [latch(), latch()];
  const waiting = endpoint(async (call) => {
    started.open();
    await gate.promise;
    return echo.handle(call);
  });
  const other = { ...echo, path: '/other' };
  const served = await serve([waiting, other], { bodyBudgetBytes: 1000 });
  const head = 'POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 800\r\n\r\n';
  const first = wire(served).send(`${head}${'x'.repeat(800)}`);
  await started.promise;
  const post = { method: 'POST', path: '/other', body: 'y'.repeat(400) } as const;
  expect((await ask(served, post)).status).toBe(503);
  gate.open();
  await first.until('200 OK');
  await expect.poll(async () => (await ask(served, post)).status).toBe(200);
});
