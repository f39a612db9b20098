import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PersonRules } from '../core/people.ts';
import { freshFolders } from '../store/testing/folder.ts';
import { Invitations } from './invitations.ts';
import { isKeyName, KeyFile, plainName } from './key-file.ts';
import { Keyring } from './keyring.ts';
import { ServerPeople } from './people.ts';
import { Sessions } from './sessions.ts';

const freshFolder = freshFolders();
const quickHash = async (key: string, salt: string) => createHash('sha256').update(salt).update(key).digest();
const minute = 60_000;
const day = 24 * 60 * minute;

function people({ folder = freshFolder(), password = '', adminPassword = '', keyfile = 'keys.json' } = {}) {
  const clock = { now: Date.UTC(2026, 10, 18), tick: 0 };
  const path = join(folder, keyfile);
  const common = { warn: expect.fail as (sentence: string) => void, now: () => clock.now };
  const file = new KeyFile({
    path,
    warn: common.warn,
    now: () => new Date(clock.now),
    hash: quickHash,
  });
  const warn = () => undefined;
  const ring = new Keyring({ path, file, warn, now: () => clock.now, tick: () => clock.tick, hash: quickHash });
  const options = {
    keys: { ring, file, path },
    password,
    adminPassword,
    invitations: new Invitations({ ...common, path: join(folder, 'state', 'invitations.json'), keyfile: path }),
    sessions: new Sessions({ ...common, path: join(folder, 'state', 'sessions.json') }),
    now: () => clock.now,
    tick: () => clock.tick,
  };
  const server = new ServerPeople(options);
  const rules: PersonRules = { scopes: ['chat'] };
  const invite = (name: string, own: PersonRules | undefined = rules) =>
    server.invite({ name, rules: own, lifetimeMs: 15 * minute, by: 'test' });
  const sign = { device: 'a phone', remember: true, address: '192.0.2.1' };
  const left = new Set<string>();
  const join2 = (token: string) => server.join(token, sign, async (name) => left.has(name));
  return { folder, clock, file, ring, server, invite, left, join: join2, sign, path };
}

const pathOf = join;
const code = (error: { code?: string }) => error.code;
const failure = (promise: Promise<unknown>) => promise.then(() => 'none', code);

