import { expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import type { ModelOffer } from './model-instance.ts';
import type { PreparedModel } from './prepared-model.ts';
import { Registry } from './registry.ts';
import { ModelRouter } from './router.ts';

/** A router with one model, `base`, and one preset of it. */
function world(preset: Partial<NonNullable<ModelOffer['preset']>> = {}, { presetsOnly = false } = {}) {
  const prepared: string[] = [];
  const facts = { system: '', parameters: {}, messages: [] };
  const own = { ...facts, base: 'base', version: '1', problem: undefined, ...preset };
  const model = (name: string): PreparedModel =>
    ({
      name,
      settings: defaultSettings,
      given: new Set(),
      file: { path: `/${name}.gguf` },
      known: () => undefined,
      taskModels: {},
      spec: {
        name,
        kind: 'text',
        need: async () => 1,
        make: () => ({
          start: () => undefined,
          stop: async () => undefined,
          settled: () => Promise.resolve(),
          state: () => ({ type: 'ready' }),
        }),
      },
    }) as unknown as PreparedModel;
  const registry = new Registry({
    memoryBudget: () => ({ bytes: Number.POSITIVE_INFINITY, count: Number.POSITIVE_INFINITY }),
    startTimer: () => ({ cancel: () => undefined }),
    now: () => 0,
    defaultKeepMs: () => Number.POSITIVE_INFINITY,
  });
  const base = model('base');
  registry.add(base.spec);
  const offer: ModelOffer = {
    names: ['cold', 'base:cold'],
    path: undefined,
    preset: own,
    prepare: async (name, of) => {
      prepared.push(`${name} of ${of?.name} ${own.version}`);
      return { ...model(name), spec: of?.spec } as PreparedModel;
    },
  };
  const router = new ModelRouter<string>(
    { model: base, context: 'base' },
    {
      registry,
      contextOf: ({ name }) => name,
      presetContext: (below, { name }) => `${name} on ${below}`,
      offers: async () => [offer],
      presetsOnly,
      log: () => undefined,
    },
  );
  const select = (name: string, queued = true) => router.resolve(name, { queued }, new AbortController().signal);
  return { router, registry, prepared, own, model, select };
}

test('a preset has a context from that of its base, made once, and adds nothing to the registry', async () => {
  const { select, prepared, registry } = world();
  for (const name of ['cold', 'base:cold', 'koboldcpp/cold']) {
    const { context, release } = await select(name, name !== 'cold');
    expect(context).toBe('cold on base');
    release();
  }
  expect(prepared).toEqual(['cold of base 1']);
  expect(registry.list().map(({ name }) => name)).toEqual(['base']);
});

test('a changed preset is prepared again', async () => {
  const { select, prepared, own } = world();
  await select('cold');
  own.version = '2';
  await select('cold');
  expect(prepared).toEqual(['cold of base 1', 'cold of base 2']);
});

test('a request of a preset uses its base: a swap waits for it', async () => {
  const { router, model, select } = world();
  const { release } = await select('cold');
  let swapped = false;
  const swap = router.swapTo(model('other')).then(() => {
    swapped = true;
  });
  await new Promise(setImmediate);
  expect(swapped).toBe(false);
  release();
  await swap;
  expect(router.defaultModel.name).toBe('other');
});

test('the list has the state of the base for its preset', async () => {
  const { router, registry } = world();
  const states = async () =>
    (await router.list()).map(({ name, preset: of, state, id }) => [name, of?.base, state, id]);
  const rows = (state: string) => [
    ['base', undefined, state, 'koboldcpp/base'],
    ['cold', 'base', state, 'koboldcpp/cold'],
  ];
  expect(await states()).toEqual(rows('unloaded'));
  await registry.load('text', 'base');
  expect(await states()).toEqual(rows('ready'));
});

test('a preset that cannot be used is not listed, and a request for it gets the reason', async () => {
  const { router, select } = world({ problem: 'Its base is missing.' });
  expect((await router.list()).map(({ name }) => name)).toEqual(['base']);
  await expect(select('cold')).rejects.toMatchObject({ code: 'model-load-failed', message: /Its base is missing/ });
});

test('presetsOnly: names of presets select them, and every other name means the model in use', async () => {
  const { select } = world({}, { presetsOnly: true });
  for (const name of ['cold', 'base:cold', 'koboldcpp/cold']) {
    const { context, release } = await select(name);
    expect(context).toBe('cold on base');
    release();
  }
  for (const name of ['base', 'gpt-4', 'base.gguf']) expect((await select(name)).context).toBe('base');
});

test('presetsOnly: a preset whose base is not in use is refused with the reason', async () => {
  const { select } = world({ problem: 'Its base, other, is not in use.' }, { presetsOnly: true });
  await expect(select('cold')).rejects.toMatchObject({ code: 'model-load-failed' });
});
