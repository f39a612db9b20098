import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshFolders } from '../store/testing/folder.ts';
import { hashKey, KeyFile, type KeyRules } from './key-file.ts';
import { Keyring } from './keyring.ts';

const freshFolder = freshFolders();

async function keyring(...rules: (Partial<KeyRules> & { name: string })[]) {
  const path = join(freshFolder(), 'keys.json');
  const warnings: string[] = [];
  const file = new KeyFile({ path, warn: (line) => warnings.push(line), now: () => new Date(0) });
  const keys: string[] = [];
  for (const rule of rules) keys.push(await file.add({ scopes: ['text'], weight: 1, ...rule }, 0));
  const clock = { now: 1000 };
  const hashed: string[] = [];
  const ring = new Keyring({
    path,
    file,
    now: () => clock.now,
    warn: (line) => warnings.push(line),
    hash: (key, salt) => {
      hashed.push(salt);
      return hashKey(key, salt);
    },
  });
  await ring.refresh();
  return { path, file, ring, keys, clock, hashed, warnings };
}

const wrong = `parley_aaaaaaaa_${'x'.repeat(43)}`;

test('Keyring: verifies a key once', async () => {
  const { ring, keys, hashed } = await keyring({ name: 'bob' }, { name: 'eve' });
  const [bob = '', eve = ''] = keys;
  expect(await ring.find(bob)).toMatchObject({ name: 'bob' });
  expect(ring.find(bob)).toMatchObject({ name: 'bob' });
  expect(await ring.find(eve)).toMatchObject({ name: 'eve' });
  expect(hashed).toHaveLength(2);
});

test('Keyring: each wrong key costs one hash, whether its id exists or not', async () => {
  const { ring, keys, hashed } = await keyring({ name: 'bob' }, { name: 'eve' });
  const [bob = ''] = keys;
  expect(await ring.find(wrong)).toBeUndefined();
  expect(await ring.find(`${bob.slice(0, -1)}${bob.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined();
  expect(hashed).toHaveLength(2);
  expect(ring.find('no key at all')).toBeUndefined();
});

test('Keyring: refuses to check more than a few unknown keys at once', async () => {
  const { ring } = await keyring();
  const tries = Array.from({ length: 20 }, () => Promise.resolve(ring.find(wrong)).catch(({ code }) => code));
  expect((await Promise.all(tries)).filter((result) => result === 'rate-limited')).toHaveLength(4);
});

test('Keyring: takes up added and revoked keys, and keeps those it has while the file is unreadable', async () => {
  const { path, file, ring, keys, warnings } = await keyring({ name: 'bob' });
  const eve = await file.add({ name: 'eve', scopes: [], weight: 1 }, 0);
  await file.revoke('bob');
  await ring.refresh();
  expect(await ring.find(keys[0] ?? '')).toBeUndefined();
  expect(await ring.find(eve)).toMatchObject({ name: 'eve' });
  writeFileSync(path, '{"file_version":9}');
  await ring.refresh();
  await ring.refresh();
  expect(await ring.find(eve)).toMatchObject({ name: 'eve' });
  expect(warnings).toHaveLength(1);
});

test.each(['', '{"file_version":1,"keys":[{"na', '\0\0\0\0'])(
  'Keyring: keeps its keys while the file is damaged (%j), and does not touch it',
  async (text) => {
    const { path, ring, keys, warnings } = await keyring({ name: 'bob' });
    const before = readFileSync(path);
    writeFileSync(path, text);
    await ring.refresh();
    await ring.refresh();
    expect(await ring.find(keys[0] ?? '')).toMatchObject({ name: 'bob' });
    expect(warnings).toEqual([expect.stringContaining('cannot be read')]);
    expect(readFileSync(path, 'utf8')).toBe(text);
    writeFileSync(path, before);
    await ring.refresh();
    expect(await ring.find(keys[0] ?? '')).toMatchObject({ name: 'bob' });
  },
);

test('Keyring: an expired key is wrong', async () => {
  const { ring, keys, clock } = await keyring({ name: 'bob', expires: 5000 });
  expect(await ring.find(keys[0] ?? '')).toMatchObject({ name: 'bob' });
  clock.now = 5000;
  expect(ring.find(keys[0] ?? '')).toBeUndefined();
});

test('Keyring: a key over its rate has to wait until a minute after its oldest request', async () => {
  const { ring, clock } = await keyring({ name: 'bob', rate: 2 });
  const bob = { name: 'bob', scopes: [], weight: 1, rate: 2 };
  expect([ring.use(bob), ring.use(bob), ring.use(bob)]).toEqual([0, 0, 60]);
  clock.now += 59_500;
  expect(ring.use(bob)).toBe(1);
  clock.now += 500;
  expect(ring.use(bob)).toBe(0);
  expect(ring.list()).toMatchObject([{ name: 'bob', requests: 3, refused: 2, lastSeen: clock.now }]);
});
