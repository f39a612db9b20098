import { describe, expect, test, vi } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { AppError } from '../core/errors.ts';
import { equalName, sameName } from '../core/model-names.ts';
import { handTimer, latch } from '../http/testing/world.ts';
import type { Lifecycle, LifecycleState, ModelSpec } from './lifecycle.ts';
import type { ModelOffer, Selected } from './model-instance.ts';
import type { PreparedModel } from './prepared-model.ts';
import { Registry } from './registry.ts';
import type { Arrival } from './registry-source.ts';
import { ModelRouter, type RouterDeps } from './router.ts';
import { quiet } from './testing/registry.ts';

interface Fake {
  /** Reason for which its load fails. */
  broken?: string;
  /** Path of its file, if it does not follow from the name. */
  path?: string;
  nickname?: string;
  /** No file at all: a server without a model. */
  none?: boolean;
  /** No context can be made for it. */
  unfit?: string;
}

const working: { queued: boolean; modelSelection?: 'own-name' | 'any-name' | 'known-name' } = { queued: true };
const looking = { queued: false };

interface Named {
  readonly name: string;
}

/** A router with fake models; `files` are offered by name. */
function world(first: string, files?: Record<string, Fake>, own: Partial<RouterDeps<Named>> = {}) {
  const log: string[] = [];
  const fakes: Record<string, Fake> = { ...files };
  const model = (name: string, fake: Fake = fakes[name] ?? {}): PreparedModel => {
    const path = fake.path ?? `/models/${name}.gguf`;
    const settings = { ...defaultSettings, hordemodelname: fake.nickname ?? '' };
    const file = fake.none ? undefined : { path, shape: {}, chatTemplate: undefined };
    const known = () => undefined;
    return {
      name,
      settings,
      given: new Set(),
      file,
      known,
      spec: spec(name, fake, log),
      taskModels: { embedding: { spec: { name: 'beside', kind: 'embedding' }, given: false } },
    } as unknown as PreparedModel;
  };
  const initial = model(first);
  const registry = new Registry({
    memoryBudget: () => ({ bytes: Number.POSITIVE_INFINITY, count: Number.POSITIVE_INFINITY }),
    startTimer: () => ({ cancel: () => undefined }),
    now: () => 0,
    defaultKeepMs: () => Number.POSITIVE_INFINITY,
  });
  if (initial.file) registry.add(initial.spec);
  const arrivals = new Map<string, Arrival>();
  const contextOf = ({ name }: PreparedModel, arrival?: Arrival): Named => {
    const unfit = fakes[name]?.unfit;
    if (unfit) throw new Error(unfit);
    log.push(`open ${name}`);
    if (arrival) arrivals.set(name, arrival);
    return { name };
  };
  const time = handTimer();
  const timeout = { seconds: 7, startTimer: time.startTimer };
  let holding: Promise<void> | undefined;
  const offers = async (): Promise<readonly ModelOffer[]> =>
    Object.keys(files ?? {}).map((name) => ({
      names: [name, `${name}.gguf`],
      path: undefined,
      prepare: async () => {
        log.push(`prepare ${name}`);
        await holding;
        return model(name);
      },
    }));
  const router = new ModelRouter<Named>(
    { model: initial, context: { name: first } },
    { registry, contextOf, log: (line) => log.push(`say ${line}`), timeout, ...(files ? { offers } : {}), ...own },
  );
  const ask = (
    name?: string,
    endpoint: typeof working = working,
    signal = new AbortController().signal,
  ): Promise<Selected<Named>> => router.resolve(name, endpoint, signal);
  return {
    router,
    registry,
    log,
    fakes,
    model,
    ask,
    time,
    /** The arrival that requests of a model being swapped in wait for. */
    arrival: (name: string) => arrivals.get(name) as Arrival,
    asked: async (name?: string, endpoint = working) => {
      const { context, release } = await ask(name, endpoint);
      release();
      return context.name;
    },
    /** Preparation waits until this is called. */
    hold: () => {
      let release: () => void = () => undefined;
      holding = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}

function spec(name: string, fake: Fake, log: string[]): ModelSpec<never> {
  const make = (): Lifecycle => {
    log.push(`load ${name}`);
    const broken = fake.broken;
    return {
      start: () => undefined,
      stop: async () => void log.push(`stop ${name}`),
      settled: () => Promise.resolve(),
      state: (): LifecycleState => (broken === undefined ? { type: 'ready' } : { type: 'failed', reason: broken }),
    };
  };
  return { name, kind: 'text', need: async () => 1, make: make as () => never };
}

/** Whether the work settles without further events. */
async function ended(work: Promise<unknown>): Promise<boolean> {
  let over = false;
  const note = () => {
    over = true;
  };
  work.then(note, note);
  await quiet();
  return over;
}

describe('ModelRouter.beside', () => {
  test('selects a model by any of its names, and prepares it once', async () => {
    const { router, log } = world('a', { b: {} });
    for (const name of ['b', 'B.gguf', 'b']) {
      const selected = await router.beside(name);
      expect(selected?.context.name).toBe('b');
      selected?.release();
    }
    expect(log).toEqual(['prepare b', 'open b']);
    expect((await router.beside('a'))?.context.name).toBe('a');
  });

  test('an unknown name is an error', async () => {
    const { router } = world('a', { b: {} });
    await expect(router.beside('c')).rejects.toMatchObject({ code: 'model-not-found' });
    expect([await router.knows('c'), await router.knows('b'), await router.knows('a')]).toEqual([false, true, true]);
  });

  test('waits for no swap, which waits for the request that asks', async () => {
    const { router, ask, model } = world('a', { b: {} });
    const running = await ask('a');
    const swap = router.swapTo(model('b'));
    await quiet();
    expect(await router.beside('b')).toBeUndefined();
    expect(await router.beside('a')).toBeUndefined();
    running.release();
    await swap;
    expect((await router.beside('b'))?.context.name).toBe('b');
  });

  test('a swap waits until it is released', async () => {
    const { router, model } = world('a', { b: {}, c: {} });
    const selected = await router.beside('a');
    const swap = router.swapTo(model('c'));
    expect(await ended(swap)).toBe(false);
    selected?.release();
    await swap;
  });

  test('does not wait for a changed file, whose old model is in use', async () => {
    const renewed = async () => async () => model('a');
    const { router, ask, model } = world('a', { b: {} }, { renewed });
    const running = await ask('a');
    void ask('a');
    await quiet();
    expect(await router.beside('a')).toBeUndefined();
    running.release();
  });
});

describe('ModelRouter: task model of the default model', () => {
  test('is selected by its name in the context of the default model', async () => {
    const { asked } = world('a', { b: {} });
    expect(await asked('beside', { queued: true, modelSelection: 'own-name' })).toBe('a');
    expect(await asked('BESIDE:latest', { queued: true, modelSelection: 'own-name' })).toBe('a');
    expect(await asked('b', { queued: true, modelSelection: 'own-name' })).toBe('b');
  });

  test('is not a text model, and other names are rejected', async () => {
    const { ask } = world('a', { b: {} });
    await expect(ask('beside')).rejects.toMatchObject({ code: 'model-not-found' });
    await expect(ask('nobody', { queued: true, modelSelection: 'own-name' })).rejects.toMatchObject({
      code: 'model-not-found',
    });
  });
});

describe('ModelRouter.resolve', () => {
  test('without offers every name selects the default model', async () => {
    const { asked } = world('first');
    expect([await asked(), await asked('first'), await asked('nonsense')]).toEqual(['first', 'first', 'first']);
  });

  test('no name selects the default model, a name selects that model', async () => {
    const { asked } = world('first', { other: {} });
    expect([await asked(), await asked('first'), await asked('other')]).toEqual(['first', 'first', 'other']);
  });

  test.each(['OTHER', 'other:latest', 'koboldcpp/other', ' other ', 'other.gguf'])(
    '%j selects "other"',
    async (name) => {
      expect(await world('first', { other: {} }).asked(name)).toBe('other');
    },
  );

  test('rejects an unknown name', async () => {
    const { ask } = world('first', { other: {} });
    const error = await ask('nobody').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'model-not-found', details: { model: 'nobody' } });
  });

  test('an exact name wins over a similar one', async () => {
    const { asked } = world('first', { 'a.kcpps': {}, a: {} });
    expect([await asked('a'), await asked('a.kcpps'), await asked('a.gguf')]).toEqual(['a', 'a.kcpps', 'a']);
  });

  test('file name and horde name select a model unless another model has that name', async () => {
    const { asked } = world('config', { config: { path: '/models/weights.gguf', nickname: 'Fancy' }, other: {} });
    expect([await asked('weights'), await asked('koboldcpp/fancy')]).toEqual(['config', 'config']);
    const taken = world('config', { config: { path: '/models/other.gguf' }, other: {} });
    expect(await taken.asked('other')).toBe('other');
  });

  test('creates a context once per model', async () => {
    const { asked, log } = world('first', { a: {}, b: {} });
    for (const name of ['a', 'b', 'a', 'b']) await asked(name);
    expect(log).toEqual(['prepare a', 'open a', 'prepare b', 'open b']);
  });

  test('concurrent requests prepare a model once', async () => {
    const { ask, log, hold } = world('first', { other: {} });
    const release = hold();
    const both = [ask('other'), ask('other.gguf')];
    await quiet();
    release();
    const rooms = (await Promise.all(both)).map(({ context }) => context);
    expect(rooms[0]).toBe(rooms[1]);
    expect(log).toEqual(['prepare other', 'open other']);
  });

  test('a failed preparation rejects its requests, and the next request retries', async () => {
    const { router, ask, asked, fakes } = world('first', { other: { unfit: 'no room' } });
    await expect(ask('other')).rejects.toThrow('no room');
    fakes.other = {};
    expect(await asked('other')).toBe('other');
    expect(router.defaultModel.name).toBe('first');
  });

  test('read-only call: a known name selects that model, an unknown one the default', async () => {
    const { asked } = world('first', { other: {} });
    expect([await asked('other', looking), await asked('nobody', looking), await asked(undefined, looking)]).toEqual([
      'other',
      'first',
      'first',
    ]);
  });

  test.each([
    ['other', 'other'],
    ['tts-1', 'first'],
    ['first', 'first'],
  ])('modelSelection any-name: %s selects %s', async (name, expected) => {
    const { ask } = world('first', { other: {} });
    const { context, release } = await ask(name, { queued: true, modelSelection: 'any-name' });
    expect(context.name).toBe(expected);
    release();
  });
});

