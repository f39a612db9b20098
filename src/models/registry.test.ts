import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { type FakeLife, house, quiet } from './testing/registry.ts';

const failure = async (work: Promise<unknown>): Promise<AppError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error(`not refused: ${String(error)}`);
  return error;
};

describe('using', () => {
  test('what is not there is loaded, and used at once the next time', async () => {
    const { registry, log, lives } = house({ a: {} });
    expect(registry.state('text', 'a')).toEqual({ type: 'unloaded' });
    const use = await registry.use('text', 'a');
    expect(use.lifecycle).toBe(lives[0]);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    use.release();
    (await registry.use('text', 'a')).release();
    expect(log).toEqual(['loading a', 'loaded a']);
    expect(lives).toHaveLength(1);
  });

  test('a name that nobody has is refused by name', async () => {
    const { registry } = house({ a: {} });
    expect(await failure(registry.use('text', 'x'))).toMatchObject({
      code: 'model-not-found',
      details: { model: 'x' },
    });
  });

  test('several models are there at once while there is room', async () => {
    const { registry, log } = house({ a: { bytes: 50 }, b: { bytes: 50 } });
    await registry.use('text', 'a');
    await registry.use('text', 'b');
    expect(registry.list().map(({ state }) => state.type)).toEqual(['ready', 'ready']);
    expect(log).toEqual(['loading a', 'loaded a', 'loading b', 'loaded b']);
  });

  test('all who come while it loads are served by one load', async () => {
    const { registry, life, lives } = house({ a: { manual: true } });
    const uses = [registry.use('text', 'a'), registry.use('text', 'a'), registry.use('text', 'a')];
    await quiet();
    expect(registry.state('text', 'a')).toEqual({ type: 'loading', progress: 0 });
    life('a').become({ type: 'ready' });
    await Promise.all(uses);
    expect(lives).toHaveLength(1);
    expect(registry.list()[0]?.inUse).toBe(3);
  });

  test('releasing twice gives back once', async () => {
    const { registry } = house({ a: {} });
    const first = await registry.use('text', 'a');
    await registry.use('text', 'a');
    first.release();
    first.release();
    expect(registry.list()[0]?.inUse).toBe(1);
  });

  test('one that comes back from a crash is waited for', async () => {
    const { registry, life } = house({ a: {} });
    (await registry.use('text', 'a')).release();
    life('a').become({ type: 'loading', progress: 0 });
    let got = false;
    const use = registry.use('text', 'a').then((one) => {
      got = true;
      return one;
    });
    await quiet();
    expect(got).toBe(false);
    life('a').become({ type: 'ready' });
    expect((await use).lifecycle).toBe(life('a'));
  });
});

describe('making room', () => {
  test('the one that was not needed for longest goes', async () => {
    const { registry, log, pass } = house({ a: { bytes: 40 }, b: { bytes: 40 }, c: { bytes: 40 } });
    for (const name of ['a', 'b', 'a']) {
      (await registry.use('text', name)).release();
      await pass(1);
    }
    (await registry.use('text', 'c')).release();
    expect(log).toContain('loading c instead of b');
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    expect(registry.state('text', 'b')).toEqual({ type: 'unloaded' });
  });

  test('who is being served is served to the end, and nobody new is let in meanwhile', async () => {
    const { registry, log, life } = house({ a: { bytes: 80 }, b: { bytes: 80 } });
    const serving = await registry.use('text', 'a');
    const wanted = registry.use('text', 'b');
    await quiet();
    expect(registry.state('text', 'a')).toEqual({ type: 'leaving' });
    expect(life('a').stopped).toBe(false);
    const late = registry.use('text', 'a');
    await quiet();
    expect(log).toEqual(['loading a', 'loaded a', 'loading b instead of a']);
    serving.release();
    (await wanted).release();
    expect(log.slice(3, 5)).toEqual(['left a: room', 'loaded b']);
    // Whoever came for the first one meanwhile has it brought back.
    expect((await late).lifecycle).toBe(life('a'));
    expect(registry.state('text', 'b')).toEqual({ type: 'unloaded' });
  });

  test('nothing is begun before the old one has given everything back', async () => {
    const { registry, life, lives } = house({ a: { bytes: 80 }, b: { bytes: 80 } });
    (await registry.use('text', 'a')).release();
    life('a').slowStop = true;
    const wanted = registry.use('text', 'b');
    await quiet();
    expect(lives).toHaveLength(1);
    life('a').stopNow();
    await wanted;
    expect(lives).toHaveLength(2);
  });

  test('one that has just been granted is not taken away before it is used', async () => {
    const { registry, life } = house({ a: { bytes: 80 }, b: { bytes: 80 } });
    const [a, b] = [registry.use('text', 'a'), registry.use('text', 'b')];
    const use = await a;
    await quiet();
    expect((use.lifecycle as FakeLife).stopped).toBe(false);
    expect(registry.state('text', 'a')).toEqual({ type: 'leaving' });
    use.release();
    expect((await b).lifecycle).toBe(life('b'));
  });

  test('a pinned one stays, and what does not fit beside it is refused with its size', async () => {
    const { registry } = house({ a: { bytes: 80, pinned: true }, b: { bytes: 2 ** 31 } });
    (await registry.use('text', 'a')).release();
    const error = await failure(registry.use('text', 'b'));
    expect(error).toMatchObject({ code: 'model-load-failed', status: 503 });
    expect(error.message).toContain('2.0 GB');
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
  });

  test('what something really took counts more than what its file said', async () => {
    const { registry, log } = house({ a: { bytes: 1, measured: 90 }, b: { bytes: 20 } });
    (await registry.use('text', 'a')).release();
    expect(registry.list()[0]?.bytes).toBe(90);
    (await registry.use('text', 'b')).release();
    expect(log).toContain('loading b instead of a');
  });

  test('as many as --maxmodels says', async () => {
    const { registry, log } = house({ a: {}, b: {} }, { room: { bytes: 100, count: 1 } });
    (await registry.use('text', 'a')).release();
    (await registry.use('text', 'b')).release();
    expect(log).toContain('loading b instead of a');
  });
});

