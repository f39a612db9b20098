import { expect, test } from 'vitest';
import { hostName, isLoopback, plainAddress } from './host-name.ts';

test.each([
  ['localhost', 'localhost'],
  ['LocalHost:5001', 'localhost'],
  ['box.local.', 'box.local'],
  ['my_box-2.example:80', 'my_box-2.example'],
  ['192.0.2.7:5001', '192.0.2.7'],
  ['[::1]:5001', '::1'],
  ['[FE80::1]', 'fe80::1'],
  ['[nonsense]', undefined],
  ['[::1', undefined],
  ['user@host', undefined],
  ['host/path', undefined],
  ['host:port', undefined],
  ['', undefined],
  ['a b', undefined],
])('%j names %j', (authority, name) => {
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
])('%s stays on this machine: %s', (name, expected) => {
  expect(isLoopback(name)).toBe(expected);
});

test.each([
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['192.0.2.7', '192.0.2.7'],
  [undefined, ''],
])('the address %s is shown as %s', (address, shown) => {
  expect(plainAddress(address)).toBe(shown);
});