describe('ModelRouter: the name of whichever model is loaded', () => {
  const warm = (target: () => string) => ({
    alias: (name: string) => (name === 'warm' ? target() : undefined),
    isWarm: (name: string) => name === 'warm',
  });

  test('selects the loaded model, unless a model has this name', async () => {
    expect(
      await world(
        'a',
        { b: {} },
        warm(() => 'b'),
      ).asked('warm'),
    ).toBe('b');
    expect(
      await world(
        'a',
        { b: {}, warm: {} },
        warm(() => 'b'),
      ).asked('warm'),
    ).toBe('warm');
  });

  test('follows a swap of the default model', async () => {
    const { router, ask, asked, model, registry } = world(
      'a',
      { a: {}, b: {} },
      warm(() => 'a'),
    );
    const running = await ask('warm');
    expect(running.context.name).toBe('a');
    const swap = router.swapTo(model('b'));
    expect(await asked('warm')).toBe('b');
    running.release();
    await swap;
    expect(registry.state('text', 'a')).toBeUndefined();
  });
});

describe('ModelRouter.hold', () => {
  test('loads the model and keeps it in use until it is released', async () => {
    const { router, registry } = world('a', { b: {} });
    const { release } = await router.hold('b');
    expect(registry.list().find(({ name }) => name === 'b')).toMatchObject({ state: { type: 'ready' }, inUse: 1 });
    release();
    expect(registry.list().find(({ name }) => name === 'b')?.inUse).toBe(0);
    await expect(router.hold('nobody')).rejects.toMatchObject({ code: 'model-not-found' });
  });
});

