import { describe, expect, test } from 'vitest';
import { defaultKeyFile } from '../../config/lan.ts';
import type { Call } from '../../http/call.ts';
import { mayAdminister } from './access.ts';
import { type OwnerAccess, ownerAccess, ownerEndpoint } from './owner.ts';

const alone = { admin: false, noowner: false, password: null, adminpassword: null, keyfile: '', host: '', lan: false };

describe('ownerAccess', () => {
  test.each(['', 'localhost', '127.0.0.1', '[::1]'])('is for the page of a server on %j', (host) => {
    expect(ownerAccess({ ...alone, host }, () => 'secret')).toEqual({ type: 'page', token: 'secret' });
  });

  test('is for the page on this machine with --lan and its own key file', () => {
    const lan = { ...alone, lan: true, keyfile: defaultKeyFile() };
    expect(ownerAccess(lan, () => 'secret').type).toBe('page');
    expect(ownerAccess({ ...lan, keyfile: 'other.json' }, () => 'secret')).toEqual({ type: 'none', reason: 'keys' });
    expect(ownerAccess({ ...lan, noowner: true }, () => 'secret')).toEqual({ type: 'none', reason: 'flag' });
  });

  test.each([
    [{ admin: true }, 'admin'],
    [{ noowner: true }, 'flag'],
    [{ password: 'x' }, 'password'],
    [{ adminpassword: 'x' }, 'password'],
    [{ keyfile: 'keys.json' }, 'keys'],
    [{ host: '0.0.0.0' }, 'network'],
    [{ host: '192.168.1.5' }, 'network'],
    [{ host: '::' }, 'network'],
  ])('is for nobody with %j: %s', (settings, reason) => {
    expect(ownerAccess({ ...alone, ...settings }, () => 'secret')).toEqual({ type: 'none', reason });
  });
});

describe('/api/extra/owner', () => {
  const ownPage = { host: 'localhost:5001', 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' };

  async function tokenFor(
    headers: Record<string, string>,
    owner: OwnerAccess = { type: 'page', token: 'secret' },
    remoteAddress = '127.0.0.1',
  ) {
    const reply = await ownerEndpoint(owner).handle({ headers, remoteAddress } as unknown as Call, undefined);
    if (!('body' in reply)) throw new Error('no reply');
    return (JSON.parse(String(reply.body)) as { token: string | null }).token;
  }

  test('gives the token to a script of its own page', async () => {
    expect(await tokenFor(ownPage)).toBe('secret');
    expect(await tokenFor({ ...ownPage, host: '127.0.0.1:5001' })).toBe('secret');
  });

  test.each([
    ['a page of another port', { 'sec-fetch-site': 'same-site' }],
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['a frame, a picture or a script element', { 'sec-fetch-dest': 'script' }],
    ['the address bar', { 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' }],
    ['a name that was made to lead here', { host: 'evil.example:5001' }],
    ['a proxy', { 'x-forwarded-for': '203.0.113.9' }],
  ])('refuses %s', async (_, headers) => {
    expect(await tokenFor({ ...ownPage, ...headers })).toBeNull();
  });

  test('refuses programs, which send no such headers', async () => {
    expect(await tokenFor({ host: 'localhost:5001' })).toBeNull();
  });

  test('refuses another machine, whatever headers it sends', async () => {
    expect(await tokenFor(ownPage, undefined, '192.168.1.9')).toBeNull();
  });

  test('refuses everybody where the server has no owner', async () => {
    expect(await tokenFor(ownPage, { type: 'none', reason: 'network' })).toBeNull();
  });
});

test('mayAdminister: with the token of the page only, also where --admin is off', () => {
  const access = { enabled: false, password: undefined, ownerToken: 'secret' };
  const may = (headers: Record<string, string>) => mayAdminister(access, { headers });
  expect(may({ 'x-parley-owner': 'secret' })).toBe(true);
  expect(may({ 'x-parley-owner': 'other' })).toBe(false);
  expect(may({ authorization: 'Bearer secret' })).toBe(false);
  expect(may({})).toBe(false);
});