describe('loads that do not compete for memory', () => {
  test('start at once while another one waits for its memory', async () => {
    const { registry } = house({ large: { bytes: 80 }, other: { bytes: 80 }, voice: { bytes: 10 } });
    const serving = await registry.use('text', 'large');
    const waiting = registry.use('text', 'other');
    await quiet();
    (await registry.use('text', 'voice')).release();
    expect(registry.state('text', 'large')).toEqual({ type: 'leaving' });
    serving.release();
    await waiting;
    expect(registry.state('text', 'voice')).toEqual({ type: 'ready' });
  });

  test('are made at the same time', async () => {
    const { registry, life } = house({ a: { bytes: 50, manual: true }, b: { bytes: 50, manual: true } });
    const [a, b] = [registry.use('text', 'a'), registry.use('text', 'b')];
    await quiet();
    life('b').become({ type: 'ready' });
    expect((await b).name).toBe('b');
    life('a').become({ type: 'ready' });
    expect((await a).name).toBe('a');
  });

  test('what is being loaded is not made to go', async () => {
    const { registry, life, log } = house({ a: { bytes: 80, manual: true }, b: { bytes: 80 } });
    const [a, b] = [registry.use('text', 'a'), registry.use('text', 'b')];
    await quiet();
    expect(log).toEqual(['loading a']);
    life('a').become({ type: 'ready' });
    (await a).release();
    expect((await b).name).toBe('b');
  });

  test('one that takes the memory of an earlier one may go before it once, and makes room then', async () => {
    const { registry, log } = house({ large: { bytes: 80 }, whole: { bytes: 100 }, voice: { bytes: 20 } });
    const serving = await registry.use('text', 'large');
    const waiting = registry.use('text', 'whole');
    await quiet();
    (await registry.use('text', 'voice')).release();
    await registry.unload('text', 'voice');
    // Its second time: the one that waits must have its turn.
    const again = registry.use('text', 'voice');
    await quiet();
    expect(log.filter((line) => line === 'loaded voice')).toHaveLength(1);
    serving.release();
    (await waiting).release();
    expect((await again).name).toBe('voice');
  });
});

test('whatever is in memory and leaves, a load that fits beside it starts at once', async () => {
  await assert(
    asyncProperty(
      integer({ min: 1, max: 99 }),
      integer({ min: 1, max: 100 }),
      integer({ min: 1, max: 100 }),
      async (large: number, next: number, small: number) => {
        const { registry } = house({ large: { bytes: large }, next: { bytes: next }, small: { bytes: small } });
        const serving = await registry.use('text', 'large');
        const waiting = registry.use('text', 'next').then((use) => use.release());
        await quiet();
        const taken = large + (large + next <= 100 ? next : 0);
        let there = false;
        const use = registry.use('text', 'small').then((one) => {
          there = true;
          one.release();
        });
        await quiet();
        if (taken + small <= 100) expect(there).toBe(true);
        serving.release();
        await Promise.all([waiting, use]);
      },
    ),
  );
});

