import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

const status = { progress: null, reason: null, memory_bytes: 1, kind: 'text', state: 'loaded' };
const two = {
  models: [
    { ...status, id: 'koboldcpp/a', name: 'a', default: true },
    { ...status, id: 'koboldcpp/b', name: 'b', default: false, state: 'unloaded' },
  ],
  router: true,
  admin: { enabled: true, allowed: true, key_file: false },
  last_failure: null,
};

async function page(responses: Parameters<typeof fakePage>[0] = {}) {
  const fake = fakePage({ 'api/extra/version': () => ({ router: true }), 'api/extra/models': () => two, ...responses });
  const { refreshServer } = await import('./server.svelte.ts');
  await refreshServer();
  const { notices } = await import('../ui/notices.svelte.ts');
  const models = { ...(await import('./models.svelte.ts')), ...(await import('./switching.svelte.ts')) };
  return { fake, notices, models };
}

test('useModel: names the model in further requests and loads it', async () => {
  const { fake, models } = await page({ 'models/load': () => ({ success: true }) });
  expect([models.chosenModel(), models.answeringModel()]).toEqual([undefined, 'a']);
  await models.useModel(two.models[1] as never);
  expect([models.chosenModel(), models.answeringModel()]).toEqual(['koboldcpp/b', 'b']);
  expect(fake.requestsTo('models/load').map(({ body }) => body)).toEqual([{ model: 'koboldcpp/b' }]);
  models.choice.id = 'koboldcpp/gone';
  expect([models.chosenModel(), models.answeringModel()]).toEqual([undefined, 'a']);
});

test('useModel: leaves loading to the next request for people who may not administer', async () => {
  const admin = { enabled: false, allowed: false, key_file: false };
  const { fake, models } = await page({ 'api/extra/models': () => ({ ...two, admin }) });
  await models.useModel(two.models[1] as never);
  expect(models.chosenModel()).toBe('koboldcpp/b');
  expect(fake.requestsTo('models/load')).toEqual([]);
});

test('switchTo: shows why the server rejects a file', async () => {
  const { notices, models } = await page({
    'api/admin/reload_config': () => ({ success: false, error: 'no GGUF file' }),
  });
  await models.switchTo('bad.gguf', 'bad.gguf');
  expect(notices.list.map(({ text }) => text)).toEqual(['Cannot load bad.gguf: no GGUF file']);
  expect(models.swap.name).toBeUndefined();
});
