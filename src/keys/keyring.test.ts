import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshFolders } from '../store/testing/folder.ts';
import { KeyFile, type KeyRules } from './key-file.ts';
import { Keyring } from './keyring.ts';

const freshFolder = freshFolders();

/** That of a key file takes 40 ms of a core. */
const quickHash = async (key: string, salt: string) => createHash('sha256').update(salt).update(key).digest();

async function keyring(...rules: (Partial<KeyRules> & { name: string })[]) {
  const path = join(freshFolder(), 'keys.json');
  const warnings: string[] = [];
  const file = new KeyFile({ path, warn: (line) => warnings.push(line), now: () => new Date(0), hash: quickHash });
  const keys: string[] = [];
  for (const rule of rules) keys.push(await file.add({ scopes: ['text'], weight: 1, ...rule }, 0));
  const clock = { now: 1000, tick: 1000 };
  const hashed: string[] = [];
  const hashing = { until: Promise.resolve() };
  const ring = new Keyring({
    path,
    file,
    now: () => clock.now,
    tick: () => clock.tick,
    warn: (line) => warnings.push(line),
    hash: async (key, salt) => {
      hashed.push(salt);
      await hashing.until;
      return quickHash(key, salt);
    },
  });
  await ring.refresh();
  const find = (key = '', address = '192.0.2.1') => ring.find(key, address);
  return { path, file, ring, find, keys, clock, hashed, hashing, warnings };
}

const wrong = `parley_aaaaaaaa_${'x'.repeat(43)}`;

test('Keyring: verifies a key once', async () => {
  const { find, keys, hashed } = await keyring({ name: 'bob' }, { name: 'eve' });
  const [bob = '', eve = ''] = keys;
  expect(await find(bob)).toMatchObject({ name: 'bob' });
  expect(find(bob)).toMatchObject({ name: 'bob' });
  expect(await find(eve)).toMatchObject({ name: 'eve' });
  expect(hashed).toHaveLength(2);
});