describe('failing', () => {
  test('a file that cannot be read fails those who wanted it, and nobody goes for it', async () => {
    const { registry, log } = house({ a: { bytes: 90 }, b: { broken: 'not a model' } });
    (await registry.use('text', 'a')).release();
    expect((await failure(registry.use('text', 'b'))).message).toContain('not a model');
    expect(registry.state('text', 'b')).toEqual({ type: 'failed', reason: 'not a model' });
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    expect(log.at(-1)).toBe('failed b: not a model');
  });

  test('a load that fails leaves nothing behind and may be tried again', async () => {
    const { registry, life, lives } = house({ a: { manual: true } });
    const first = failure(registry.use('text', 'a'));
    await quiet();
    life('a').become({ type: 'failed', reason: 'no memory' });
    expect(await first).toMatchObject({ code: 'model-load-failed', details: { model: 'a', reason: 'no memory' } });
    expect(life('a').stopped).toBe(true);
    expect(registry.list()[0]).toMatchObject({ resident: false, inUse: 0, state: { type: 'failed' } });
    const second = registry.use('text', 'a');
    await quiet();
    life('a').become({ type: 'ready' });
    await second;
    expect(lives).toHaveLength(2);
  });

  test('others who wait are served after a failure', async () => {
    const { registry } = house({ a: { broken: 'bad' }, b: {} });
    const [a, b] = [failure(registry.use('text', 'a')), registry.use('text', 'b')];
    await a;
    expect((await b).name).toBe('b');
  });
});

