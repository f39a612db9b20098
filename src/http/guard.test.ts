import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import { type AccessRule, type ClientKey, type Endpoint, json } from './call.ts';
import { createGuard, credentials, type Identity, reportIdentity } from './guard.ts';

const dialect = { name: 'test', title: 'Test', errorReply: () => json({}) };
const endpoint = (access: Endpoint['access'], path = '/generate'): Endpoint => ({
  method: 'POST',
  match: 'exact',
  path,
  access,
  rateLimited: false,
  summary: '',
  dialect,
  handle: () => json({}),
});
const guarded = endpoint('guarded');
const open = endpoint('open');

type TestGuard = ReturnType<typeof createGuard>;
/** Without a key file identities are found at once. */
const identityIn = (guard: TestGuard, headers: IncomingHttpHeaders, rule?: AccessRule, target = ''): Identity => {
  const found = guard.identify(headers, rule, { target });
  if (found instanceof Promise) throw new Error('not at once');
  return found;
};
const refuseKey = (guard: TestGuard, headers: IncomingHttpHeaders, rule: AccessRule, target?: string) =>
  guard.refuseKey(identityIn(guard, headers, rule, target), rule);

describe('guard: Host header', () => {
  const guard = createGuard({ machineName: 'Attic', allowedHosts: ['models.example:443', 'Other.example'] });

  test.each([
    'localhost',
    'LOCALHOST:5001',
    'localhost.',
    'app.localhost:5001',
    '127.0.0.1:5001',
    '[::1]:5001',
    '[::ffff:127.0.0.1]:5001',
    '0.0.0.0:5001',
    '127.1:5001',
    '2130706433',
    '0x7f.1',
    '192.168.1.20:5001',
    '[fe80::1]',
    'attic:5001',
    'attic.local',
    'models.example',
    'models.example:5001',
    'other.example',
  ])('accepts %s', (host) => expect(guard.refuseHost({ host })).toBeUndefined());

  test.each([
    'rebound.example',
    'rebound.example:5001',
    'localhost.example',
    'localhost@rebound.example',
    '127.0.0.1.rebound.example',
    'attic.example',
    '[::1',
    '[::1]rebound.example',
    '',
    'a b',
  ])('rejects "%s"', (host) => expect(guard.refuseHost({ host })?.status).toBe(421));

  test('accepts a request without Host', () => expect(guard.refuseHost({})).toBeUndefined());
  test('accepts any name with a password or with *', () => {
    expect(createGuard({ password: 'x' }).refuseHost({ host: 'tunnel.example' })).toBeUndefined();
    expect(createGuard({ allowedHosts: ['*'] }).refuseHost({ host: 'tunnel.example' })).toBeUndefined();
  });
  const containerHosts = ['host.docker.internal', 'gateway.docker.internal:5001', 'host.containers.internal'];
  test.each(containerHosts)('accepts %s only if more than this machine can connect', (host) => {
    expect(createGuard({ listensOn: '0.0.0.0' }).refuseHost({ host })).toBeUndefined();
    expect(createGuard({ listensOn: '::' }).refuseHost({ host })).toBeUndefined();
    for (const listensOn of [undefined, 'localhost', '127.0.0.2', '::1'])
      expect(createGuard({ listensOn }).refuseHost({ host })?.status).toBe(421);
  });
  test.each(['evil.docker.internal', 'host.docker.internal.example', 'other-container', 'box.lan'])(
    'rejects %s on a server that is open to the network, and names the flag',
    (host) =>
      expect(createGuard({ listensOn: '0.0.0.0' }).refuseHost({ host })).toMatchObject({
        status: 421,
        message: expect.stringContaining(`--allowedhosts ${host} `),
      }),
  );
  test('accepts the name of --host', () =>
    expect(createGuard({ listensOn: 'Box.lan' }).refuseHost({ host: 'box.lan:5001' })).toBeUndefined());

  test('the error names the flag that allows the name', () =>
    expect(guard.refuseHost({ host: 'rebound.example:5001' })?.message).toContain('--allowedhosts rebound.example'));
});