describe('invitations', () => {
  test('invitations: the first who opens the link gets the key and is signed in, the second is refused', async () => {
    const { server, invite, join, ring } = people();
    const { token } = await invite('Anna María');
    const { token: cookie, holder } = await join(token);
    expect(holder).toEqual({ type: 'key', name: 'Anna María', scopes: ['chat'] });
    expect(await server.find(cookie)).toMatchObject({ key: { name: 'Anna María', shared: false, weight: 1 } });
    expect(ring.list()).toHaveLength(1);
    expect(await failure(join(token))).toBe('invitation-used');
    expect(await server.invitations()).toEqual([]);
  });

  test('invitations: a preview says what a link is for and whether it still works, and does not use it up', async () => {
    const { server, invite, join, clock, sign } = people();
    const preview = (token: string) => server.preview(token, sign.address);
    const [anna, late] = [await invite('Anna'), await invite('late')];
    expect(await preview(anna.token)).toMatchObject({ name: 'Anna', state: 'open', rules: { scopes: ['chat'] } });
    expect(await preview(anna.token)).not.toHaveProperty('hash');
    await join(anna.token);
    expect(await preview(anna.token)).toMatchObject({ state: 'used' });
    clock.now += 15 * minute;
    expect(await preview(late.token)).toMatchObject({ state: 'expired' });
    for (let count = 0; count < 20; count++) expect(await failure(preview('wrong'))).toBe('invitation-unknown');
    expect(await failure(preview('wrong'))).toBe('too-many-tries');
  });

  test('people: what somebody may do is changed at once, on their devices, too; the key stays', async () => {
    const { server, invite, join, ring } = people();
    const { token } = await join((await invite('Anna')).token);
    const [before] = ring.list();
    const limits = { rate: 5, tokensPerDay: 1000, weight: 2, shared: true, expires: 4e12 };
    expect(await server.change('Anna', { scopes: ['images'], ...limits })).toBe(true);
    expect(ring.list()).toEqual([{ ...before, scopes: ['images'], ...limits }]);
    expect(await server.find(token)).toMatchObject({ holder: { name: 'Anna', scopes: ['images'] } });
    expect(await server.change('Anna', { scopes: ['chat'] })).toBe(true);
    expect(ring.list()[0]).not.toHaveProperty('rate');
    expect(await server.change('nobody', { scopes: ['chat'] })).toBe(false);
  });

  test('people: who is removed has no key, no session and no invitation, and their own invitations are withdrawn', async () => {
    const { server, invite, join, ring, folder } = people();
    const { token } = await join((await invite('Anna')).token);
    await invite('Ben');
    const another = await server.invite({ name: 'Anna', lifetimeMs: minute, by: 'Anna' });
    await server.invite({ name: 'Carl', rules: { scopes: ['chat'] }, lifetimeMs: minute, by: 'Anna' });
    expect([await server.remove('nobody'), await server.remove('Anna')]).toEqual([false, true]);
    expect([ring.list(), await server.sessions(), await server.find(token)]).toEqual([[], [], undefined]);
    expect((await server.invitations()).map(({ name }) => name)).toEqual(['Ben']);
    expect(await failure(join(another.token))).toBe('invitation-unknown');
    for (const file of ['invitations.json', 'sessions.json'])
      expect(readFileSync(pathOf(folder, 'state', file), 'utf8')).not.toMatch(/Anna|a phone/);
    // A person of the same name gets another key.
    expect((await join((await invite('Anna')).token)).holder).toMatchObject({ name: 'Anna' });
  });

  test('invitations: of many who open one link at once, one gets in', async () => {
    const { invite, join, ring } = people();
    const { token } = await invite('anna');
    const results = await Promise.all(Array.from({ length: 10 }, () => failure(join(token))));
    expect(results.filter((result) => result === 'none')).toHaveLength(1);
    expect(ring.list()).toHaveLength(1);
  });

  test('invitations: end with their time, and when they are withdrawn', async () => {
    const { server, invite, join, clock } = people();
    const [late, withdrawn] = [await invite('late'), await invite('withdrawn')];
    expect((await server.invitations()).map(({ name }) => name)).toEqual(['withdrawn', 'late']);
    expect([await server.withdraw(withdrawn.id), await server.withdraw(withdrawn.id)]).toEqual([true, false]);
    expect(await failure(join(withdrawn.token))).toBe('invitation-unknown');
    clock.now += 15 * minute;
    expect(await failure(join(late.token))).toBe('invitation-used');
  });

  test('invitations: who makes many for their own devices pushes out none of others', async () => {
    const { server, invite, file } = people();
    await file.add({ name: 'eve', scopes: ['chat'], weight: 1 }, 0);
    const { token } = await invite('Anna');
    for (let count = 0; count < 25; count++) await server.invite({ name: 'eve', lifetimeMs: minute, by: 'eve' });
    const names = (await server.invitations()).map(({ name }) => name);
    expect([names.filter((name) => name === 'eve').length, names.at(-1)]).toEqual([20, 'Anna']);
    expect((await server.preview(token, '192.0.2.1')).state).toBe('open');
  });

  test('invitations: one that is withdrawn while it is used says that it was used already', async () => {
    const { server, invite, join, ring } = people();
    const { id, token } = await invite('Anna');
    const [joined, withdrawn] = await Promise.all([failure(join(token)), server.withdraw(id)]);
    expect([joined, withdrawn, ring.list().length]).toEqual(['none', false, 1]);
    expect((await server.preview(token, '192.0.2.1')).state).toBe('used');
  });

  test('people: who is removed while they join has not joined', async () => {
    const { server, invite, join, ring } = people();
    const { token } = await invite('Anna');
    const [joined, removed] = await Promise.all([join(token), server.remove('Anna')]);
    expect([removed, ring.list(), await server.find(joined.token)]).toEqual([true, [], undefined]);
  });

  test('invitations: a link for a device of a person is not one for another person who has the name later', async () => {
    const { server, clock, file, ring, join } = people();
    await file.add({ name: 'bob', scopes: ['text'], weight: 1 }, clock.now);
    const { token } = await server.invite({ name: 'bob', lifetimeMs: minute, by: 'bob' });
    await file.revoke('bob');
    clock.now += 1000;
    await file.add({ name: 'bob', scopes: ['text'], weight: 1 }, clock.now);
    await ring.refresh();
    expect(await failure(join(token))).toBe('invitation-used');
  });

  test('invitations: a key file that is damaged, perhaps by somebody who edits it, is left alone, and the link works when it is whole again', async () => {
    const { server, invite, join, file, path, ring } = people();
    await join((await invite('Anna')).token);
    // A process of its own, such as a command.
    const command = new KeyFile({ path, warn: expect.fail, now: () => new Date(), hash: quickHash });
    await command.revoke('Anna');
    const whole = readFileSync(path, 'utf8');
    const { token } = await invite('Ben');
    writeFileSync(path, `${whole.slice(0, -3)},`);
    await expect(join(token)).rejects.toThrow('left alone');
    await expect(server.remove('Ben')).rejects.toThrow('left alone');
    expect(readFileSync(path, 'utf8')).toBe(`${whole.slice(0, -3)},`);
    writeFileSync(path, whole);
    await ring.refresh();
    const other = await invite('Carl');
    await join(other.token);
    expect((await file.keys()).map(({ name }) => name)).toEqual(['Carl']);
  });

  test('people: signing a device out withdraws the links for other devices of the person, which it may have made', async () => {
    const { server, invite, join } = people();
    await join((await invite('Anna')).token);
    await invite('Ben');
    const { token } = await server.invite({ name: 'Anna', lifetimeMs: minute, by: 'Anna' });
    expect(await server.signOut(({ holder }) => holder.type === 'key')).toBe(1);
    expect((await server.invitations()).map(({ name }) => name)).toEqual(['Ben']);
    expect(await failure(join(token))).toBe('invitation-unknown');
  });

  test('invitations: a name that is taken is refused, and one that was taken meanwhile gets a number', async () => {
    const { invite, join } = people();
    const [one, other] = [await invite('anna'), await invite('anna')];
    expect((await join(one.token)).holder).toMatchObject({ name: 'anna' });
    expect((await join(other.token)).holder).toMatchObject({ name: 'anna 2' });
    expect(await failure(invite('anna'))).toBe('name-taken');
  });

  test('invitations: a suggested name is never that of somebody who was removed and has left something', async () => {
    const { server, join, left, invite } = people();
    const suggest = () =>
      server.invite({ name: 'Phone', suggested: true, rules: { scopes: ['chat'] }, lifetimeMs: minute, by: 'console' });
    const nameOf = async (token: string) => {
      const { holder } = await join(token);
      return holder.type === 'key' && holder.name;
    };
    expect(await nameOf((await suggest()).token)).toBe('Phone');
    expect((await suggest()).name).toBe('Phone 2');
    await server.remove('Phone');
    left.add('Phone').add('Phone 2');
    expect(await nameOf((await suggest()).token)).toBe('Phone 3');
    // An invitation that names the person gives back what was kept.
    expect(await nameOf((await invite('Phone')).token)).toBe('Phone');
  });

  test('people: one whose key has expired is not invited, keeps the devices for later, and can be signed out', async () => {
    const { server, invite, join, file, ring, clock } = people();
    const expires = clock.now + 5 * minute;
    expect(await failure(invite('late', { scopes: ['chat'], expires: clock.now }))).toBe('invalid-field');
    const { token } = await join((await invite('Anna', { scopes: ['chat'], expires })).token);
    const link = await server.invite({ name: 'Anna', lifetimeMs: 10 * minute, by: 'Anna' });
    clock.now += 6 * minute;
    expect(await server.find(token)).toBeUndefined();
    expect(await failure(join(link.token))).toBe('person-expired');
    expect(await failure(server.invite({ name: 'Anna', lifetimeMs: minute, by: 'admin' }))).toBe('person-expired');
    expect(await server.sessions()).toMatchObject([{ holder: { name: 'Anna' } }]);
    await file.change({ name: 'Anna', scopes: ['chat'], weight: 1 });
    await ring.refresh();
    expect(await server.find(token)).toMatchObject({ key: { name: 'Anna' } });
    expect(await server.signOut(({ holder }) => holder.type === 'key')).toBe(1);
  });

  test('invitations: another device of a person signs in with the same key', async () => {
    const { server, join, file, ring } = people();
    await file.add({ name: 'bob', scopes: ['text'], weight: 1 }, 0);
    const invite = (name: string) => server.invite({ name, lifetimeMs: minute, by: 'bob' });
    const { token } = await invite('bob');
    expect(await failure(invite('eve'))).toBe('not-stored');
    expect(await failure(server.joinWithKey(token, '192.0.2.1', async () => false))).toBe('unsupported');
    expect((await join(token)).holder).toEqual({ type: 'key', name: 'bob', scopes: ['text'] });
    expect(ring.list()).toHaveLength(1);
  });

  test('invitations: an app gets the key itself, which is stored nowhere', async () => {
    const { server, invite, folder, path } = people();
    const { token } = await invite('app', { scopes: ['chat'], rate: 3, tokensPerDay: 5, expires: 9e12, shared: true });
    const { key, holder } = await server.joinWithKey(token, '192.0.2.1', async () => false);
    expect(holder).toMatchObject({ name: 'app' });
    const { holder: signedIn } = await server.signIn(key, { device: '', remember: true, address: '' });
    expect(signedIn).toEqual(holder);
    const stored = readFileSync(path, 'utf8') + readFileSync(join(folder, 'state', 'invitations.json'), 'utf8');
    for (const secret of [key, token]) expect(stored).not.toContain(secret);
    expect(stored).toContain('"tokensPerDay": 5');
  });

  test('invitations: belong to their key file', async () => {
    const first = people();
    const second = people({ folder: first.folder, keyfile: 'others.json' });
    const { token } = await first.invite('anna');
    expect(await failure(second.join(token))).toBe('invitation-unknown');
    expect(await second.server.invitations()).toEqual([]);
    expect((await first.join(token)).holder).toMatchObject({ name: 'anna' });
  });

  test('invitations: wrong tokens of one network are refused for a minute after the twentieth', async () => {
    const { join, clock, sign, server } = people();
    for (let count = 0; count < 20; count++) expect(await failure(join(`wrong ${count}`))).toBe('invitation-unknown');
    expect(await failure(join('wrong'))).toBe('too-many-tries');
    expect(await failure(server.join('wrong', { ...sign, address: '192.0.2.2' }, async () => false))).toBe(
      'invitation-unknown',
    );
    clock.tick += minute;
    expect(await failure(join('wrong'))).toBe('invitation-unknown');
  });

  test('invitations: who tries wrong tokens and passwords locks out nobody of the network who has a right token or key', async () => {
    const { invite, join, sign, server, file, ring } = people({ password: 'secret' });
    const key = await file.add({ name: 'bob', scopes: ['text'], weight: 1 }, 0);
    await ring.refresh();
    const { token } = await invite('anna');
    for (let count = 0; count < 20; count++) expect(await failure(server.signIn('wrong', sign))).toBe('unauthorized');
    expect(await failure(server.signIn('secret', sign))).toBe('too-many-tries');
    expect((await server.preview(token, sign.address)).state).toBe('open');
    expect((await join(token)).holder).toMatchObject({ name: 'anna' });
    expect((await server.signIn(key, sign)).holder).toMatchObject({ name: 'bob' });
  });

  test('invitations: without a key file are not possible', async () => {
    const sessions = new Sessions({ path: join(freshFolder(), 'x.json'), warn: expect.fail, now: () => 0 });
    const server = new ServerPeople({ invitations: undefined, sessions, now: () => 0, tick: () => 0 });
    expect(await failure(server.invite({ name: 'a', rules: { scopes: [] }, lifetimeMs: 1, by: '' }))).toBe(
      'unsupported',
    );
    expect(await failure(server.join('x', { device: '', remember: true, address: '' }, async () => false))).toBe(
      'invitation-unknown',
    );
    expect(await failure(server.preview('x', ''))).toBe('unsupported');
  });
});

