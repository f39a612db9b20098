import { expect, test } from 'vitest';
import { Session } from './page.ts';

function opened() {
  let count = 0;
  const session = new Session(() => `random-${++count}`);
  const cookie = session.open(session.token) ?? '';
  return { session, cookie: cookie.split(';', 1)[0] ?? '', whole: cookie };
}

const host = 'localhost:4711';

test('Session: a token is valid once', () => {
  const session = new Session(() => 'abc');
  expect(session.used).toBe(false);
  expect(session.open('wrong')).toBeUndefined();
  expect(session.open('')).toBeUndefined();
  expect(session.open('abc')).toMatch(/^parley_launcher=abc; HttpOnly; SameSite=Strict; Path=\/$/);
  expect(session.open('abc')).toBeUndefined();
  expect(session.open('')).toBeUndefined();
  expect(session.used).toBe(true);
});

test('Session: a new token replaces the session', () => {
  const { session, cookie } = opened();
  expect(session.admits({ host, cookie })).toBe(true);
  const renewed = session.renew();
  expect(session.admits({ host, cookie })).toBe(true);
  const second = session.open(renewed)?.split(';', 1)[0] ?? '';
  expect(session.admits({ host, cookie: second })).toBe(true);
  expect(session.admits({ host, cookie })).toBe(false);
});

test('Session: rejects requests before the token was used, or without the cookie', () => {
  expect(new Session(() => 'x').admits({ host, cookie: 'parley_launcher=x' })).toBe(false);
  const { session, whole } = opened();
  expect(whole).toContain('HttpOnly');
  expect(session.admits({ host })).toBe(false);
  expect(session.admits({ host, cookie: 'parley_launcher=' })).toBe(false);
  expect(session.admits({ host, cookie: 'parley_launcher=undefined' })).toBe(false);
});

test('Session: finds its cookie among several', () => {
  const { session, cookie } = opened();
  expect(session.admits({ host, cookie: `a=1; ${cookie}; b=2` })).toBe(true);
});

test.each([
  [{ origin: 'http://localhost:4711' }, true],
  [{ origin: 'http://localhost:3000' }, false],
  [{ origin: 'https://evil.example' }, false],
  [{ origin: 'null' }, false],
  [{ 'sec-fetch-site': 'same-origin' }, true],
  [{ 'sec-fetch-site': 'none' }, true],
  [{ 'sec-fetch-site': 'same-site' }, false],
  [{ 'sec-fetch-site': 'cross-site' }, false],
] as const)('Session: the cookie with %o is %o', (headers, admitted) => {
  const { session, cookie } = opened();
  expect(session.admits({ host, cookie, ...headers })).toBe(admitted);
});