describe('going away while waiting', () => {
  test('whoever leaves is told so, and what comes for nobody stays for the next', async () => {
    const { registry, life, lives } = house({ a: { manual: true } });
    const stop = new AbortController();
    const use = registry.use('text', 'a', stop.signal);
    await quiet();
    stop.abort(new Error('gone'));
    await expect(use).rejects.toThrow('gone');
    life('a').become({ type: 'ready' });
    await quiet();
    expect(registry.list()[0]).toMatchObject({ inUse: 0, state: { type: 'ready' } });
    await registry.use('text', 'a');
    expect(lives).toHaveLength(1);
  });

  test('who has gone before does not even ask', async () => {
    const { registry, lives } = house({ a: {} });
    await expect(registry.use('text', 'a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(lives).toHaveLength(0);
  });

  test('who goes while a crash is mended leaves nothing in use', async () => {
    const { registry, life } = house({ a: {} });
    (await registry.use('text', 'a')).release();
    life('a').become({ type: 'loading', progress: 0 });
    const stop = new AbortController();
    const use = registry.use('text', 'a', stop.signal);
    await quiet();
    stop.abort(new Error('gone'));
    await expect(use).rejects.toThrow('gone');
    expect(registry.list()[0]?.inUse).toBe(0);
  });
});

describe('staying and going', () => {
  test('a spec may say that it stays for less long than is usual, and never makes it longer', async () => {
    const { registry, pass } = house({ short: { keepMs: 50 }, long: { keepMs: 500 } }, { keepMs: 100 });
    await registry.load('text', 'short');
    await registry.load('text', 'long');
    await pass(50);
    expect([registry.state('text', 'short')?.type, registry.state('text', 'long')?.type]).toEqual([
      'unloaded',
      'ready',
    ]);
    await pass(50);
    expect(registry.state('text', 'long')?.type).toBe('unloaded');
  });

  test('what nobody needs goes after its time, and comes back', async () => {
    const { registry, log, pass } = house({ a: {} }, { keepMs: 100 });
    (await registry.use('text', 'a')).release();
    await pass(99);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    await pass(1);
    expect(registry.state('text', 'a')).toEqual({ type: 'unloaded' });
    (await registry.use('text', 'a')).release();
    expect(log).toEqual(['loading a', 'loaded a', 'left a: idle', 'loading a', 'loaded a']);
  });

  test('each use begins the time anew, and it does not run while somebody is served', async () => {
    const { registry, pass } = house({ a: {} }, { keepMs: 100 });
    const use = await registry.use('text', 'a');
    await pass(1000);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    use.release();
    expect(registry.list()[0]?.expiresAt).toBe(1100);
    await pass(60);
    (await registry.use('text', 'a')).release();
    await pass(60);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
  });

  test('a wish to let go at once is fulfilled when its work is over, and overtaken by somebody who comes', async () => {
    const { registry, pass } = house({ a: {} });
    const use = await registry.use('text', 'a');
    registry.keepFor('text', 'a', 0);
    await pass(0);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    const second = await registry.use('text', 'a');
    use.release();
    second.release();
    await pass(10_000);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
    registry.keepFor('text', 'a', 0);
    await pass(0);
    expect(registry.state('text', 'a')).toEqual({ type: 'unloaded' });
  });

  test('a wish holds for this load only', async () => {
    const { registry, pass } = house({ a: {} });
    (await registry.use('text', 'a')).release();
    registry.keepFor('text', 'a', 50);
    await pass(50);
    (await registry.use('text', 'a')).release();
    await pass(10_000);
    expect(registry.state('text', 'a')).toEqual({ type: 'ready' });
  });

  test('unloading waits for those who are served, and is at once where nobody is', async () => {
    const { registry, log } = house({ a: {} });
    await registry.unload('text', 'a');
    const use = await registry.use('text', 'a');
    const unloaded = registry.unload('text', 'a');
    await quiet();
    expect(registry.state('text', 'a')).toEqual({ type: 'leaving' });
    use.release();
    await unloaded;
    expect(log.at(-1)).toBe('left a: asked');
    expect(registry.peek('text', 'a')).toBeUndefined();
  });

  test('unloading what is still being loaded ends that', async () => {
    const { registry, life } = house({ a: { manual: true } });
    const use = failure(registry.use('text', 'a'));
    await quiet();
    await registry.unload('text', 'a');
    expect((await use).message).toContain('unloaded while it was being loaded');
    expect(life('a').stopped).toBe(true);
    expect(registry.list()[0]?.resident).toBe(false);
  });

  test('loading ahead uses nothing', async () => {
    const { registry } = house({ a: {} });
    await registry.load('text', 'a');
    expect(registry.list()[0]).toMatchObject({ state: { type: 'ready' }, inUse: 0 });
  });
});

describe('Registry.remove', () => {
  test('the spec is gone at once, and the model when its requests are finished', async () => {
    const { registry, lives } = house({ a: {}, b: {} });
    const use = await registry.use('text', 'a');
    (await registry.use('text', 'b')).release();
    const removed = registry.remove('text', 'a');
    await quiet();
    expect(registry.list().map(({ name, state }) => [name, state.type])).toEqual([['b', 'ready']]);
    expect(lives[0]?.stopped).toBe(false);
    use.release();
    await removed;
    expect(lives[0]?.stopped).toBe(true);
  });

  test('rejects requests that wait for its load', async () => {
    const { registry } = house({ a: { manual: true } });
    const waiting = failure(registry.use('text', 'a'));
    await quiet();
    await registry.remove('text', 'a');
    expect((await waiting).code).toBe('model-not-found');
  });

  test('resolves at once for an unknown model', async () => {
    const { registry } = house({ a: {} });
    await registry.remove('text', 'x');
    expect(registry.list()).toHaveLength(1);
  });
});

test('closing ends everything without waiting for anybody', async () => {
  const { registry, lives, life } = house({ a: {}, b: { manual: true } });
  await registry.use('text', 'a');
  const waiting = failure(registry.use('text', 'b'));
  await quiet();
  await registry.close();
  expect(lives.every(({ stopped }) => stopped)).toBe(true);
  expect((await waiting).message).toContain('the server is ending');
  expect(life('b').stopped).toBe(true);
  expect((await failure(registry.use('text', 'a'))).code).toBe('model-not-found');
});

test('for any order of uses, releases and idle times: never too many at once, nobody is forgotten, nothing is left over', async () => {
  const step = record({
    what: constantFrom('use', 'release', 'pass', 'unload'),
    which: constantFrom('a', 'b', 'c', 'd'),
    time: integer({ min: 0, max: 80 }),
  });
  await assert(
    asyncProperty(
      array(step, { maxLength: 60 }),
      async (steps: readonly { what: string; which: string; time: number }[]) => {
        const { registry, lives, pass } = house(
          { a: { bytes: 40 }, b: { bytes: 40 }, c: { bytes: 60 }, d: { bytes: 90 } },
          { keepMs: 50 },
        );
        const held: { release(): void }[] = [];
        const open = new Set<Promise<unknown>>();
        for (const { what, which, time } of steps) {
          if (what === 'use') {
            const use = registry.use('text', which).then((one) => held.push(one));
            open.add(use);
            void use.finally(() => open.delete(use));
          } else if (what === 'release') held.shift()?.release();
          else if (what === 'unload') void registry.unload('text', which);
          else await pass(time);
          await quiet();
          const present = registry.list().filter(({ resident }) => resident);
          expect(present.reduce((sum, { bytes = 0 }) => sum + bytes, 0)).toBeLessThanOrEqual(100);
        }
        for (let round = 0; round < 200 && (open.size > 0 || held.length > 0); round += 1) {
          held.shift()?.release();
          await quiet();
        }
        expect(open.size).toBe(0);
        await pass(50);
        expect(registry.list().every(({ inUse, resident }) => inUse === 0 && !resident)).toBe(true);
        expect(lives.every(({ stopped }) => stopped)).toBe(true);
      },
    ),
    { numRuns: 200 },
  );
});