describe('guard: Origin header', () => {
  const guard = createGuard({ allowedOrigins: ['https://notes.example/'] });
  const host = '192.168.1.20:5001';

  test.each([
    'http://localhost',
    'http://localhost:3000',
    'https://localhost:3000',
    'http://127.0.0.1:8000',
    'http://127.8.9.1',
    'http://[::1]:8080',
    'http://0.0.0.0:8000',
    'http://app.localhost:3000',
    'http://192.168.1.20:5001',
    'https://lite.koboldai.net',
    'https://notes.example',
  ])('accepts %s', (origin) => {
    expect(guard.refuseOrigin({ host, origin }, guarded)).toBeUndefined();
    expect(guard.permission(origin, { host })).toBe('credentials');
  });

  test.each([
    'https://foreign.example',
    'http://lite.koboldai.net',
    'https://lite.koboldai.net.example',
    'http://localhost.example',
    'http://localhost@foreign.example',
    'http://192.168.1.20:8000',
    'http://127.0.0.1.example',
    'file://localhost',
    'null',
    '',
  ])('rejects "%s"', (origin) => {
    expect(guard.refuseOrigin({ host, origin }, guarded)?.status).toBe(403);
    expect(guard.permission(origin, { host })).toBe('none');
  });

  test('open endpoints accept any origin, without CORS permission', () =>
    expect(guard.refuseOrigin({ host, origin: 'https://foreign.example' }, open)).toBeUndefined());
  test('accepts a request without Origin', () => expect(guard.refuseOrigin({ host }, guarded)).toBeUndefined());

  test.each([
    [{ password: 'x' }, 'https://foreign.example'],
    [{ password: 'x' }, 'null'],
    [{ allowedOrigins: ['*'] }, 'https://foreign.example'],
    [{ allowedOrigins: ['*'] }, 'null'],
    [{ allowedOrigins: ['null'] }, 'null'],
  ])('with %j accepts the origin %s', (options, origin) => {
    expect(createGuard(options).refuseOrigin({ host, origin }, guarded)).toBeUndefined();
    expect(createGuard(options).permission(origin, { host })).toBe('plain');
  });

  test.each([
    ['an image of a foreign page', { referer: 'https://foreign.example/' }, 403],
    ['a foreign page without Referer', {}, 403],
    ['a page on this machine', { referer: 'http://localhost:8000/chat' }, undefined],
  ])('cross-site request without Origin: %s', (_name, more, status) =>
    expect(guard.refuseOrigin({ host, 'sec-fetch-site': 'cross-site', ...more }, guarded)?.status).toBe(status),
  );
});

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

describe('guard: credentials that a browser adds by itself', () => {
  const guard = createGuard({ password: 'swordfish', allowedOrigins: ['https://notes.example', 'null', '*'] });
  const host = '192.168.1.20:5001';
  const cached = { host, ...basic('me:swordfish') };
  const played: AccessRule = { access: 'guarded', keyInQuery: true };
  const refused = (headers: IncomingHttpHeaders, rule: AccessRule = guarded) =>
    (guard.refuseOrigin(headers, rule) ?? refuseKey(guard, headers, rule))?.status;

  test.each(['http://192.168.1.20:5001', 'https://notes.example'])('Basic counts from %s', (origin) =>
    expect(refused({ ...cached, origin })).toBeUndefined(),
  );
  test('Basic counts without a calling page', () => expect(refused(cached)).toBeUndefined());
  test.each(['https://foreign.example', 'null', 'http://localhost:3000', 'https://lite.koboldai.net'])(
    'Basic does not count from %s, where Bearer does',
    (origin) => {
      expect(refused({ ...cached, origin })).toBe(403);
      expect(identityIn(guard, { ...cached, origin }).type).toBe('nobody');
      expect(refused({ host, origin, authorization: 'Bearer swordfish' })).toBeUndefined();
      expect(refused({ ...cached, origin, 'x-api-key': 'swordfish' })).toBeUndefined();
      expect(refused({ ...cached, origin, 'x-api-key': 'wrong' })).toBe(401);
      expect(refused({ host, origin })).toBe(401);
    },
  );
  test('Basic does not count for an image or a link of a foreign page', () =>
    expect(refused({ ...cached, 'sec-fetch-site': 'cross-site', referer: 'https://foreign.example/' })).toBe(403));
  test('Basic does not count for sources of elements, which need not say who asks', () => {
    expect(refused(cached, played)).toBe(401);
    expect(refuseKey(guard, { host }, played, '/tts_stream?key=swordfish')).toBeUndefined();
  });
  test.each([
    ['https://notes.example', 'credentials'],
    ['http://192.168.1.20:5001', 'credentials'],
    ['https://foreign.example', 'plain'],
    ['null', 'plain'],
  ])('pages of %s get the permission %s', (origin, permission) =>
    expect(guard.permission(origin, { host })).toBe(permission),
  );
});

