import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { AppError } from '../core/errors.ts';
import { equalName, sameName } from '../core/model-names.ts';
import type { Call } from '../http/call.ts';
import { handTimer, latch } from '../http/testing/world.ts';
import type { Arrival } from './arrival.ts';
import type { Lifecycle, LifecycleState, ModelSpec } from './lifecycle.ts';
import type { PreparedModel } from './prepared-model.ts';
import { Registry } from './registry.ts';
import type { Selected } from './routed.ts';
import { type ModelOffer, ModelRouter, namedModel, type RouterParts } from './router.ts';
import { quiet } from './testing/registry.ts';

interface Fake {
  /** Why it cannot be loaded, as long as this stands. */
  broken?: string;
  /** Where its file is, if not where its name says. */
  path?: string;
  nickname?: string;
  /** No file at all: a server without a model. */
  none?: boolean;
  /** No context can be made for it. */
  unfit?: string;
}

const working: { queued: boolean; modelSelection?: 'own-name' | 'any-name' } = { queued: true };
const looking = { queued: false };

interface Named {
  readonly name: string;
}

/** A router with fake models; `files` are offered by name. */
function world(first: string, files?: Record<string, Fake>, own: Partial<RouterParts<Named>> = {}) {
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
    { registry, contextOf, say: (line) => log.push(`say ${line}`), timeout, ...(files ? { offers } : {}), ...own },
  );
  const ask = (
    name?: string,
    endpoint: typeof working = working,
    signal = new AbortController().signal,
  ): Promise<Selected<Named>> => {
    const body = Buffer.from(name === undefined ? '{}' : JSON.stringify({ model: name }));
    return router.select({ method: 'POST', body, signal } as unknown as Call, endpoint);
  };
  return {
    router,
    registry,
    log,
    fakes,
    model,
    ask,
    time,
    /** What those wait for who are in the room of one that comes. */
    arrival: (name: string) => arrivals.get(name) as Arrival,
    asked: async (name?: string, endpoint = working) => {
      const { context, release } = await ask(name, endpoint);
      release();
      return context.name;
    },
    /** Preparing takes until this is called. */
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

/** Whether it has come to an end, after all that can happen by itself. */
async function ended(work: Promise<unknown>): Promise<boolean> {
  let over = false;
  const note = () => {
    over = true;
  };
  work.then(note, note);
  await quiet();
  return over;
}

describe('what stands beside the present model', () => {
  test('is asked for in its room, by its own name', async () => {
    const { asked } = world('a', { b: {} });
    expect(await asked('beside', { queued: true, modelSelection: 'own-name' })).toBe('a');
    expect(await asked('BESIDE:latest', { queued: true, modelSelection: 'own-name' })).toBe('a');
    expect(await asked('b', { queued: true, modelSelection: 'own-name' })).toBe('b');
  });

  test('is no text model, and no other name is its own', async () => {
    const { ask } = world('a', { b: {} });
    await expect(ask('beside')).rejects.toMatchObject({ code: 'model-not-found' });
    await expect(ask('nobody', { queued: true, modelSelection: 'own-name' })).rejects.toMatchObject({
      code: 'model-not-found',
    });
  });
});

describe('choosing', () => {
  test('without names there is one room, whatever a request names', async () => {
    const { asked } = world('first');
    expect([await asked(), await asked('first'), await asked('nonsense')]).toEqual(['first', 'first', 'first']);
  });

  test('who names nobody gets the present one; who names somebody gets that one', async () => {
    const { asked } = world('first', { other: {} });
    expect([await asked(), await asked('first'), await asked('other')]).toEqual(['first', 'first', 'other']);
  });

  test.each(['OTHER', 'other:latest', 'koboldcpp/other', ' other ', 'other.gguf'])('%j is other', async (name) => {
    expect(await world('first', { other: {} }).asked(name)).toBe('other');
  });

  test('a name that nobody has is refused by name', async () => {
    const { ask } = world('first', { other: {} });
    const error = await ask('nobody').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'model-not-found', details: { model: 'nobody' } });
  });

  test('a name that is somebody’s in full goes before one that is only alike', async () => {
    const { asked } = world('first', { 'a.kcpps': {}, a: {} });
    expect([await asked('a'), await asked('a.kcpps'), await asked('a.gguf')]).toEqual(['a', 'a.kcpps', 'a']);
  });

  test('a model is also known by its file, or its name in the horde, unless somebody has that name', async () => {
    const { asked } = world('config', { config: { path: '/models/weights.gguf', nickname: 'Fancy' }, other: {} });
    expect([await asked('weights'), await asked('koboldcpp/fancy')]).toEqual(['config', 'config']);
    const taken = world('config', { config: { path: '/models/other.gguf' }, other: {} });
    expect(await taken.asked('other')).toBe('other');
  });

  test('a room is opened once, and again only for another model', async () => {
    const { asked, log } = world('first', { a: {}, b: {} });
    for (const name of ['a', 'b', 'a', 'b']) await asked(name);
    expect(log).toEqual(['prepare a', 'open a', 'prepare b', 'open b']);
  });

  test('two who ask at the same time for what is not there have it prepared once', async () => {
    const { ask, log, hold } = world('first', { other: {} });
    const release = hold();
    const both = [ask('other'), ask('other.gguf')];
    await quiet();
    release();
    const rooms = (await Promise.all(both)).map(({ context }) => context);
    expect(rooms[0]).toBe(rooms[1]);
    expect(log).toEqual(['prepare other', 'open other']);
  });

  test('what cannot be prepared is said to all who asked, and tried again for the next', async () => {
    const { router, ask, asked, fakes } = world('first', { other: { unfit: 'no room' } });
    await expect(ask('other')).rejects.toThrow('no room');
    fakes.other = {};
    expect(await asked('other')).toBe('other');
    expect(router.defaultModel.name).toBe('first');
  });

  test('who looks and names somebody sees that one; a name that nobody has is left to the endpoint', async () => {
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
  ])('what is no matter of text models and names %s goes to %s', async (name, expected) => {
    const { ask } = world('first', { other: {} });
    const { context, release } = await ask(name, { queued: true, modelSelection: 'any-name' });
    expect(context.name).toBe(expected);
    release();
  });
});

