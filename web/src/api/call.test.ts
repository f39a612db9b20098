import { expect, test, vi } from 'vitest';
import { fakePage } from '../testing/page.ts';

const locked = (keys: string[]) => ({
  'api/x': () => {
    const key = sessionStorage.getItem('parley.key') ?? '';
    keys.push(key);
    return key === 'right' ? { ok: true } : Response.json({}, { status: 401 });
  },
});

test('call: requests the key on status 401 and repeats the request until it is right', async () => {
  const keys: string[] = [];
  fakePage(locked(keys));
  const { read } = await import('./call.ts');
  const { keyDialog, submitKey } = await import('./key.svelte.ts');
  const answer = read('api/x');
  await vi.waitFor(() => expect(keyDialog.open).toBe(true));
  submitKey('wrong', false);
  await vi.waitFor(() => expect(keys).toEqual(['', 'wrong']));
  await vi.waitFor(() => expect(keyDialog.open).toBe(true));
  submitKey('right', true);
  expect(await answer).toEqual({ ok: true });
  expect(localStorage.getItem('parley.key')).toBe('right');
});

test('call: opens one key dialog for several requests, and fails all if it is cancelled', async () => {
  fakePage(locked([]));
  const { read } = await import('./call.ts');
  const { cancelKey, keyDialog } = await import('./key.svelte.ts');
  const answers = Promise.allSettled([read('api/x'), read('api/x')]);
  await vi.waitFor(() => expect(keyDialog.open).toBe(true));
  cancelKey();
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(keyDialog.open).toBe(false);
});

test('call: a background request fails on status 401 without a dialog', async () => {
  fakePage(locked([]));
  const { read } = await import('./call.ts');
  const { keyDialog } = await import('./key.svelte.ts');
  await expect(read('api/x', { background: true })).rejects.toThrow('The server needs an API key.');
  expect(keyDialog.open).toBe(false);
});

test('call: sends a body as JSON by POST, and forms as they are', async () => {
  const page = fakePage({ 'api/x': () => ({}) });
  const { call } = await import('./call.ts');
  await call('api/x', { body: { a: 1 } });
  const form = new FormData();
  await call('api/x', { body: form });
  expect(page.requests.map(({ body }) => body)).toEqual([{ a: 1 }, form]);
});
