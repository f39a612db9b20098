import { expect, test } from 'vitest';
import { workerWorld } from './testing/worker-world.ts';

const prompt = 'abc';
const long = { maxTokens: 12 };

/** The text of a request that nobody disturbs. */
async function undisturbed() {
  const { begin, settled, text } = workerWorld();
  await begin(1, prompt, long);
  await settled();
  return text(1);
}

/** Lets a request write a little. */
async function some(world: ReturnType<typeof workerWorld>, id: number) {
  while (world.text(id).length < 3) await new Promise((resolve) => setImmediate(resolve));
}

test.each([
  ['with a copy of what was computed', 2 ** 30],
  ['computed again where the memory is short', 0],
])(
  'BatchLoop: a held generation leaves its only slot to another one and goes on where it was, %s',
  async (_, availableBytes) => {
    const whole = await undisturbed();
    const world = workerWorld({ availableBytes });
    await world.begin(1, prompt, long);
    await some(world, 1);
    world.loop.hold(1);
    await world.begin(2, 'xyz');
    await world.settled();
    const before = world.text(1);
    expect(before.length).toBeLessThan(whole.length);
    expect(world.pieces(2).at(-1)).toMatchObject({ type: 'finish', cause: 'limit' });
    world.loop.proceed(1);
    await world.settled();
    expect(world.text(1)).toBe(whole);
    expect(world.pieces(1).filter(({ type }) => type === 'start' || type === 'finish')).toMatchObject([
      { type: 'start' },
      { type: 'finish', cause: 'limit', usage: { completionTokens: 12 } },
    ]);
  },
);

test('BatchLoop: a held generation waits until a slot is free', async () => {
  const whole = await undisturbed();
  const world = workerWorld();
  await world.begin(1, prompt, long);
  await some(world, 1);
  world.loop.hold(1);
  await world.begin(2, 'xyz', long);
  world.loop.proceed(1);
  await world.settled();
  expect([world.text(2).length, world.text(1)]).toEqual([12, whole]);
});

test('BatchLoop: several held generations go on in any free sequences', async () => {
  const whole = await undisturbed();
  const world = workerWorld({ sequences: 2 });
  await world.begin(1, prompt, long);
  await world.begin(2, prompt, long);
  await some(world, 2);
  world.loop.hold(1);
  world.loop.hold(2);
  await world.begin(3, 'xyz', { maxTokens: 30 });
  await some(world, 3);
  world.loop.proceed(2);
  world.loop.proceed(1);
  await world.settled();
  expect([world.text(1), world.text(2)]).toEqual([whole, whole]);
});

test('BatchLoop: a held generation that is aborted ends, and leaves the slot of the other one alone', async () => {
  const other = await (async () => {
    const { begin, settled, text } = workerWorld();
    await begin(2, 'xyz', long);
    await settled();
    return text(2);
  })();
  const world = workerWorld();
  await world.begin(1, prompt, long);
  await some(world, 1);
  world.loop.hold(1);
  await world.begin(2, 'xyz', long);
  await some(world, 2);
  world.abort(1);
  await world.settled();
  expect(world.pieces(1).at(-1)).toMatchObject({ type: 'finish', cause: 'aborted' });
  expect(world.text(2)).toBe(other);
  expect(world.slots.every(({ busy }) => !busy)).toBe(true);
});

test('BatchLoop: a generation that cannot leave its slot is aborted when it is to be held', async () => {
  const world = workerWorld();
  await world.begin(1, prompt, { ...long, promptLogprobs: 1 });
  await some(world, 1);
  world.loop.hold(1);
  await world.begin(2, 'xyz');
  await world.settled();
  expect(world.pieces(1).at(-1)).toMatchObject({ type: 'finish', cause: 'aborted' });
  expect(world.pieces(2).at(-1)).toMatchObject({ type: 'finish', cause: 'limit' });
});
