import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { modelAlias, pinProblem, preloadAll, preloadOrder, residenceOf, startsLoaded, warmModel } from './residence.ts';
import { fakeRegistry } from './testing/registry.ts';

test.each([
  [{ idle: '', pin: false, group: '' }, {}],
  [{ idle: '10m', pin: false, group: '' }, { idleMs: 600_000 }],
  [
    { idle: '0', pin: true, group: 'big' },
    { idleMs: 0, pinned: true, group: 'big' },
  ],
  [{ idle: 'never', pin: false, group: '' }, { idleMs: Number.POSITIVE_INFINITY }],
])('residenceOf: %o', (settings, spec) => {
  expect(residenceOf(settings)).toEqual(spec);
});

test('preloadOrder: by number, equal ones as they come, without those that are off', () => {
  const configs = [
    { name: 'a', preload: 2 },
    { name: 'b', preload: 0 },
    { name: 'c', preload: 1 },
    { name: 'd', preload: 2 },
  ];
  expect(preloadOrder(configs).map(({ name }) => name)).toEqual(['c', 'a', 'd']);
});

test('startsLoaded: with --autoswapmode only where the model of the start has preload', () => {
  expect(startsLoaded({ autoswapmode: false, preload: 0 })).toBe(true);
  expect(startsLoaded({ autoswapmode: true, preload: 0 })).toBe(false);
  expect(startsLoaded({ autoswapmode: true, preload: 1 })).toBe(true);
});

describe('preloadAll', () => {
  test('skips a model that would push out an earlier one, and says so', async () => {
    const { registry, log } = fakeRegistry({ a: { bytes: 60 }, b: { bytes: 60 }, c: { bytes: 30 } });
    const lines: string[] = [];
    const hold = (name: string) => registry.use('text', name, undefined, { sparesBusy: true });
    await preloadAll(['a', 'b', 'c'], hold, (line) => lines.push(line));
    expect(log.filter((line) => /^(loaded|left)/.test(line))).toEqual(['loaded a', 'loaded c']);
    expect(lines).toEqual(['b is not preloaded: its memory is in use by other models.']);
    expect(registry.list().map(({ inUse }) => inUse)).toEqual([0, 0, 0]);
  });

  test('goes on after a model that cannot be prepared', async () => {
    const loaded: string[] = [];
    const lines: string[] = [];
    const hold = async (name: string) => {
      if (name === 'bad') throw new AppError('model-load-failed', { model: name, reason: 'the file is broken' });
      loaded.push(name);
      return { release: () => undefined };
    };
    await preloadAll(['bad', 'good'], hold, (line) => lines.push(line));
    expect(loaded).toEqual(['good']);
    expect(lines).toEqual(['bad is not preloaded: the file is broken.']);
  });
});

test('pinProblem: a pinned model may be loaded again, but not switched for another', () => {
  const model = (name: string, pin: boolean) => ({ name, settings: { pin, routermode: false } });
  expect(pinProblem(model('a', true), model('b', false))).toMatch(/^a is pinned \(--pin\)/);
  expect(pinProblem(model('a', true), model('a', true))).toBeUndefined();
  expect(pinProblem(model('a', false), model('b', true))).toBeUndefined();
});

test.each([
  [false, 'or start with --routermode and name the other model in requests'],
  [true, 'or name the other model in requests'],
])('pinProblem: with --routermode %s says %s', (routermode, advice) => {
  const problem = pinProblem({ name: 'a', settings: { pin: true, routermode } }, { name: 'b' });
  expect(problem).toBe(`a is pinned (--pin) and stays loaded. Remove "pin" from its config, ${advice}`);
});

describe('warmModel', () => {
  const model = (name: string, type: 'ready' | 'unloaded' | 'leaving', lastUsed: number, kind = 'text') => ({
    name,
    kind,
    lastUsed,
    state: { type },
  });
  const loading = { name: 'slow', kind: 'text', lastUsed: 99, state: { type: 'loading', progress: 0 } } as const;

  test('is the loaded text model that was used last', () => {
    const models = [
      model('a', 'ready', 5),
      model('b', 'ready', 7),
      model('c', 'leaving', 9),
      model('d', 'unloaded', 9),
    ];
    expect(warmModel([...models, model('voice', 'ready', 10, 'speech'), loading])).toBe('b');
  });

  test('is one that is being loaded if none is loaded', () => {
    expect(warmModel([model('a', 'unloaded', 5), loading])).toBe('slow');
    expect(warmModel([model('a', 'unloaded', 5)])).toBeUndefined();
  });

  test('modelAlias: aliases win over --warmname, and the model of the start is used if none is loaded', () => {
    const models = [model('a', 'unloaded', 0), model('b', 'ready', 1)];
    const target = modelAlias({ modelalias: ['small=a'], warmname: 'warm' }, () => models);
    expect(['warm', 'WARM:latest', 'small', 'other'].map(target)).toEqual(['b', 'b', 'a', undefined]);
    expect(modelAlias({ modelalias: ['warm=a'], warmname: 'warm' }, () => models)('warm')).toBe('a');
    expect(modelAlias({ modelalias: null, warmname: '' }, () => models)('')).toBeUndefined();
    const unloaded = models.slice(0, 1);
    expect(modelAlias({ modelalias: null, warmname: 'hot' }, () => unloaded)('hot')).toBe('a');
  });
});