describe('guard: key', () => {
  const guard = createGuard({ password: 'swordfish', adminPassword: 'über' });

  test.each([
    { authorization: 'Bearer swordfish' },
    { authorization: 'bearer   swordfish ' },
    { 'x-api-key': 'swordfish' },
    { 'api-key': ' swordfish' },
    { 'x-api-key': 'über' },
  ])('%j is accepted', (headers) => {
    expect(refuseKey(guard, headers, guarded)).toBeUndefined();
    expect(identityIn(guard, headers).type).toBe('owner');
  });

  test.each([
    {},
    { authorization: 'Bearer' },
    { authorization: 'Bearer ' },
    { authorization: 'swordfish' },
    { authorization: 'Basic swordfish' },
    { authorization: 'Bearer Swordfish' },
    { authorization: 'Bearer swordfish2' },
    { 'x-api-key': '' },
  ])('%j is rejected', (headers) => {
    expect(refuseKey(guard, headers, guarded)?.status).toBe(401);
    expect(identityIn(guard, headers).type).toBe('nobody');
  });

  test('open endpoints need no key', () => expect(refuseKey(guard, {}, open)).toBeUndefined());
  test.each([{}, { password: '' }, { adminPassword: 'x' }])('with %j no key is needed', (options) => {
    expect(refuseKey(createGuard(options), {}, guarded)).toBeUndefined();
    expect(identityIn(createGuard(options), {}).type).toBe('owner');
  });
});

describe('guard: --legacyopenpaths', () => {
  const guard = createGuard({ password: 'x', legacyOpen: true });
  const hole = { ...endpoint('guarded', '/prompt'), legacyOpen: true };
  const elsewhere = 'https://foreign.example';

  test('legacyOpen endpoints need no key', () => {
    expect(refuseKey(guard, {}, hole)).toBeUndefined();
    expect(refuseKey(guard, {}, guarded)?.status).toBe(401);
  });
  test('guard: legacyOpen endpoints need the key unless --legacyopenpaths is set', () =>
    expect(refuseKey(createGuard({ password: 'x' }), {}, hole)?.status).toBe(401));
  test('guard: a key that is sent to a legacyOpen endpoint says whose request it is, and a wrong one is none', () => {
    const anna: ClientKey = { name: 'anna', scopes: ['text'], weight: 1 };
    const keys = { find: (key: string) => (key === 'right' ? anna : undefined), use: () => 0 };
    const withKeys = createGuard({ keys, legacyOpen: true });
    const identity = (headers: IncomingHttpHeaders) => identityIn(withKeys, headers, hole);
    expect(identity({ authorization: 'Bearer right' })).toMatchObject({ type: 'key', key: anna });
    for (const headers of [{ authorization: 'Bearer wrong' }, {}]) expect(identity(headers).type).toBe('owner');
  });
  test('legacyOpen endpoints are guarded by Host and Origin', () => {
    expect(guard.refuseHost({ host: 'rebound.example' }, hole)?.status).toBe(421);
    expect(guard.refuseOrigin({ host: 'localhost', origin: elsewhere }, hole)?.status).toBe(403);
    expect(guard.refuseOrigin({ host: 'localhost', origin: elsewhere }, guarded)).toBeUndefined();
  });
});

describe('guard: a session beside other credentials', () => {
  const anna: ClientKey = { name: 'anna', scopes: ['audio'], weight: 1 };
  const ben: ClientKey = { ...anna, name: 'ben' };
  const guard = createGuard({
    keys: { find: (key) => (key === 'ben' ? ben : undefined), use: () => 0 },
    sessionOf: () => ({ id: 'ses_1', key: anna, isAdmin: false }),
  });
  const page = { cookie: 'any', 'sec-fetch-site': 'same-origin' };
  const rule = { access: 'guarded', keyInQuery: true, keyInProtocol: true } as const;
  const who = async (headers: IncomingHttpHeaders, target = '/x') => {
    const identity = await guard.identify({ ...page, ...headers }, rule, { target });
    return identity.type === 'key' ? identity.key.name : identity.type;
  };

  test('guard: ?key= and a subprotocol come before the cookie, also wrong ones', async () => {
    expect(await who({})).toBe('anna');
    expect(await who({}, '/x?key=ben')).toBe('ben');
    expect(await who({ 'sec-websocket-protocol': 'realtime, openai-insecure-api-key.ben' })).toBe('ben');
    expect(await who({}, '/x?key=wrong')).toBe('nobody');
    expect(await who({ 'sec-websocket-protocol': 'openai-insecure-api-key.wrong' })).toBe('nobody');
  });

  test('guard: sessions that cannot be read do not fail a request with a key', async () => {
    const broken = createGuard({
      keys: { find: () => ben, use: () => 0 },
      sessionOf: () => Promise.reject(new Error('the file is damaged')),
    });
    expect(await broken.identify({ ...page, 'x-api-key': 'ben' }, rule)).toMatchObject({ type: 'key', key: ben });
  });
});

