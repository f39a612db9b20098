import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CertificatePair,
  createAuthority,
  createServerCertificate,
  isIssuedBy,
  isPermitted,
} from './certificates.ts';

const now = Date.now();
const day = 86_400_000;
const machineNames = ['desk-1', 'desk.example.net'];
const authority = createAuthority(machineNames, { name: 'desk-1', now });
const hosts = ['localhost', 'parley.local', 'desk-1', 'desk.example.net', '127.0.0.1', '192.168.1.5', '::1', 'fd00::5'];
const server = createServerCertificate(authority, hosts, { name: 'Parley', now });

/** Connects as a client that trusts the authority alone; resolves with the fault. */
async function verify(pair: CertificatePair, host: string, ca = authority.certificate): Promise<string | undefined> {
  const listening = createServer({ cert: pair.certificate, key: pair.key }, (socket) => socket.end());
  listening.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const { port } = listening.address() as AddressInfo;
  const fault = await new Promise<string | undefined>((resolve) => {
    const client = connect({
      host: '127.0.0.1',
      port,
      ca,
      servername: /[:]|^\d+\./.test(host) ? '' : host,
      checkServerIdentity: () => undefined,
    });
    client.once('secureConnect', () => {
      resolve(undefined);
      client.destroy();
    });
    client.once('error', (error: NodeJS.ErrnoException) => resolve(`${error.code}: ${error.message}`));
  });
  await new Promise((resolve) => listening.close(resolve));
  return fault;
}

describe('createAuthority', () => {
  const certificate = new X509Certificate(authority.certificate);

  test('is a certificate that signs itself and belongs to its key', () => {
    expect(certificate.ca).toBe(true);
    expect(certificate.subject).toBe('O=Parley\nCN=Parley on desk-1');
    expect(certificate.issuer).toBe(certificate.subject);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(authority.key))).toBe(true);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });

  test('is valid for ten years from yesterday', () => {
    expect(Math.abs(Date.parse(certificate.validFrom) - (now - day))).toBeLessThan(1000);
    expect(Math.abs(Date.parse(certificate.validTo) - (now + 3649 * day))).toBeLessThan(1000);
  });

  test('writes years from 2050 in the longer form', () => {
    const later = createAuthority([], { name: 'desk-1', now: Date.UTC(2045, 5, 1) });
    expect(new Date(new X509Certificate(later.certificate).validTo).getUTCFullYear()).toBe(2055);
  });

  test('two of them have different keys and serial numbers', () => {
    const other = new X509Certificate(createAuthority(machineNames, { name: 'desk-1', now }).certificate);
    expect(other.serialNumber).not.toBe(certificate.serialNumber);
    expect(other.checkPrivateKey(createPrivateKey(authority.key))).toBe(false);
  });

  test('a long name of the machine is shortened', () => {
    const { subject } = new X509Certificate(createAuthority([], { name: 'x'.repeat(200), now }).certificate);
    expect(subject.split('CN=')[1]).toHaveLength(64);
  });

  test('a serial number is positive and not empty', () => {
    for (const byte of [0x00, 0x7f, 0x80, 0xff]) {
      const made = createAuthority([], { name: 'desk-1', now, random: (length) => Buffer.alloc(length, byte) });
      const expected = byte === 0 ? '00' : byte.toString(16).padStart(2, '0').repeat(16).toUpperCase();
      expect(new X509Certificate(made.certificate).serialNumber.padStart(2, '0')).toBe(expected);
    }
  });
});

