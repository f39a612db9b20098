import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

const locked = (keys: string[]) => ({
  'api/extra/models': (_: never, __: unknown, { authorization }: Record<string, string>) =>
    authorization === 'Bearer wrong'
      ? Response.json({}, { status: 401 })
      : { admin: { allowed: authorization === 'Bearer boss' } },
  'api/x': () => {
    const key = sessionStorage.getItem('parley.key') ?? '';
    keys.push(key);
    return key === 'right' ? { ok: true } : Response.json({}, { status: 401 });
  },
});

test('call: requests the key on status 401, checks it, and repeats the request', async () => {
  const keys: string[] = [];
  fakePage(locked(keys));
  const { read } = await import('./call.ts');
  const { keyDialog, submitKey } = await import('./key.svelte.ts');
  const answer = read('api/x');
  await expect.poll(() => keyDialog.open).toBe(true);
  expect(await submitKey('wrong', false)).toBe('wrong');
  expect(keyDialog.open).toBe(true);
  expect(sessionStorage.getItem('parley.key')).toBeNull();
  expect(await submitKey('right', true)).toBe('accepted');
  expect(await answer).toEqual({ ok: true });
  expect(keys).toEqual(['', 'right']);
  expect(keyDialog.open).toBe(false);
  expect(localStorage.getItem('parley.key')).toBe('right');
});

test('call: opens one key dialog for several requests, and fails all if it is cancelled', async () => {
  fakePage(locked([]));
  const { read } = await import('./call.ts');
  const { cancelKey, keyDialog } = await import('./key.svelte.ts');
  const answers = Promise.allSettled([read('api/x'), read('api/x')]);
  await expect.poll(() => keyDialog.open).toBe(true);
  cancelKey();
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(keyDialog.open).toBe(false);
});

test('call: a background request fails on status 401 without a dialog', async () => {
  fakePage(locked([]));
  const { read } = await import('./call.ts');
  const { keyDialog } = await import('./key.svelte.ts');
  await expect(read('api/x', { background: true })).rejects.toThrow(
    'The server needs a password. Enter the one of --password.',
  );
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

test('requestKey: for administrators accepts only the admin password', async () => {
  const page = fakePage(locked([]));
  const { keyDialog, requestKey, submitKey } = await import('./key.svelte.ts');
  const given = requestKey('admin');
  expect(keyDialog).toMatchObject({ open: true, kind: 'admin' });
  expect(await submitKey('right', false)).toBe('wrong');
  page.responses['api/extra/models'] = () => Promise.reject(new TypeError('Failed to fetch'));
  expect(await submitKey('boss', false)).toBe('unreachable');
  page.responses['api/extra/models'] = () => ({ admin: { allowed: true } });
  expect(await submitKey('boss', false)).toBe('accepted');
  expect(await given).toBe(true);
});
