import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CertificateStore, fingerprintOf, renewed } from './certificate-store.ts';

const day = 86_400_000;
const start = Date.UTC(2027, 0, 1);
const needed = { hosts: ['localhost', '192.168.1.5'], machineNames: ['desk-1'], name: 'desk-1', now: start };

describe('renewed', () => {
  const first = renewed(undefined, needed);

  test('keeps certificates that last and name all hosts', () => {
    expect(renewed(first, { ...needed, now: start + 50 * day })).toBe(first);
    expect(renewed(first, { ...needed, hosts: ['localhost'] })).toBe(first);
  });

  test('a new address needs another certificate of the same authority, which names the former ones, too', () => {
    const next = renewed(first, { ...needed, hosts: ['localhost', '10.0.0.7'] });
    expect(next.authority).toBe(first.authority);
    expect(next.hosts).toEqual(['localhost', '10.0.0.7', '192.168.1.5']);
    expect(renewed(next, needed)).toBe(next);
  });

  test('the list of former addresses is bounded', () => {
    let certificates = first;
    for (let count = 0; count < 60; count++)
      certificates = renewed(certificates, { ...needed, hosts: ['localhost', `10.0.0.${count}`] });
    expect(certificates.hosts).toHaveLength(32);
    expect(certificates.hosts.slice(0, 3)).toEqual(['localhost', '10.0.0.59', '10.0.0.58']);
  });

  test('renews the certificate of the server a month before its end', () => {
    expect(renewed(first, { ...needed, now: start + 58 * day })).toBe(first);
    const next = renewed(first, { ...needed, now: start + 60 * day });
    expect([next.authority, next.server.key === first.server.key]).toEqual([first.authority, false]);
  });

  test('renews the authority a year before its end', () => {
    const next = renewed(first, { ...needed, now: start + 3300 * day });
    expect(next.authority).not.toBe(first.authority);
    expect(
      new X509Certificate(next.server.certificate).verify(new X509Certificate(next.authority.certificate).publicKey),
    ).toBe(true);
  });

  test('renews a certificate from the future: the clock was wrong', () => {
    const next = renewed(first, { ...needed, now: start - 30 * day });
    expect(next.server).not.toBe(first.server);
    expect(next.authority).toBe(first.authority);
  });

  test('leaves out names and addresses for which the authority may not vouch', () => {
    const { hosts } = renewed(undefined, {
      ...needed,
      hosts: ['localhost', 'example.com', '8.8.8.8', '2001:db8::1', 'desk-1'],
    });
    expect(hosts).toEqual(['localhost', 'desk-1']);
  });

  test('replaces a certificate that does not belong to its key', () => {
    const other = renewed(undefined, needed);
    expect(renewed({ ...first, server: { ...first.server, key: other.server.key } }, needed).server.key).not.toBe(
      other.server.key,
    );
  });
});

describe('CertificateStore', () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'parley-lan-'));
    onTestFinished(() => rmSync(path, { recursive: true }));
    return path;
  }
  const store = (path: string, warned: string[] = []) =>
    new CertificateStore({ path, warn: (sentence) => warned.push(sentence), now: () => new Date(start) });

  test('keeps them in a file that only the account can read', async () => {
    const path = join(folder(), 'lan', 'certificates.json');
    expect(await store(path).read()).toBeUndefined();
    const first = await store(path).renew(needed);
    expect(await store(path).renew(needed)).toEqual(first);
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8')).file_version).toBe(1);
  });

  test('makes everything anew if that is asked for; a running server takes it up', async () => {
    const path = join(folder(), 'certificates.json');
    const server = store(path);
    const first = await server.renew(needed);
    const second = await store(path).renew(needed, true);
    expect(second.authority).not.toEqual(first.authority);
    expect(await server.renew(needed)).toEqual(second);
  });

  test('two servers that start at the same time have the same authority', async () => {
    const path = join(folder(), 'certificates.json');
    const [one, two] = await Promise.all([store(path).renew(needed), store(path).renew(needed)]);
    expect(one).toEqual(two);
  });

  test.each([
    ['no JSON', 'x'],
    ['no certificates', '{"file_version":1}'],
    [
      'a damaged certificate',
      '{"file_version":1,"machineNames":[],"hosts":[],"authority":{"certificate":"x","key":"y"},"server":{"certificate":"x","key":"y"}}',
    ],
  ])('puts a damaged file aside and says so: %s', async (_, text) => {
    const path = join(folder(), 'certificates.json');
    writeFileSync(path, text);
    const warned: string[] = [];
    await store(path, warned).renew(needed);
    expect(warned.join()).toMatch(/is damaged/);
    expect(readdirSync(join(path, '..')).some((name) => name.includes('.damaged-'))).toBe(true);
  });
});

test('fingerprintOf: as browsers show it', () => {
  const { authority } = renewed(undefined, needed);
  expect(fingerprintOf(authority.certificate)).toBe(new X509Certificate(authority.certificate).fingerprint256);
});