describe('createServerCertificate', () => {
  const certificate = new X509Certificate(server.certificate);

  test('names all hosts and is signed by the authority', () => {
    expect(certificate.ca).toBe(false);
    expect(certificate.subjectAltName).toBe(
      'DNS:localhost, DNS:parley.local, DNS:desk-1, DNS:desk.example.net, IP Address:127.0.0.1, IP Address:192.168.1.5, IP Address:0:0:0:0:0:0:0:1, IP Address:FD00:0:0:0:0:0:0:5',
    );
    expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
    expect(isIssuedBy(server, authority)).toBe(true);
    expect(isIssuedBy(server, createAuthority(machineNames, { name: 'desk-1', now }))).toBe(false);
    for (const host of ['parley.local', 'desk-1']) expect(certificate.checkHost(host)).toBe(host);
    for (const address of ['192.168.1.5', '::1']) expect(certificate.checkIP(address)).toBe(address);
  });

  test('is valid for no longer than iOS allows', () => {
    const days = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / day;
    expect(days).toBe(90);
  });

  test.each(hosts)('a TLS client that trusts the authority accepts %s', async (host) => {
    expect(await verify(server, host)).toBeUndefined();
  });

  test('a client that does not trust the authority refuses it', async () => {
    const other = createAuthority(machineNames, { name: 'desk-1', now });
    expect(await verify(server, 'localhost', other.certificate)).toMatch(/SELF_SIGNED|UNABLE_TO|SIGNATURE/);
  });
});

describe('name constraints: a stolen key of the authority vouches for nothing on the internet', () => {
  test.each([
    'example.com',
    'www.example.com',
    'mylocal',
    'desk.example.com',
    'xdesk-1',
    '8.8.8.8',
    '172.32.0.1',
    '2001:db8::1',
  ])('%s is refused by a client that trusts the authority', async (host) => {
    expect(isPermitted(host, machineNames)).toBe(false);
    const forged = createServerCertificate(authority, ['localhost', host], { name: 'Parley', now });
    expect(await verify(forged, host)).toContain('permitted subtree violation');
  });

  test.each([
    ...hosts,
    'a.desk-1',
    'x.local',
    'nas.home.arpa',
    '10.0.0.1',
    '172.31.255.255',
    '100.64.0.1',
    '169.254.1.1',
  ])('%s is permitted', async (host) => {
    expect(isPermitted(host, machineNames)).toBe(true);
    const issued = createServerCertificate(authority, [host], { name: 'Parley', now });
    expect(await verify(issued, host)).toBeUndefined();
  });

  test.each(['dev', 'app', 'xn--p1ai'])(
    'a machine that is called %s like a top-level domain gives it no names of the internet',
    async (name) => {
      const made = createAuthority([name], { name, now });
      for (const host of [name, `www.example.${name}`]) {
        expect(isPermitted(host, [name])).toBe(false);
        const forged = createServerCertificate(made, ['localhost', host], { name: 'Parley', now });
        expect(await verify(forged, host, made.certificate)).toContain('permitted subtree violation');
      }
    },
  );

  test('an authority below it is refused', async () => {
    const below = createServerCertificate(server, ['localhost'], { name: 'Parley', now });
    expect(await verify({ ...below, certificate: below.certificate + server.certificate }, 'localhost')).toBeDefined();
  });
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe.skipIf(!hasOpenssl)('openssl verify (skipped where there is no openssl)', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-certificates-'));
    writeFileSync(join(folder, 'authority.crt'), authority.certificate);
    writeFileSync(join(folder, 'server.crt'), server.certificate);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('accepts the chain with all its checks', () => {
    const options = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'parley.local'];
    const files = ['-CAfile', join(folder, 'authority.crt'), join(folder, 'server.crt')];
    expect(execFileSync('openssl', ['verify', ...options, ...files], { encoding: 'utf8' })).toContain('OK');
  });

  test('reads the name constraints', () => {
    const files = ['-in', join(folder, 'authority.crt')];
    const text = execFileSync('openssl', ['x509', '-noout', '-text', ...files], { encoding: 'utf8' });
    for (const part of [
      'Name Constraints: critical',
      'DNS:desk.example.net',
      'IP:192.168.0.0/255.255.0.0',
      'CA:TRUE, pathlen:0',
    ])
      expect(text).toContain(part);
    expect(text).toContain('IP:FC00:0:0:0:0:0:0:0/FE00:0:0:0:0:0:0:0');
  });
});
