import { describe, expect, test } from 'vitest';
import { ipBytes, isInNetwork, lanAddresses, reachableAddresses } from './addresses.ts';

const card = (...addresses: readonly string[]) => addresses.map((address) => ({ address, internal: false }));

describe('lanAddresses', () => {
  test('puts home networks first, then VPNs, then containers', () => {
    const found = lanAddresses({
      lo: [{ address: '127.0.0.1', internal: true }],
      docker0: card('172.17.0.1'),
      tailscale0: card('100.100.1.2', 'fd7a:115c:a1e0::1'),
      'br-2f1b': card('172.18.0.1'),
      eth0: card('10.1.2.3'),
      wlan0: card('192.168.178.20', '2003:e1::5', 'fe80::1'),
      eth1: card('169.254.3.4'),
    });
    expect(found.map(({ address, kind }) => `${address} ${kind}`)).toEqual([
      '192.168.178.20 lan',
      '10.1.2.3 lan',
      '169.254.3.4 lan',
      '2003:e1::5 lan',
      '100.100.1.2 vpn',
      'fd7a:115c:a1e0::1 vpn',
      '172.17.0.1 container',
      '172.18.0.1 container',
    ]);
    expect(reachableAddresses(found).map(({ address }) => address)).toEqual(['192.168.178.20', '10.1.2.3']);
  });

  test('knows the cards of Windows and macOS', () => {
    const kinds = lanAddresses({
      'Wi-Fi': card('192.168.1.2'),
      'Ethernet 2': card('192.168.1.3'),
      en0: card('192.168.1.4'),
      'vEthernet (WSL)': card('172.20.0.1'),
      'VirtualBox Host-Only Network': card('192.168.56.1'),
      utun3: card('10.8.0.2'),
      'ProtonVPN TUN': card('10.2.0.2'),
      bridge100: card('192.168.64.1'),
    }).map(({ interfaceName, kind }) => `${interfaceName}: ${kind}`);
    expect(kinds).toEqual([
      'Wi-Fi: lan',
      'Ethernet 2: lan',
      'en0: lan',
      'utun3: vpn',
      'ProtonVPN TUN: vpn',
      'VirtualBox Host-Only Network: container',
      'bridge100: container',
      'vEthernet (WSL): container',
    ]);
  });

  test('leaves out loopback and addresses that browsers cannot open', () => {
    expect(lanAddresses({ lo: [{ address: '::1', internal: true }], eth0: card('fe80::2', 'fe80::3%eth0') })).toEqual(
      [],
    );
  });
});

test('reachableAddresses: where all cards look virtual, all are offered', () => {
  const found = lanAddresses({ 'vEthernet (External)': card('192.168.1.9', 'fd00::9'), docker0: card('172.17.0.1') });
  expect(reachableAddresses(found).map(({ address }) => address)).toEqual(['192.168.1.9', '172.17.0.1']);
  expect(reachableAddresses(lanAddresses({ eth0: card('fd00::9') })).map(({ address }) => address)).toEqual([
    'fd00::9',
  ]);
  expect(reachableAddresses([])).toEqual([]);
});

test.each([
  ['192.168.0.1', 'c0a80001'],
  ['::', '0'.repeat(32)],
  ['::1', `${'0'.repeat(31)}1`],
  ['fe80::', `fe80${'0'.repeat(28)}`],
  ['2001:db8::ff00:42:8329', '20010db8000000000000ff0000428329'],
  ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ['::ffff:1.2.3.4', '00000000000000000000ffff01020304'],
])('ipBytes: %s', (address, hex) => {
  expect(ipBytes(address).toString('hex')).toBe(hex);
});

test('isInNetwork: only addresses of the networks that a card is connected to', () => {
  const interfaces = {
    eth0: [{ address: '192.168.1.5', internal: false, cidr: '192.168.1.5/24' }],
    wlan0: [{ address: 'fd00::5', internal: false, cidr: 'fd00::5/64' }],
    odd0: [{ address: '10.1.2.3', internal: false, cidr: null }],
  };
  for (const near of ['192.168.1.9', '192.168.1.5', 'fd00::77']) expect(isInNetwork(near, interfaces), near).toBe(true);
  for (const far of ['192.168.2.9', '8.8.8.8', 'fd00:1::1', '10.1.2.3', '', 'fe80::1%eth0'])
    expect(isInNetwork(far, interfaces), far).toBe(false);
});
