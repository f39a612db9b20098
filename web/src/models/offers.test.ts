import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

async function page(allowed: boolean, name = 'flite') {
  const status = { id: null, state: 'loaded', progress: null, reason: null, memory_bytes: 1, default: false };
  fakePage({
    'api/extra/models': () => ({
      models: [{ ...status, kind: 'speech', name }],
      router: false,
      admin: { enabled: true, allowed, key_file: false },
      last_failure: null,
    }),
  });
  const { refreshServer } = await import('./server.svelte.ts');
  await refreshServer();
  const { notices } = await import('../ui/notices.svelte.ts');
  return { notices, ...(await import('./offers.ts')) };
}

test('offerPack: offers the pack once, after the first use of the built-in model', async () => {
  const { notices, offerPack } = await page(true);
  offerPack('image');
  expect(notices.list).toEqual([]);
  offerPack('speech');
  const [notice] = notices.list;
  expect(notice?.text).toMatch(/pack voices/);
  expect(notice?.action?.label).toBe('Show packs');
  notices.list = [];
  offerPack('speech');
  expect(notices.list).toEqual([]);
});

test.each([
  ['who may not install it', false, 'flite'],
  ['with another model', true, 'kokoro'],
])('offerPack: offers nothing to people %s', async (_, allowed, name) => {
  const { notices, offerPack } = await page(allowed, name);
  offerPack('speech');
  expect(notices.list).toEqual([]);
});
