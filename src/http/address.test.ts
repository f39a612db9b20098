import { expect, test } from 'vitest';
import { hostName, isLoopback, isPublicAddress, plainAddress } from './address.ts';

test.each([
  ['localhost', 'localhost'],
  ['LocalHost:5001', 'localhost'],
  ['box.local.', 'box.local'],
  ['my_box-2.example:80', 'my_box-2.example'],
  ['192.0.2.7:5001', '192.0.2.7'],
  ['[::1]:5001', '::1'],
  ['[FE80::1]', 'fe80::1'],
  ['[::ffff:127.0.0.1]', '::ffff:127.0.0.1'],
  ['127.1:5001', '127.0.0.1'],
  ['2130706433', '127.0.0.1'],
  ['0x7f000001', '127.0.0.1'],
  ['0177.0.0.1', '127.0.0.1'],
  ['0', '0.0.0.0'],
  ['1.2.3.4.5', undefined],
  ['name.256', undefined],
  ['box1', 'box1'],
  ['[nonsense]', undefined],
  ['[::1', undefined],
  ['user@host', undefined],
  ['host/path', undefined],
  ['host:port', undefined],
  ['', undefined],
  ['a b', undefined],
])('hostName: %j gives %j', (authority, name) => {
  expect(hostName(authority)).toBe(name);
});

test.each([
  ['localhost', true],
  ['app.localhost', true],
  ['127.0.0.1', true],
  ['127.255.0.9', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['localhost.example', false],
  ['128.0.0.1', false],
  ['127.example', false],
  ['fe80::1', false],
])('isLoopback: %s is %s', (name, expected) => {
  expect(isLoopback(name)).toBe(expected);
});

test.each([
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['192.0.2.7', '192.0.2.7'],
  [undefined, ''],
])('plainAddress: %s becomes %s', (address, shown) => {
  expect(plainAddress(address)).toBe(shown);
});

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '93.184.215.14',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '2001:4860:4860::8888',
])('isPublicAddress: %s is public', (address) => expect(isPublicAddress(address)).toBe(true));

test.each([
  ['this machine', '127.0.0.1'],
  ['this machine', '127.255.255.254'],
  ['this machine', '::1'],
  ['any address', '0.0.0.0'],
  ['any address', '::'],
  ['this network', '0.1.2.3'],
  ['private', '10.0.0.1'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['private', 'fc00::1'],
  ['private', 'fd12:3456::1'],
  ['shared by a provider', '100.64.0.1'],
  ['shared by a provider', '100.127.255.255'],
  ['link-local', '169.254.169.254'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['site-local', 'fec0::1'],
  ['protocol assignments', '192.0.0.8'],
  ['documentation', '192.0.2.1'],
  ['documentation', '198.51.100.7'],
  ['documentation', '203.0.113.9'],
  ['documentation', '2001:db8::1'],
  ['documentation', '3fff::1'],
  ['a relay', '192.88.99.1'],
  ['benchmarks', '198.18.0.1'],
  ['multicast', '224.0.0.1'],
  ['multicast', '239.255.255.250'],
  ['multicast', 'ff02::1'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['IPv4 in IPv6', '::ffff:127.0.0.1'],
  ['IPv4 in IPv6', '::ffff:8.8.8.8'],
  ['IPv4 in IPv6', '::ffff:a00:1'],
  ['IPv4 in IPv6', '::127.0.0.1'],
  ['a translated address', '64:ff9b::7f00:1'],
  ['a tunnel', '2002:7f00:1::'],
  ['a tunnel', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['a zone on a public one', '2606:4700::1%1'],
  ['a name', 'localhost'],
  ['a short form', '127.1'],
  ['nothing', ''],
])('isPublicAddress: %s, %s is not public', (_, address) => expect(isPublicAddress(address)).toBe(false));
