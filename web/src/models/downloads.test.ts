import { expect, test } from 'vitest';
import { fakePage, skipPauses } from '../testing/page.ts';
import type { Download } from './downloads.svelte.ts';

const entry: Download = {
  model: 'o/n:Q4',
  state: 'running',
  done_bytes: 0,
  total_bytes: null,
  bytes_per_second: 0,
  reason: null,
  path: null,
};

/** A server whose list of downloads is another one with each request, the last one for ever. */
async function page(lists: readonly (readonly Download[])[], responses: Parameters<typeof fakePage>[0] = {}) {
  const rest = [...lists];
  const fake = fakePage({
    'api/admin/downloads': (body: { model?: string }) =>
      body.model ? { success: true, model: 'o/n:Q4' } : { downloads: rest.length > 1 ? rest.shift() : rest[0] },
    'api/admin/downloads/remove': () => ({ success: true }),
    'api/admin/models': () => ({ models: [{ filename: 'o--n/file.gguf', name: 'file.gguf' }] }),
    'api/admin/reload_config': () => ({ success: true }),
    'api/extra/models': () => ({
      models: [],
      router: false,
      admin: { enabled: true, allowed: true },
      last_failure: { name: 'file.gguf', reason: 'no memory' },
    }),
    ...responses,
  });
  const { notices } = await import('../ui/notices.svelte.ts');
  const models = await import('./models.svelte.ts');
  return { fake, notices, models, library: await import('./library.svelte.ts') };
}

const done: Download = { ...entry, state: 'done', path: '/home/me/models/o--n/file.gguf' };

test('downloadAndUse: follows a download to its end, then switches to the file', async () => {
  skipPauses();
  const { fake, models, library } = await page([[entry], [entry], [done], []]);
  await library.downloadAndUse('hf.co/o/n:Q4');
  expect(models.arrival.model).toBe('o/n:Q4');
  await expect
    .poll(() => fake.requestsTo('api/admin/reload_config'))
    .toMatchObject([{ body: { filename: 'o--n/file.gguf' } }]);
  expect(models.arrival.model).toBe('');
  expect(fake.requestsTo('api/admin/downloads/remove')).toMatchObject([{ body: { model: 'o/n:Q4' } }]);
});

test('awaitArrival: a download that ended while the page was closed is used', async () => {
  skipPauses();
  const { fake, models, library } = await page([[done], []]);
  models.arrival.model = 'o/n:Q4';
  await library.awaitArrival();
  await expect.poll(() => fake.requestsTo('api/admin/reload_config').length).toBe(1);
});

test('awaitArrival: a download that the server no longer knows is not awaited', async () => {
  const { models, library } = await page([[]]);
  models.arrival.model = 'o/n:Q4';
  await library.awaitArrival();
  expect(models.arrival.model).toBe('');
});

test('downloadAndUse: throws the reason of a server that refuses', async () => {
  const { models, library } = await page([[]], {
    'api/admin/downloads': (body: { model?: string }) =>
      body.model ? { success: false, error: 'This is not the name of a model.' } : { downloads: [] },
  });
  await expect(library.downloadAndUse('nonsense')).rejects.toThrow('This is not the name of a model.');
  expect(models.arrival.model).toBe('');
});

test('downloadOnly: does not switch', async () => {
  skipPauses();
  const { fake, notices, library } = await page([[done], []]);
  await library.downloadOnly('hf.co/o/n:Q4');
  await expect.poll(() => notices.list.map(({ text }) => text)).toEqual(['Downloaded o/n:Q4.']);
  expect(fake.requestsTo('api/admin/reload_config')).toEqual([]);
});