describe('sessions', () => {
  test('sessions: end when the key is revoked, and a new key of this name does not bring them back', async () => {
    const { server, invite, join, file, ring } = people();
    const { token } = await join((await invite('anna')).token);
    await file.revoke('anna');
    await file.add({ name: 'anna', scopes: ['chat', 'admin'], weight: 1 }, 0);
    await ring.refresh();
    expect(await server.find(token)).toBeUndefined();
    expect(await server.sessions()).toEqual([]);
  });

  test('sessions: have the rules that the key has now', async () => {
    const { server, file, ring, clock } = people();
    const key = await file.add({ name: 'bob', scopes: ['text'], weight: 1, expires: clock.now + day }, 0);
    await ring.refresh();
    const { token } = await server.signIn(key, { device: '', remember: true, address: '' });
    expect(await server.find(token)).toMatchObject({ holder: { name: 'bob' } });
    clock.now += day;
    expect(await server.find(token)).toBeUndefined();
  });

  test('sessions: of a password end when another password is set, and that of the administrator is one of its own', async () => {
    const folder = freshFolder();
    const first = people({ folder, password: 'one', adminPassword: 'boss' });
    const { sign } = first;
    const user = await first.server.signIn('one', sign);
    const admin = await first.server.signIn('boss', sign);
    expect([user.holder, admin.holder]).toEqual([{ type: 'password' }, { type: 'admin' }]);
    const second = people({ folder, password: 'two', adminPassword: 'boss' });
    expect(await second.server.find(user.token)).toBeUndefined();
    expect(await second.server.find(admin.token)).toMatchObject({ holder: { type: 'admin' } });
    expect(await people({ folder }).server.find(admin.token)).toBeUndefined();
  });

  test('sessions: the file has neither tokens nor passwords, and is for the account alone', async () => {
    const { server, sign, folder } = people({ password: 'a long password' });
    const { token } = await server.signIn('a long password', sign);
    const file = join(folder, 'state', 'sessions.json');
    const stored = readFileSync(file, 'utf8');
    for (const secret of ['a long password', token]) expect(stored).not.toContain(secret);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('sessions: a wrong password is refused, and after twenty of them the right one too, for a minute', async () => {
    const { server, sign, clock } = people({ password: 'right' });
    for (let count = 0; count < 20; count++) expect(await failure(server.signIn('wrong', sign))).toBe('unauthorized');
    expect(await failure(server.signIn('right', sign))).toBe('too-many-tries');
    clock.tick += minute;
    expect(await failure(server.signIn('right', sign))).toBe('none');
  });

  test('sessions: end after 90 days without use, those that are not remembered after one', async () => {
    const { server, sign, clock } = people({ password: 'right' });
    const long = (await server.signIn('right', sign)).token;
    const brief = (await server.signIn('right', { ...sign, remember: false })).token;
    clock.now += 89 * day;
    expect(await server.find(brief)).toBeUndefined();
    expect(await server.find(long)).toBeDefined();
    clock.now += 89 * day;
    expect(await server.find(long)).toBeDefined();
    clock.now += 91 * day;
    expect(await server.find(long)).toBeUndefined();
  });

  test('sessions: signing out ends those of one person, also for another server of this account', async () => {
    const first = people({ password: 'right' });
    const second = people({ folder: first.folder, password: 'right' });
    const anna = await first.join((await first.invite('anna')).token);
    const other = await first.server.signIn('right', first.sign);
    await second.ring.refresh();
    expect(await second.server.find(anna.token)).toBeDefined();
    const isAnna = ({ holder }: { holder: object }) => 'name' in holder && holder.name === 'anna';
    expect(await first.server.signOut(isAnna)).toBe(1);
    expect(await first.server.find(anna.token)).toBeUndefined();
    expect(await first.server.find(other.token)).toBeDefined();
    second.clock.now += 1000;
    expect(await second.server.find(anna.token)).toBeUndefined();
  });

  test('sessions: of one person the hundred last used are kept', async () => {
    const { server, sign, clock } = people({ password: 'right' });
    const first = (await server.signIn('right', sign)).token;
    for (let count = 0; count < 100; count++) {
      clock.now += 1;
      await server.signIn('right', sign);
    }
    expect(await server.find(first)).toBeUndefined();
    expect(await server.sessions()).toHaveLength(100);
  });
});

test.each(['anna', 'Anna María', '花子', 'O’Brien', 'ann@example.org', 'Владимир 2'])('isKeyName: accepts %s', (name) =>
  expect(isKeyName(name)).toBe(true),
);
test.each(['', ' anna', 'anna ', 'a  b', '../x', 'a/b', 'a\nb', '-a', '.a', 'a\u0000', 'x'.repeat(65), 'a\u202eb'])(
  'isKeyName: refuses %j',
  (name) => expect(isKeyName(name)).toBe(false),
);
test('plainName: composes, and trims spaces', () => expect(plainName(' Jo\u0308rg   B ')).toBe('Jörg B'));