describe('a swap', () => {
  test('brings the new one and lets the old one go', async () => {
    const { router, asked, model, log, registry } = world('old');
    await registry.load('text', 'old');
    await router.swapTo(model('new'));
    expect([await asked(), router.defaultModel.name]).toEqual(['new', 'new']);
    expect(log).toEqual(['load old', 'open new', 'stop old', 'load new']);
    expect(registry.list().map(({ name }) => name)).toEqual(['new']);
  });

  test('lets those who are inside finish first', async () => {
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

  test('has newcomers wait in the room of the new one until that is there', async () => {
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

  test('is the last one only when those have left who waited for it', async () => {
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

  test('that fails tells those who waited for it why, and sends them remote', async () => {
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
    // The old one is on its way back: whoever comes now waits for it at the door.
    const late = ask();
    await swap;
    expect((await late).context.name).toBe('old');
    expect((await late).abandoned?.()).toBe(false);
  });

  test('that breaks off in its middle leaves nobody waiting', async () => {
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

  test('does not keep who only looks', async () => {
    const { router, ask, asked, model } = world('old');
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    expect(await asked(undefined, looking)).toBe('old');
    inside.release();
    await swap;
    expect(await asked(undefined, looking)).toBe('new');
  });

  test('a newcomer who goes away waits no longer, and nothing is lost by it', async () => {
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

  test('one that cannot be loaded is told with its reason, and the old one is there again', async () => {
    const { router, asked, model, log, registry } = world('old');
    await router.swapTo(model('new', { broken: 'too large' }));
    expect([await asked(), router.defaultModel.name]).toEqual(['old', 'old']);
    expect(log.filter((line) => line.startsWith('say'))).toEqual([
      expect.stringMatching(/^say new could not be loaded: .*too large.*Going back to old\.$/),
    ]);
    expect(registry.list()).toMatchObject([{ name: 'old', state: { type: 'ready' } }]);
  });

  test('where the old one cannot be had again either, both are told, and it is tried again for the next', async () => {
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

  test('a room that cannot be furnished leaves all as it was', async () => {
    const { router, asked, model, fakes, log } = world('old');
    fakes.new = { unfit: 'no story' };
    await expect(router.swapTo(model('new'))).rejects.toThrow('no story');
    expect([await asked(), router.defaultModel.name]).toEqual(['old', 'old']);
    expect(log).toEqual([]);
    await router.swapTo(model('other'));
    expect(await asked()).toBe('other');
  });

  test('comes after the one before it', async () => {
    const { router, ask, asked, model, log } = world('old');
    const inside = await ask();
    const swaps = ['a', 'b', 'c'].map((name) => router.swapTo(model(name)));
    inside.release();
    await Promise.all(swaps);
    expect(await asked()).toBe('c');
    expect(log.filter((line) => line.startsWith('load'))).toEqual(['load a', 'load b', 'load c']);
  });

  test('to the same name reads it anew', async () => {
    const { router, asked, model, log, registry } = world('same');
    await registry.load('text', 'same');
    const again = model('same');
    await router.swapTo(again);
    expect([await asked(), router.defaultModel === again]).toEqual(['same', true]);
    expect(log).toEqual(['load same', 'open same', 'stop same', 'load same']);
  });

  test('to no model at all, and back', async () => {
    const { router, asked, model, registry } = world('old');
    const before = router.defaultModel;
    await router.swapTo(model('none', { none: true }));
    expect([await asked(), await router.list(), registry.list()]).toEqual(['none', [], []]);
    await router.swapTo(before);
    expect([await asked(), registry.list().length]).toEqual(['old', 1]);
  });
});

describe('a swap beside others that are known by name', () => {
  test('keeps who names the old one at the door, and nobody else', async () => {
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

  test('to the same name has those who name it wait for the new one', async () => {
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

  test('that lasts longer than --reqtimeout is too late for those at the door', async () => {
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

  test('that goes back is too late after --reqtimeout, too', async () => {
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

  test('whoever waited for the old one, which cannot be asked for by name, is told that it is gone', async () => {
    const { router, ask, model } = world('old', { new: {} });
    const inside = await ask();
    const swap = router.swapTo(model('new'));
    const late = ask('old').catch((thrown: AppError) => thrown.code);
    inside.release();
    await swap;
    expect(await late).toBe('model-not-found');
  });

  test('to one that was asked for by name before takes its place, with its own settings', async () => {
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

  test('that fails does not take a namesake along', async () => {
    const { router, asked, model, registry } = world('old', { new: {} });
    await asked('new');
    await router.swapTo(model('new', { broken: 'too large' }));
    expect([await asked(), await asked('new')]).toEqual(['old', 'new']);
    await registry.load('text', 'new');
    expect(registry.state('text', 'new')).toEqual({ type: 'ready' });
  });

  test('somebody who was being prepared meanwhile finds the room of the swap', async () => {
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

describe('aliases', () => {
  const alias = (name: string) => (name.startsWith('claude-') || name === 'b' ? 'other' : undefined);
  const embedding = { queued: true, modelSelection: 'own-name' as const };

  test('an alias is answered by its target, in text and beside it', async () => {
    const { asked } = world('first', { other: {}, b: {} }, { alias });
    expect(await asked('claude-x')).toBe('other');
    expect(await asked('claude-x', looking)).toBe('other');
    expect(await asked('claude-x', embedding)).toBe('other');
    expect(await asked('claude-x', { queued: true, modelSelection: 'any-name' })).toBe('other');
  });

  test('the own name of a model goes before an alias', async () => {
    expect(await world('first', { other: {}, b: {} }, { alias }).asked('b')).toBe('b');
    expect(await world('b', { other: {} }, { alias }).asked('b')).toBe('b');
  });

  test('an alias of what is beside the present model means that', async () => {
    const { asked } = world('first', { other: {} }, { alias: () => 'beside' });
    expect(await asked('text-embedding-x', embedding)).toBe('first');
  });

  test('an alias whose target does not exist is refused by the target’s name', async () => {
    const { ask } = world('first', { other: {} }, { alias: () => 'nowhere' });
    await expect(ask('claude-x')).rejects.toMatchObject({ code: 'model-not-found', details: { model: 'nowhere' } });
  });

  test.each(['text-embedding-ada-002', 'text-embedding-3-small'])(
    '%s means the default model for embeddings, unless a model has that name',
    async (name) => {
      expect(await world('first', { other: {} }).asked(name, embedding)).toBe('first');
      expect(await world('first', { [name]: {} }).asked(name, embedding)).toBe(name);
      await expect(world('first', { other: {} }).ask(name)).rejects.toMatchObject({ code: 'model-not-found' });
    },
  );
});

describe('a model whose files have changed', () => {
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

  test('is read anew for the next request that names it, when those who run have finished', async () => {
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

  test('the present one is replaced too', async () => {
    const { renewed, change } = changed('first');
    const { ask, router, model } = world('first', { other: {} }, { renewed });
    const fresh = model('first');
    change(async () => fresh);
    const { context } = await ask('first');
    expect(router.defaultModel).toBe(fresh);
    expect((await ask()).context).toBe(context);
  });

  test('stays as it was where it cannot be prepared anew', async () => {
    const { renewed, change } = changed('other');
    const { ask, log } = world('first', { other: {} }, { renewed });
    const { context } = await ask('other');
    change(() => Promise.reject(new Error('no JSON')));
    expect((await ask('other')).context).toBe(context);
    expect(log.at(-1)).toBe('say other has changed, and stays as it was: no JSON');
  });
});

describe('several swaps one after the other', () => {
  test('a request waits for the last of them', async () => {
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

  test('a request waits for a swap that begins only after its own answer', async () => {
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

describe('the list', () => {
  test('has the present one first, then what is offered, each once', async () => {
    const { router, registry } = world('b', { a: {}, b: {}, c: {} });
    await registry.load('text', 'b');
    const states = (await router.list()).map(({ name, state }) => `${name} ${state}`);
    expect(states).toEqual(['b ready', 'a unloaded', 'c unloaded']);
  });

  test('has what has come and lacks what has gone since the last one, at the first look', async () => {
    const files: Record<string, Fake> = { a: {} };
    const { router } = world('first', files);
    const names = async () => (await router.list()).map(({ name }) => name);
    expect(await names()).toEqual(['first', 'a']);
    files.b = {};
    expect(await names()).toEqual(['first', 'a', 'b']);
    delete files.a;
    expect(await names()).toEqual(['first', 'b']);
  });

  test('has only the present one where nothing is known by name', async () => {
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

test('what is refused is an error of the core, which each dialect says in its own way', async () => {
  await expect(world('first', {}).ask('x')).rejects.toBeInstanceOf(AppError);
});

const named = (body: string | object, method = 'POST') =>
  namedModel({
    method,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    signal: new AbortController().signal,
  } as unknown as Call);

describe('the model that a request names', () => {
  test.each([
    [{ model: 'a' }, 'a'],
    [{ name: 'a' }, 'a'],
    [{ model: 'a', name: 'b' }, 'a'],
    [{ model: 7, name: 'b' }, 'b'],
    [{ model: '  a\n' }, 'a'],
    [{ model: 'a b/c:d' }, 'a b/c:d'],
  ])('in %j is %j', async (body, expected) => {
    expect(await named(body)).toBe(expected);
  });

  test.each([
    '',
    '  ',
    '{}',
    '{"model":""}',
    '{"model":" "}',
    '{"model":null}',
    '{"model":["a"]}',
    '[]',
    '"a"',
    'no JSON',
    '{"model":"a"',
  ])('is none in %j', async (body) => {
    expect(await named(body)).toBeUndefined();
  });

  test('is only looked for where there is a body to look in', async () => {
    expect(await named({ model: 'a' }, 'GET')).toBeUndefined();
  });

  test('is found in a body that begins with the mark of its byte order', async () => {
    expect(await named('\uFEFF{"model":"a"}')).toBe('a');
  });

  test('never throws, whatever comes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string()), async (body) => {
        const name = await named(body);
        expect(name === undefined || name.trim() !== '').toBe(true);
      }),
    );
  });
});

describe('two names', () => {
  test.each([
    ['Model', 'model'],
    ['model:latest', 'MODEL'],
    ['koboldcpp/model', 'model'],
    ['koboldcpp/Model:latest', 'model'],
  ])('%j and %j are equal', (left, right) => {
    expect([equalName(left, right), equalName(right, left), sameName(left, right)]).toEqual([true, true, true]);
  });

  test.each([
    ['model.gguf', 'model'],
    ['model.kcpps', 'model.gguf'],
    ['model.KCPPT', 'koboldcpp/model:latest'],
  ])('%j and %j are the same but for the ending', (left, right) => {
    expect([equalName(left, right), sameName(left, right), sameName(right, left)]).toEqual([false, true, true]);
  });

  test.each([
    ['model', 'model2'],
    ['model:7b', 'model'],
    ['folder/model', 'model'],
    ['model.bin', 'model'],
    ['latest', ''],
  ])('%j and %j are two', (left, right) => {
    expect(sameName(left, right)).toBe(false);
  });
});
