import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

type Sent = Record<string, string>;

/** A server with the password `right` and the admin password `boss`; `cookies`: whether the browser sends them. */
function locked({ cookies = true } = {}) {
  const seen = { session: null as string | null, bearers: [] as string[] };
  const holder = (): object => ({ type: cookies && seen.session ? 'password' : null, name: null });
  const isRight = (key: string | undefined): boolean => key === 'right' || key === 'boss';
  const keyOf = ({ authorization = '' }: Sent): string | undefined => /^Bearer (.*)$/.exec(authorization)?.[1];
  const refused = (status: number): Response => Response.json({}, { status });
  const responses = {
    'api/extra/session': ({ key }: { key?: string }) => {
      if (key === undefined) return holder();
      if (!isRight(key)) return refused(key === 'again' ? 429 : 401);
      seen.session = key;
      return { type: 'password', name: null };
    },
    'api/extra/models': (_: never, __: unknown, headers: Sent) =>
      isRight(keyOf(headers)) ? { admin: { allowed: keyOf(headers) === 'boss' } } : refused(401),
    'api/x': (_: never, __: unknown, headers: Sent) => {
      seen.bearers.push(keyOf(headers) ?? '');
      return (cookies && seen.session) || isRight(keyOf(headers)) ? { ok: true } : refused(401);
    },
  };
  return { seen, responses };
}

test('call: requests the key on status 401, signs in with it, and repeats the request with the cookie alone', async () => {
  const { seen, responses } = locked();
  const page = fakePage(responses);
  const { read } = await import('./call.ts');
  const { keyDialog, submitKey } = await import('./key.svelte.ts');
  const answer = read('api/x');
  await expect.poll(() => keyDialog.open).toBe(true);
  expect(await submitKey('wrong', false)).toBe('wrong');
  expect(await submitKey('again', false)).toBe('too-many');
  expect(keyDialog.open).toBe(true);
  expect(await submitKey('right', true)).toBe('accepted');
  expect(await answer).toEqual({ ok: true });
  expect(seen.bearers).toEqual(['', '']);
  expect(page.requestsTo('api/extra/session').map(({ body }) => body)).toContainEqual({ key: 'right', remember: true });
  expect(keyDialog.open).toBe(false);
  expect([sessionStorage.length, localStorage.length]).toEqual([0, 0]);
});

test('call: where the cookie is not sent, the key is kept for this tab and sent', async () => {
  const { seen, responses } = locked({ cookies: false });
  fakePage(responses);
  const { read } = await import('./call.ts');
  const { keyDialog, signOut, submitKey } = await import('./key.svelte.ts');
  const answer = read('api/x');
  await expect.poll(() => keyDialog.open).toBe(true);
  expect(await submitKey('right', true)).toBe('accepted');
  expect(await answer).toEqual({ ok: true });
  expect(seen.bearers).toEqual(['', 'right']);
  expect([sessionStorage.getItem('parley.key'), localStorage.length]).toEqual(['right', 0]);
  await signOut();
  expect(sessionStorage.length).toBe(0);
});

test('call: a server that has no sessions checks the key, which is kept for this tab', async () => {
  const { responses } = locked();
  fakePage({ ...responses, 'api/extra/session': () => Response.json({}, { status: 404 }) });
  const { currentKey, submitKey } = await import('./key.svelte.ts');
  expect(await submitKey('wrong', true)).toBe('wrong');
  expect(await submitKey('right', true)).toBe('accepted');
  expect(currentKey()).toBe('right');
});

test('signInAsBefore: signs in with the key that an earlier version has kept, and forgets it', async () => {
  const { seen, responses } = locked();
  const page = fakePage(responses);
  const { signInAsBefore } = await import('./key.svelte.ts');
  expect(await signInAsBefore()).toBe(false);
  for (const key of ['right', 'wrong']) {
    page.localStorage.set('parley.key', key);
    expect(await signInAsBefore()).toBe(key === 'right');
    expect(page.localStorage.has('parley.key')).toBe(false);
  }
  expect(seen.session).toBe('right');
});

test('call: opens one key dialog for several requests, and fails all if it is cancelled', async () => {
  fakePage(locked().responses);
  const { read } = await import('./call.ts');
  const { cancelKey, keyDialog } = await import('./key.svelte.ts');
  const answers = Promise.allSettled([read('api/x'), read('api/x')]);
  await expect.poll(() => keyDialog.open).toBe(true);
  cancelKey();
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(keyDialog.open).toBe(false);
});

test('call: a background request fails on status 401 without a dialog', async () => {
  fakePage(locked().responses);
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
  const page = fakePage(locked().responses);
  const { keyDialog, requestKey, submitKey } = await import('./key.svelte.ts');
  const given = requestKey('admin');
  expect(keyDialog).toMatchObject({ open: true, kind: 'admin' });
  expect(await submitKey('right', false)).toBe('wrong');
  page.responses['api/extra/models'] = () => Promise.reject(new TypeError('Failed to fetch'));
  expect(await submitKey('boss', false)).toBe('unreachable');
  page.responses['api/extra/models'] = () => ({ admin: { allowed: true } });
  expect(page.requestsTo('api/extra/session')).toEqual([]);
  expect(await submitKey('boss', false)).toBe('accepted');
  expect(await given).toBe(true);
});
