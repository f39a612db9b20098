import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { json } from './call.ts';
import { CertificateFiles, type TlsPair } from './certificate-files.ts';
import { createHttpServer } from './server.ts';
import { otherTls, testTls } from './testing/certificate.ts';
import { endpoint } from './testing/world.ts';

function pairIn(folder: string, { certificate, key }: TlsPair): readonly [string, string] {
  const paths = [join(folder, 'certificate.pem'), join(folder, 'key.pem')] as const;
  writeFileSync(paths[0], certificate);
  writeFileSync(paths[1], key);
  return paths;
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A server over TLS whose files are looked at by `look`, twice as the files must be found unchanged once. */
async function served() {
  const folder = newFolder();
  const files = new CertificateFiles(...pairIn(folder, testTls));
  const said: string[] = [];
  const hello = endpoint(() => json('hello'), { method: 'GET', path: '/hello', access: 'open', rateLimited: false });
  const server = createHttpServer({ port: 0, endpoints: [hello], tls: files.pair, onError: expect.fail });
  const { port, addresses } = await server.listen();
  onTestFinished(() => server.close());
  const look = () => files.refresh({ use: server.setCertificate, log: (sentence) => said.push(sentence) });
  return { folder, port, addresses, said, look, lookTwice: () => look().then(look) };
}

/** The address must be certified by this certificate alone. */
function trusts({ certificate: ca }: TlsPair, port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({ host, port, ca }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

test('certificate files: new connections get a changed pair, on every address, and open ones go on', async () => {
  const { folder, port, addresses, said, lookTwice } = await served();
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: testTls.certificate });
  onTestFinished(() => agent.destroy());
  const hello = () =>
    new Promise<unknown>((resolve, reject) => {
      const asked = get({ agent, host: '127.0.0.1', port, path: '/hello' }, (response) => {
        response.resume().on('end', () => resolve({ status: response.statusCode, again: asked.reusedSocket }));
      });
      asked.on('error', reject);
    });
  expect(await hello()).toEqual({ status: 200, again: false });
  expect(await trusts(testTls, port)).toBe(true);

  pairIn(folder, otherTls);
  await lookTwice();
  for (const address of addresses) {
    expect(await trusts(otherTls, port, address)).toBe(true);
    expect(await trusts(testTls, port, address)).toBe(false);
  }
  expect(await hello()).toEqual({ status: 200, again: true });
  expect(said).toEqual([expect.stringMatching(/^The new certificate of --ssl is used .* valid until .*2126/)]);
  await lookTwice();
  expect(said).toHaveLength(1);
});

test('certificate files: a pair is read when both files are replaced, and not between them', async () => {
  const { folder, port, said, look, lookTwice } = await served();
  writeFileSync(join(folder, 'new.pem'), otherTls.certificate);
  renameSync(join(folder, 'new.pem'), join(folder, 'certificate.pem'));
  await look();
  writeFileSync(join(folder, 'key.pem'), otherTls.key);
  await lookTwice();
  expect(await trusts(otherTls, port)).toBe(true);
  expect(said).toHaveLength(1);
});

test.each([
  ['half of the certificate', { ...otherTls, certificate: otherTls.certificate.slice(0, 300) }],
  ['no certificate', { ...otherTls, certificate: 'certificate' }],
  ['half of the key', { ...otherTls, key: otherTls.key.slice(0, 100) }],
  ['the key of another certificate', { ...otherTls, key: testTls.key }],
])('certificate files: %s is refused once, and the former pair stays until a right one comes', async (_, broken) => {
  const { folder, port, said, lookTwice } = await served();
  pairIn(folder, broken);
  await lookTwice();
  await lookTwice();
  expect(said).toEqual([
    expect.stringMatching(/^The changed certificate .* cannot be used: .+\. The former ones stay\.$/),
  ]);
  for (const secret of [otherTls.key, testTls.key]) expect(said.join()).not.toContain(secret.slice(40, 80));
  expect(await trusts(testTls, port)).toBe(true);

  pairIn(folder, otherTls);
  await lookTwice();
  expect(await trusts(otherTls, port)).toBe(true);
});

test('certificate files: a missing file is reported, and the former pair stays', async () => {
  const { folder, port, said, lookTwice } = await served();
  rmSync(join(folder, 'key.pem'));
  await lookTwice();
  expect(said).toEqual([expect.stringContaining('no such file')]);
  expect(await trusts(testTls, port)).toBe(true);
});

test('certificate files: throw at the start for a file that cannot be read', () => {
  expect(() => new CertificateFiles('/nothing/here.pem', '/nothing/key.pem')).toThrow('no such file');
});