describe('ModelRouter.swapTo', () => {
  test('loads the new model and unloads the old one', async () => {
    const { router, asked, model, log, registry } = world('old');
    await registry.load('text', 'old');
    await router.swapTo(model('new'));
    expect([await asked(), router.defaultModel.name]).toEqual(['new', 'new']);
    expect(log).toEqual(['load old', 'open new', 'stop old', 'load new']);
    expect(registry.list().map(({ name }) => name)).toEqual(['new']);
  });

  test('running requests finish first', async () => {
    const { router, ask, model, log } = world('old');
    const inside = [await ask(), await ask()];
    const swap = router.swapTo(model('new'));
    expect(await ended(swap)).toBe(false);
    inside[0]?.release();
    inside[0]?.release();
    expect(await ended(swap)).toBe(false);
    expect(log).not.toContain('load new');
    inside[1]?.release();
    await swap;
    expect(log).toContain('load new');
  });

  test('new requests wait on the new model', async () => {
    const { router, ask, model, arrival, log } = world('old');
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    const newcomer = await ask();
    expect([newcomer.context.name, router.defaultModel.name]).toEqual(['new', 'old']);
    const there = arrival('new').over(undefined);
    expect([await ended(there), arrival('new').begun(), log.includes('load new')]).toEqual([false, false, false]);
    inside.release();
    await swap;
    await there;
    expect([arrival('new').begun(), newcomer.abandoned?.()]).toEqual([true, false]);
    expect((await ask()).context).toBe(newcomer.context);
  });

  test('the next swap starts only after the requests that waited have finished', async () => {
    const { router, ask, model } = world('old');
    const inside = await ask();
    const first = router.swapTo(model('new'));
    const newcomer = await ask();
    inside.release();
    await first;
    const second = router.swapTo(model('newer'));
    expect(await ended(second)).toBe(false);
    newcomer.release();
    await second;
    expect(router.defaultModel.name).toBe('newer');
  });

  test('failed load: rejects waiting requests with the reason and marks them as abandoned', async () => {
    const { router, ask, model, arrival } = world('old');
    const inside = await ask();
    const swap = router.swapTo(model('new', { broken: 'too large' }));
    const newcomer = await ask();
    const there = arrival('new').over(undefined);
    inside.release();
    await expect(there).rejects.toMatchObject({
      code: 'model-load-failed',
      message: expect.stringContaining('too large'),
    });
    expect(newcomer.abandoned?.()).toBe(true);
    // The old model is being restored: new requests wait for it.
    const late = ask();
    await swap;
    expect((await late).context.name).toBe('old');
    expect((await late).abandoned?.()).toBe(false);
  });

  test('an exception during the swap leaves no request waiting', async () => {
    const { router, ask, asked, model, arrival, registry } = world('old');
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    const newcomer = await ask();
    const there = arrival('new').over(undefined);
    vi.spyOn(registry, 'remove').mockRejectedValueOnce(new Error('stuck'));
    inside.release();
    await expect(swap).rejects.toThrow('stuck');
    await expect(there).rejects.toMatchObject({ code: 'internal' });
    expect([newcomer.abandoned?.(), await asked()]).toEqual([true, 'old']);
  });

  test('read-only calls of the model that has left are to be repeated, and wait for the new one then', async () => {
    const { router, ask, model, registry } = world('old');
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    const reading = await ask(undefined, looking);
    const during: unknown[] = [];
    vi.spyOn(registry, 'load').mockImplementationOnce(async () => {
      const late = await ask(undefined, looking);
      during.push(reading.abandoned?.(), late.abandoned?.(), (await ask()).context.name);
    });
    expect(reading.abandoned?.()).toBe(false);
    inside.release();
    reading.release();
    await swap;
    expect(during).toEqual([true, true, 'new']);
    expect([reading.abandoned?.(), (await ask(undefined, looking)).abandoned?.()]).toEqual([true, false]);
  });

  test('does not block read-only calls', async () => {
    const { router, ask, asked, model } = world('old');
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    expect(await asked(undefined, looking)).toBe('old');
    inside.release();
    await swap;
    expect(await asked(undefined, looking)).toBe('new');
  });

  test('a disconnect of a waiting request has no side effects', async () => {
    const { router, ask, asked, model, arrival } = world('old');
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    const gone = new AbortController();
    const newcomer = await ask(undefined, working, gone.signal);
    const there = arrival('new').over(gone.signal);
    gone.abort(new Error('gone'));
    await expect(there).rejects.toThrow('gone');
    await expect(arrival('new').over(AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    newcomer.release();
    inside.release();
    await swap;
    expect(await asked()).toBe('new');
  });

  test('failed load: logs the reason and restores the old model', async () => {
    const { router, asked, model, log, registry } = world('old');
    await router.swapTo(model('new', { broken: 'too large' }));
    expect([await asked(), router.defaultModel.name]).toEqual(['old', 'old']);
    expect(log.filter((line) => line.startsWith('say'))).toEqual([
      expect.stringMatching(/^say new could not be loaded: .*too large.*Going back to old\.$/),
    ]);
    expect(registry.list()).toMatchObject([{ name: 'old', state: { type: 'ready' } }]);
  });

  test('failed restore: logs both, and the next request retries', async () => {
    const old: Fake = {};
    const { router, model, log, registry, asked } = world('first', undefined);
    await router.swapTo(model('old', old));
    old.broken = 'lost';
    await router.swapTo(model('new', { broken: 'too large' }));
    expect(log.at(-1)).toMatch(/^say old could not be loaded again: .*lost/);
    old.broken = undefined as unknown as string;
    expect(await asked()).toBe('old');
    await registry.load('text', 'old');
    expect(registry.state('text', 'old')).toEqual({ type: 'ready' });
  });

  test('a context that cannot be created changes nothing', async () => {
    const { router, asked, model, fakes, log } = world('old');
    fakes.new = { unfit: 'no story' };
    await expect(router.swapTo(model('new'))).rejects.toThrow('no story');
    expect([await asked(), router.defaultModel.name]).toEqual(['old', 'old']);
    expect(log).toEqual([]);
    await router.swapTo(model('other'));
    expect(await asked()).toBe('other');
  });

  test('swaps run in order', async () => {
    const { router, ask, asked, model, log } = world('old');
    const inside = await ask();
    const swaps = ['a', 'b', 'c'].map((name) => router.swapTo(model(name)));
    inside.release();
    await Promise.all(swaps);
    expect(await asked()).toBe('c');
    expect(log.filter((line) => line.startsWith('load'))).toEqual(['load a', 'load b', 'load c']);
  });

  test('to the same name: prepares it again', async () => {
    const { router, asked, model, log, registry } = world('same');
    await registry.load('text', 'same');
    const again = model('same');
    await router.swapTo(again);
    expect([await asked(), router.defaultModel === again]).toEqual(['same', true]);
    expect(log).toEqual(['load same', 'open same', 'stop same', 'load same']);
  });

  test('to no model, and back', async () => {
    const { router, asked, model, registry } = world('old');
    const before = router.defaultModel;
    await router.swapTo(model('none', { none: true }));
    expect([await asked(), await router.list(), registry.list()]).toEqual(['none', [], []]);
    await router.swapTo(before);
    expect([await asked(), registry.list().length]).toEqual(['old', 1]);
  });
});

describe('ModelRouter.swapTo: with offers', () => {
  test('only requests that name the old model wait', async () => {
    const { router, ask, asked, model } = world('old', { old: {}, new: {}, other: {} });
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    const waiting = ask('old');
    expect(await ended(waiting)).toBe(false);
    expect([await asked('new'), await asked('new.gguf'), await asked('other')]).toEqual(['new', 'new', 'other']);
    inside.release();
    await swap;
    expect((await waiting).context.name).toBe('old');
  });

  test('to the same name: requests that name it wait for the new instance', async () => {
    const { router, ask, model, arrival } = world('same', { same: {} });
    const inside = await ask('same');
    const swap = router.swapTo(model('same'));
    const newcomer = await ask('same');
    expect(newcomer.context).not.toBe(inside.context);
    expect(arrival('same').begun()).toBe(false);
    inside.release();
    await swap;
    expect((await ask('same')).context).toBe(newcomer.context);
  });

  test('rejects waiting requests after --reqtimeout', async () => {
    const { router, ask, asked, model, time } = world('old', { old: {}, new: {} });
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    const refused = expect(ask('old')).rejects.toMatchObject({
      code: 'model-late',
      status: 504,
      details: { model: 'old', seconds: 7 },
    });
    await quiet();
    time.pass(7000);
    await refused;
    inside.release();
    await swap;
    expect([await asked('old'), time.waiting()]).toEqual(['old', []]);
  });

  test('rejects waiting requests after --reqtimeout during a restore too', async () => {
    const { router, ask, model, time, registry } = world('old', { new: {} });
    const inside = await ask();
    const held = latch();
    const swap = router.swapTo(model('new', { broken: 'too large' }));
    const load = registry.load.bind(registry);
    vi.spyOn(registry, 'load').mockImplementation(async (kind, name) => {
      if (name === 'old') await held.promise;
      return load(kind, name);
    });
    inside.release();
    await quiet();
    const refused = expect(ask()).rejects.toMatchObject({ code: 'model-late', details: { model: 'old' } });
    await quiet();
    time.pass(7000);
    await refused;
    held.open();
    await swap;
    expect(router.defaultModel.name).toBe('old');
  });

  test('rejects requests for the old model if it is not offered', async () => {
    const { router, ask, model } = world('old', { new: {} });
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    const late = ask('old').catch((thrown: AppError) => thrown.code);
    inside.release();
    await swap;
    expect(await late).toBe('model-not-found');
  });

  test('to an offered model: replaces its instance, with the new settings', async () => {
    const { router, ask, model, registry } = world('old', { new: {} });
    const guest = await ask('new');
    await registry.load('text', 'new');
    const again = model('new');
    const swap = router.swapTo(again);
    expect(await ended(swap)).toBe(false);
    guest.release();
    await swap;
    expect(router.defaultModel).toBe(again);
    expect((await ask('new')).context).not.toBe(guest.context);
    expect(registry.list()).toMatchObject([{ name: 'new', state: { type: 'ready' } }]);
  });

  test('failed load: keeps an offered model of the same name', async () => {
    const { router, asked, model, registry } = world('old', { new: {} });
    await asked('new');
    await router.swapTo(model('new', { broken: 'too large' }));
    expect([await asked(), await asked('new')]).toEqual(['old', 'new']);
    await registry.load('text', 'new');
    expect(registry.state('text', 'new')).toEqual({ type: 'ready' });
  });

  test('a model that is being prepared meanwhile uses the instance of the swap', async () => {
    const { router, ask, model, hold, log } = world('old', { new: {} });
    const release = hold();
    const early = ask('new');
    await quiet();
    await router.swapTo(model('new'));
    release();
    expect((await early).context.name).toBe('new');
    expect(log.filter((line) => line === 'open new')).toHaveLength(1);
  });
});

describe('ModelRouter: aliases', () => {
  const alias = (name: string) => (name.startsWith('claude-') || name === 'b' ? 'other' : undefined);
  const embedding = { queued: true, modelSelection: 'own-name' as const };

  test('an alias selects its target, for text and task models', async () => {
    const { asked } = world('first', { other: {}, b: {} }, { alias });
    expect(await asked('claude-x')).toBe('other');
    expect(await asked('claude-x', looking)).toBe('other');
    expect(await asked('claude-x', embedding)).toBe('other');
    expect(await asked('claude-x', { queued: true, modelSelection: 'any-name' })).toBe('other');
  });

  test('the name of a model wins over an alias', async () => {
    expect(await world('first', { other: {}, b: {} }, { alias }).asked('b')).toBe('b');
    expect(await world('b', { other: {} }, { alias }).asked('b')).toBe('b');
  });

  test('an alias of a task model selects it', async () => {
    const { asked } = world('first', { other: {} }, { alias: () => 'beside' });
    expect(await asked('text-embedding-x', embedding)).toBe('first');
  });

  test('rejects an alias with an unknown target by the name of the target', async () => {
    const { ask } = world('first', { other: {} }, { alias: () => 'nowhere' });
    await expect(ask('claude-x')).rejects.toMatchObject({ code: 'model-not-found', details: { model: 'nowhere' } });
  });

  test.each(['text-embedding-ada-002', 'text-embedding-3-small'])(
    '%s selects the default embedding model unless a model has that name',
    async (name) => {
      expect(await world('first', { other: {} }).asked(name, embedding)).toBe('first');
      expect(await world('first', { [name]: {} }).asked(name, embedding)).toBe(name);
      await expect(world('first', { other: {} }).ask(name)).rejects.toMatchObject({ code: 'model-not-found' });
    },
  );
});

describe('ModelRouter: changed model files', () => {
  const changed = (name: string) => {
    let again: (() => Promise<PreparedModel>) | undefined;
    return {
      renewed: async (model: PreparedModel) => {
        const prepare = model.name === name ? again : undefined;
        if (prepare) again = undefined;
        return prepare;
      },
      change: (prepare: () => Promise<PreparedModel>) => {
        again = prepare;
      },
    };
  };

  test('the next request prepares the model again after running requests have finished', async () => {
    const { renewed, change } = changed('other');
    const { ask, model, log, registry, arrival } = world('first', { other: {} }, { renewed });
    const running = await ask('other');
    await registry.load('text', 'other');
    change(async () => model('other'));
    const next = await ask('other');
    expect(next.context).not.toBe(running.context);
    const arrived = arrival('other').over(undefined);
    expect(await ended(arrived)).toBe(false);
    running.release();
    await arrived;
    await registry.load('text', 'other');
    expect(log).toEqual([
      'prepare other',
      'open other',
      'load other',
      'open other',
      'say other has changed and is read anew.',
      'stop other',
      'load other',
    ]);
    expect((await ask('other')).context).toBe(next.context);
  });

  test('the default model is replaced too', async () => {
    const { renewed, change } = changed('first');
    const { ask, router, model } = world('first', { other: {} }, { renewed });
    const fresh = model('first');
    change(async () => fresh);
    const { context } = await ask('first');
    expect(router.defaultModel).toBe(fresh);
    expect((await ask()).context).toBe(context);
  });

  test('keeps the old instance if the new file cannot be prepared', async () => {
    const { renewed, change } = changed('other');
    const { ask, log } = world('first', { other: {} }, { renewed });
    const { context } = await ask('other');
    change(() => Promise.reject(new Error('no JSON')));
    expect((await ask('other')).context).toBe(context);
    expect(log.at(-1)).toBe('say other has changed, and stays as it was: no JSON');
  });
});

describe('ModelRouter: a model file that is prepared again while a swap to the same name begins', () => {
  const prepared = () => {
    const { promise, open } = latch();
    let pending: Promise<void> | undefined = promise;
    const begun = latch();
    const renewed: RouterDeps<Named>['renewed'] = async (model) => {
      if (!pending) return undefined;
      pending = undefined;
      return async () => {
        begun.open();
        await promise;
        return { ...model };
      };
    };
    return { renewed, begun: begun.promise, finish: open };
  };

  test.each([
    { name: 'other', swapped: 'another model' },
    { name: 'first', swapped: 'the default model' },
  ])('the swap ends, and requests get its model, if it is $swapped', async ({ name }) => {
    const { renewed, begun, finish } = prepared();
    const files: { renewed?: typeof renewed } = {};
    const { router, model, ask, asked, registry } = world(
      'first',
      { other: {} },
      { renewed: async (one) => files.renewed?.(one) },
    );
    const running = await ask(name);
    files.renewed = renewed;
    const asking = ask(name);
    await begun;
    const next = model(name);
    const swap = router.swapTo(next);
    const waiting = asked();
    finish();
    const selected = await asking;
    running.release();
    selected.release();
    expect(await swap).toBeUndefined();
    expect(router.defaultModel).toBe(next);
    expect([await waiting, await asked(name)]).toEqual([name, name]);
    expect(registry.list().filter((one) => one.name === name)).toHaveLength(1);
  });
});

describe('ModelRouter: retired', () => {
  function retiring(files: Record<string, Fake> = {}) {
    const retired: string[] = [];
    return { ...world('first', files, { retired: ({ name }) => retired.push(name) }), retired };
  }

  test('is called for a model that was swapped out, after its last request', async () => {
    const { router, model, ask, retired } = retiring();
    const running = await ask();
    const swap = router.swapTo(model('next'));
    expect(retired).toEqual([]);
    running.release();
    await swap;
    expect(retired).toEqual(['first']);
  });

  test('is called for a model that could not be loaded, and not for the one that stays', async () => {
    const { router, model, retired } = retiring();
    await router.swapTo(model('next', { broken: 'no memory' }));
    await Promise.resolve();
    expect(retired).toEqual(['next']);
  });
});

describe('ModelRouter: consecutive swaps', () => {
  test('a request waits for the last one', async () => {
    const { router, model, ask, asked } = world('first', { other: {} });
    const running = await ask();
    const unloading = router.swapTo(model('none', { none: true }));
    const loading = router.swapTo(model('last'));
    const newcomer = asked();
    const named = asked('last');
    expect(await ended(newcomer)).toBe(false);
    running.release();
    expect([await newcomer, await named]).toEqual(['last', 'last']);
    await Promise.all([unloading, loading]);
    expect(router.defaultModel.name).toBe('last');
  });

  test('a request also waits for a swap that starts during its selection', async () => {
    const { router, model, asked } = world('first');
    const { promise, open } = latch();
    const swap = router.swapTo(model('last'), promise);
    const newcomer = asked();
    expect(await ended(newcomer)).toBe(false);
    open();
    expect(await newcomer).toBe('last');
    await swap;
  });
});

describe('ModelRouter.list', () => {
  test('has the default model first, then the offers, without duplicates', async () => {
    const { router, registry } = world('b', { a: {}, b: {}, c: {} });
    await registry.load('text', 'b');
    const states = (await router.list()).map(({ name, state }) => `${name} ${state}`);
    expect(states).toEqual(['b ready', 'a unloaded', 'c unloaded']);
  });

  test('reflects added and removed files at once', async () => {
    const files: Record<string, Fake> = { a: {} };
    const { router } = world('first', files);
    const names = async () => (await router.list()).map(({ name }) => name);
    expect(await names()).toEqual(['first', 'a']);
    files.b = {};
    expect(await names()).toEqual(['first', 'a', 'b']);
    delete files.a;
    expect(await names()).toEqual(['first', 'b']);
  });

  test('has only the default model without offers', async () => {
    const { router } = world('first');
    expect(await router.list()).toEqual([
      {
        name: 'first',
        id: 'koboldcpp/first',
        present: true,
        state: 'unloaded',
        path: '/models/first.gguf',
        bytes: undefined,
        expiresAt: Number.POSITIVE_INFINITY,
      },
    ]);
  });
});

test('ModelRouter: rejects with an AppError, which each protocol encodes', async () => {
  await expect(world('first', {}).ask('x')).rejects.toBeInstanceOf(AppError);
});

describe('equalName and sameName', () => {
  test.each([
    ['Model', 'model'],
    ['model:latest', 'MODEL'],
    ['koboldcpp/model', 'model'],
    ['koboldcpp/Model:latest', 'model'],
  ])('equalName: %j and %j', (left, right) => {
    expect([equalName(left, right), equalName(right, left), sameName(left, right)]).toEqual([true, true, true]);
  });

  test.each([
    ['model.gguf', 'model'],
    ['model.kcpps', 'model.gguf'],
    ['model.KCPPT', 'koboldcpp/model:latest'],
  ])('sameName: %j and %j differ in the extension only', (left, right) => {
    expect([equalName(left, right), sameName(left, right), sameName(right, left)]).toEqual([false, true, true]);
  });

  test.each([
    ['model', 'model2'],
    ['model:7b', 'model'],
    ['folder/model', 'model'],
    ['model.bin', 'model'],
    ['latest', ''],
  ])('sameName: %j and %j differ', (left, right) => {
    expect(sameName(left, right)).toBe(false);
  });
});

describe('ModelRouter: known-name', () => {
  const known = { queued: false, modelSelection: 'known-name' } as const;

  test('selects a model by its name or that of its file, and without a name the default one', async () => {
    const { asked } = world('first', { other: {} });
    expect([await asked('other', known), await asked('other.gguf', known), await asked(undefined, known)]).toEqual([
      'other',
      'other',
      'first',
    ]);
  });

  test.each(['nothing', 'beside'])('refuses %s, which no text model has', async (name) => {
    const refused = { code: 'model-not-found', details: { model: name } };
    await expect(world('first', { other: {} }).ask(name, known)).rejects.toMatchObject(refused);
  });

  test('where names select nothing, every name means the default model', async () => {
    expect(await world('first').asked('other', known)).toBe('first');
  });
});
