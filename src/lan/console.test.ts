import { expect, test } from 'vitest';
import { addressLines, invitationLines, nextCodeLine } from './console.ts';

const facts = { addresses: ['192.168.1.5'], names: [], port: 5001, isPublic: true, unnamed: [], fingerprint: 'AA:BB' };

test('addressLines: all addresses and names, the page about the certificate, and its fingerprint', () => {
  expect(addressLines({ ...facts, addresses: ['192.168.1.5', 'fd00::5'], names: ['parley.local'] })).toEqual([
    'In your network: http://192.168.1.5:5001/  http://[fd00::5]:5001/  http://parley.local:5001/',
    'With a microphone and as an app: https:// instead of http://. How to trust its certificate: http://192.168.1.5:5001/lan',
    'Fingerprint of its authority (SHA-256): AA:BB',
  ]);
});

test('addressLines: with a certificate of its own there is nothing to trust', () => {
  expect(addressLines({ ...facts, fingerprint: undefined })).toEqual(['In your network: http://192.168.1.5:5001/']);
});

test('addressLines: a public address is one of the internet, and not in the certificate', () => {
  const lines = addressLines({ ...facts, addresses: ['203.0.114.5'], unnamed: ['203.0.114.5'] });
  expect(lines[1]).toMatch(/^203\.0\.114\.5 is a public address: everybody on the internet/);
  expect(lines.at(-1)).toMatch(/by name only, such as https:\/\/parley\.local:5001/);
});

test('addressLines: says that nobody else connects, without a network or with --host of this machine', () => {
  expect(addressLines({ ...facts, addresses: [] })).toEqual([
    'No network is connected: others cannot reach this server yet.',
  ]);
  expect(addressLines({ ...facts, addresses: ['127.0.0.1'], isPublic: false })[0]).toBe(
    'Only this machine reaches the server: it listens on 127.0.0.1 (--host).',
  );
});

test('invitationLines: the code, its link, until when it works, and whose key it makes', () => {
  const invitation = { name: 'Phone', token: 'abc', expires: new Date(2027, 0, 1, 9, 5).getTime() };
  const lines = invitationLines(facts, invitation, false);
  expect(lines.some((line) => line.includes('█'))).toBe(true);
  expect(lines.slice(-2)).toEqual([
    'Scan it with the camera of a phone, or open http://192.168.1.5:5001/join#abc',
    'It works once, until 09:05, and gives the phone a key of its own ("Phone"). Show it to nobody else.',
  ]);
  expect(invitationLines({ ...facts, addresses: [] }, invitation, false)).toEqual([]);
});

test('nextCodeLine: names the program as it is started', () => {
  expect(nextCodeLine('npm start --')).toBe('To let a phone in: npm start -- lan --new shows a QR code.');
});