describe('guard: columns of the access table', () => {
  const evil = { host: 'localhost', origin: 'https://evil.example' };

  test('guard: takes ?key= only where the endpoint allows it', () => {
    const guard = createGuard({ password: 'secret' });
    const played = { access: 'guarded', keyInQuery: true } as const;
    expect(refuseKey(guard, {}, played, '/tts_stream?text=a&key=secret')).toBeUndefined();
    expect(identityIn(guard, {}, played, '/tts_stream?key=secret').type).toBe('owner');
    expect(refuseKey(guard, {}, played, '/tts_stream?text=a&key=wrong')?.status).toBe(401);
    expect(refuseKey(guard, {}, guarded, '/generate?key=secret')?.status).toBe(401);
  });

  test.each([{}, { password: 'x' }])(
    'guard: foreign pages are refused on open paths that change something (%j)',
    (options) => {
      const guard = createGuard(options);
      expect(guard.refuseOrigin(evil, { access: 'open', changes: true })?.status).toBe(403);
      expect(guard.refuseOrigin(evil, { access: 'open', changes: false })).toBeUndefined();
    },
  );

  test('guard: admin paths need the key', () => {
    expect(refuseKey(createGuard({ password: 'x' }), {}, { access: 'admin' })?.status).toBe(401);
  });
});

describe('guard: keys of --keyfile', () => {
  const bob: ClientKey = { name: 'bob', scopes: ['text'], weight: 1 };
  let wait = 0;
  const guard = createGuard({
    password: 'swordfish',
    keys: { find: async (key) => (key === 'bobs' ? bob : undefined), use: () => wait },
  });
  const ask = async (key: string, rule: AccessRule) =>
    guard.refuseKey(await guard.identify({ authorization: `Bearer ${key}` }, rule), rule);

  test('a key works within its scopes, the password everywhere', async () => {
    const chat: AccessRule = { access: 'guarded', scope: 'chat' };
    expect(await ask('bobs', { access: 'guarded', scope: 'text' })).toBeUndefined();
    expect(await ask('bobs', { access: 'guarded' })).toBeUndefined();
    expect(await ask('bobs', chat)).toMatchObject({ status: 403, code: 'scope-missing' });
    expect(await ask('bobs', { access: 'admin' })).toMatchObject({ status: 403 });
    expect(await ask('swordfish', chat)).toBeUndefined();
    expect(await ask('alices', chat)).toMatchObject({ status: 401 });
  });

  test('a key over its rate gets 429 and the time to wait', async () => {
    wait = 7;
    expect(await ask('bobs', guarded)).toMatchObject({ status: 429, details: { retryAfterSeconds: 7 } });
    expect(await ask('bobs', open)).toBeUndefined();
    wait = 0;
  });

  test('reportIdentity: names the key, or says that the password was sent', async () => {
    const reported: unknown[] = [];
    const watch = { authorized: (...facts: unknown[]) => void reported.push(facts) };
    for (const key of ['bobs', 'swordfish', 'alices'])
      reportIdentity(watch, await guard.identify({ authorization: `Bearer ${key}` }, guarded));
    reportIdentity(watch, identityIn(createGuard({}), {}, guarded));
    expect(reported).toEqual([
      ['bob', true, false],
      [undefined, true, true],
      [undefined, false, false],
      [undefined, true, false],
    ]);
  });

  test('a key file alone closes the server', async () => {
    const alone = createGuard({ keys: { find: () => undefined, use: () => 0 } });
    expect(refuseKey(alone, {}, guarded)?.status).toBe(401);
  });
});