test('Keyring: each wrong key costs one hash, whether its id exists or not', async () => {
  const { find, keys, hashed } = await keyring({ name: 'bob' }, { name: 'eve' });
  const [bob = ''] = keys;
  expect(await find(wrong)).toBeUndefined();
  expect(await find(`${bob.slice(0, -1)}${bob.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined();
  expect(hashed).toHaveLength(2);
  expect(find('no key at all')).toBeUndefined();
});

test('Keyring: refuses to check more than a few unknown keys at once', async () => {
  const { find } = await keyring();
  const tries = Array.from({ length: 20 }, () => Promise.resolve(find(wrong)).catch(({ code }) => code));
  expect((await Promise.all(tries)).filter((result) => result === 'rate-limited')).toHaveLength(12);
});

test.each([
  ['another address', '192.0.2.1', '192.0.2.2'],
  ['another network', '2001:db8:0:1::5', '2001:db8:0:2::5'],
  ['the same address, as behind a proxy', '127.0.0.1', '127.0.0.1'],
])(
  'Keyring: unknown keys in flight do not refuse a right one that is not verified yet: from %s',
  async (_, other, own) => {
    const { find, keys } = await keyring({ name: 'bob' });
    const tries = Array.from({ length: 40 }, () => Promise.resolve(find(wrong, other)).catch(() => undefined));
    expect(await find(keys[0], own)).toMatchObject({ name: 'bob' });
    await Promise.all(tries);
  },
);

test('Keyring: counts the tries of one IPv6 network together', async () => {
  const { find } = await keyring();
  const tries = Array.from({ length: 20 }, (_, host) =>
    Promise.resolve(find(wrong, `2001:db8:0:1::${host}`)).catch(({ code }) => code),
  );
  expect((await Promise.all(tries)).filter((result) => result === 'rate-limited')).toHaveLength(12);
});

test('Keyring: a change of the file forgets no verified key that is unchanged', async () => {
  const { file, ring, find, keys, hashed } = await keyring({ name: 'bob' }, { name: 'eve' });
  await find(keys[0]);
  await find(keys[1]);
  await file.revoke('eve');
  await file.add({ name: 'new', scopes: [], weight: 1 }, 0);
  await ring.refresh();
  expect(find(keys[0])).toMatchObject({ name: 'bob' });
  expect(await find(keys[1])).toBeUndefined();
  expect(hashed).toHaveLength(3);
});

test('Keyring: a key whose hash was replaced in the file is wrong, also if it was being verified', async () => {
  const { path, ring, find, keys, hashing } = await keyring({ name: 'bob' }, { name: 'eve' });
  expect(await find(keys[0])).toMatchObject({ name: 'bob' });
  let finish = () => {};
  hashing.until = new Promise((resolve) => {
    finish = resolve;
  });
  const eve = find(keys[1]);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/"hash": "[^"]+"/g, '"hash": "AAAA"'));
  await ring.refresh();
  finish();
  expect(await Promise.all([find(keys[0]), eve])).toEqual([undefined, undefined]);
});

test.each([
  ['deleted', (path: string) => rmSync(path)],
  ['emptied', (path: string) => writeFileSync(path, '')],
])('Keyring: a key file that is %s revokes all keys at the second look', async (_, change) => {
  const { path, ring, find, keys, warnings } = await keyring({ name: 'bob' });
  const before = readFileSync(path);
  expect(await find(keys[0])).toMatchObject({ name: 'bob' });
  change(path);
  await ring.refresh();
  expect(find(keys[0])).toMatchObject({ name: 'bob' });
  await ring.refresh();
  await ring.refresh();
  expect(await find(keys[0])).toBeUndefined();
  expect(warnings).toEqual([expect.stringContaining('no key is accepted')]);
  writeFileSync(path, before);
  await ring.refresh();
  expect(await find(keys[0])).toMatchObject({ name: 'bob' });
});

test('Keyring: takes up added and revoked keys, and keeps those it has while the file is unreadable', async () => {
  const { path, file, ring, find, keys, warnings } = await keyring({ name: 'bob' });
  const eve = await file.add({ name: 'eve', scopes: [], weight: 1 }, 0);
  await file.revoke('bob');
  await ring.refresh();
  expect(await find(keys[0])).toBeUndefined();
  expect(await find(eve)).toMatchObject({ name: 'eve' });
  writeFileSync(path, '{"file_version":9}');
  await ring.refresh();
  await ring.refresh();
  expect(await find(eve)).toMatchObject({ name: 'eve' });
  expect(warnings).toHaveLength(1);
});

test.each(['{"file_version":1,"keys":[{"na', '\0\0\0\0'])(
  'Keyring: keeps its keys while the file is damaged (%j), and does not touch it',
  async (text) => {
    const { path, ring, find, keys, warnings } = await keyring({ name: 'bob' });
    const before = readFileSync(path);
    writeFileSync(path, text);
    await ring.refresh();
    await ring.refresh();
    expect(await find(keys[0])).toMatchObject({ name: 'bob' });
    expect(warnings).toEqual([expect.stringContaining('cannot be read')]);
    expect(readFileSync(path, 'utf8')).toBe(text);
    writeFileSync(path, before);
    await ring.refresh();
    expect(await find(keys[0])).toMatchObject({ name: 'bob' });
  },
);

test('Keyring: an expired key is wrong', async () => {
  const { find, keys, clock } = await keyring({ name: 'bob', expires: 5000 });
  expect(await find(keys[0])).toMatchObject({ name: 'bob' });
  clock.now = 5000;
  expect(find(keys[0])).toBeUndefined();
});

test('Keyring: a key over its rate has to wait until a minute after its oldest request', async () => {
  const { ring, clock } = await keyring({ name: 'bob', rate: 2 });
  const bob = { name: 'bob', scopes: [], weight: 1, rate: 2 };
  expect([ring.use(bob), ring.use(bob), ring.use(bob)]).toEqual([0, 0, 60]);
  clock.tick += 59_500;
  expect(ring.use(bob)).toBe(1);
  clock.tick += 500;
  clock.now += 60_000;
  expect(ring.use(bob)).toBe(0);
  expect(ring.list()).toMatchObject([{ name: 'bob', requests: 3, refused: 2, lastSeen: clock.now }]);
});

test('Keyring: what is no work, such as the polling of an open page, does not count against the rate', async () => {
  const { ring } = await keyring({ name: 'bob', rate: 1 });
  const bob = { name: 'bob', scopes: [], weight: 1, rate: 1 };
  expect([ring.use(bob, false), ring.use(bob), ring.use(bob, false), ring.use(bob)]).toEqual([0, 0, 0, 60]);
  expect(ring.list()).toMatchObject([{ requests: 3, refused: 1 }]);
});

test.each([-1, 1])('Keyring: the rate of a key does not depend on the date (%d years later)', async (years) => {
  const { ring, clock } = await keyring({ name: 'bob', rate: 1 });
  const bob = { name: 'bob', scopes: [], weight: 1, rate: 1 };
  expect(ring.use(bob)).toBe(0);
  clock.now += years * 365 * 86_400_000;
  expect(ring.use(bob)).toBe(60);
  clock.tick += 60_000;
  expect(ring.use(bob)).toBe(0);
});
