import { expect, test } from 'vitest';
import { deviceLink, hostsOf } from './device-link.ts';

test('hostsOf: addresses before names, which not every device can resolve', () => {
  const lan = { enabled: true, public: true, port: 5001, fingerprint: null };
  expect(hostsOf({ ...lan, addresses: ['192.168.1.5'], names: ['parley.local'] })).toEqual([
    '192.168.1.5',
    'parley.local',
  ]);
});

test('deviceLink: the token is in the fragment, which browsers send to no server', () => {
  expect(deviceLink('192.168.1.5', 5001, 'abc')).toBe('http://192.168.1.5:5001/join#abc');
  expect(deviceLink('fd00::5', 5001, 'abc')).toBe('http://[fd00::5]:5001/join#abc');
});