describe('credentials', () => {
  test.each([
    [{ authorization: 'Bearer secret' }, 'secret'],
    [{ authorization: 'bearer   secret ' }, 'secret'],
    [{ 'x-api-key': ' secret' }, 'secret'],
    [{ 'api-key': 'secret' }, 'secret'],
    [basic('anybody:secret'), 'secret'],
    [basic(':se:cret'), 'se:cret'],
  ])('finds the key in %j', (headers, key) => expect(credentials(headers)).toBe(key));

  test.each([
    [{}],
    [{ authorization: '' }],
    [basic('')],
    [basic('nobody')],
    [basic('nobody:')],
    [{ authorization: 'Basic !!' }],
  ])('finds no key in %j', (headers) => expect(credentials(headers)).toBeUndefined());

  test('reads x-api-key if Authorization has no key', () => {
    expect(credentials({ ...basic('nobody:'), 'x-api-key': 'secret' })).toBe('secret');
  });
});

test('guard: a page over plain HTTP neither reads answers with credentials of HTTPS on the same port nor uses them', () => {
  const guard = createGuard({ password: 'secret' });
  const headers = { host: '192.168.1.5:5001', origin: 'http://192.168.1.5:5001' };
  const basic = { ...headers, authorization: `Basic ${Buffer.from('me:secret').toString('base64')}` };
  for (const [site, permission, type] of [
    ['same-origin', 'credentials', 'owner'],
    ['same-site', 'plain', 'nobody'],
    ['cross-site', 'plain', 'nobody'],
  ] as const) {
    expect(guard.permission(headers.origin, { ...headers, 'sec-fetch-site': site })).toBe(permission);
    expect(guard.identify({ ...basic, 'sec-fetch-site': site }, guarded)).toMatchObject({ type });
  }
});

describe('guard: requests from this machine, with --lan', () => {
  const guard = createGuard({ password: 'secret', ownerOnLoopback: true });
  const local = { host: 'localhost:5001' };
  const found = (headers: IncomingHttpHeaders, address = '127.0.0.1') => guard.identify(headers, guarded, { address });

  test.each(['127.0.0.1', '127.1.2.3', '::1'])('need no key from %s', (address) => {
    expect(found(local, address)).toMatchObject({ type: 'owner', password: false });
    expect(found({}, address)).toMatchObject({ type: 'owner' });
  });

  test('need no key beside a cookie of another server, or of a session that is over', async () => {
    const sessionOf = () => Promise.resolve(undefined);
    const withSessions = createGuard({ password: 'secret', ownerOnLoopback: true, sessionOf });
    const headers = { ...local, 'sec-fetch-site': 'same-origin', cookie: 'other=1' };
    const foundWith = (address: string) => withSessions.identify(headers, guarded, { address });
    expect(await foundWith('127.0.0.1')).toMatchObject({ type: 'owner', password: false });
    expect(await foundWith('192.168.1.9')).toEqual({ type: 'nobody' });
  });

  test.each(['192.168.1.9', '10.0.0.1', 'fd00::9', '::', ''])(
    'need a key from %j, whatever name it calls',
    (address) => {
      expect(found(local, address)).toEqual({ type: 'nobody' });
    },
  );

  test.each([
    ['a name that was made to lead here', { host: 'evil.example' }],
    ['a name of the network', { host: 'parley.local:5001' }],
    ['a page of another site', { ...local, origin: 'https://evil.example' }],
    ['a picture in a page of another site', { ...local, 'sec-fetch-site': 'cross-site' }],
    ['a page without a site', { ...local, origin: 'null' }],
    ['a proxy', { ...local, 'x-forwarded-for': '10.0.0.1' }],
    ['a proxy that tells the scheme alone', { ...local, 'x-forwarded-proto': 'https' }],
    ['a tunnel', { ...local, 'cf-connecting-ip': '10.0.0.1' }],
    ['a newer proxy', { ...local, forwarded: 'for=10.0.0.1' }],
    ['a wrong key', { ...local, authorization: 'Bearer wrong' }],
  ])('need a key from %s', (_, headers) => {
    expect(found(headers as IncomingHttpHeaders)).toEqual({ type: 'nobody' });
  });

  test('need the password where it is not allowed', () => {
    expect(createGuard({ password: 'secret' }).identify(local, guarded, { address: '127.0.0.1' })).toEqual({
      type: 'nobody',
    });
  });
});
