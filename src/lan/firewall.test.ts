import { describe, expect, test } from 'vitest';
import { activeFirewall, openingOf } from './firewall.ts';

interface Seen {
  readonly files?: Readonly<Record<string, string>>;
  readonly prints?: string;
}

const seen = (platform: NodeJS.Platform, { files = {}, prints = '' }: Seen = {}) =>
  activeFirewall({
    platform,
    read: async (path) => files[path] ?? '',
    exists: async (path) => Object.hasOwn(files, path),
    run: async () => prints,
  });

describe('activeFirewall', () => {
  test.each([
    ['ufw', 'linux', { files: { '/etc/ufw/ufw.conf': '# on start\nENABLED=yes\nLOGLEVEL=low\n' } }],
    ['firewalld', 'linux', { files: { '/run/firewalld.pid': '' } }],
    ['Windows', 'win32', { prints: '\r\n    EnableFirewall    REG_DWORD    0x1\r\n' }],
    ['macOS', 'darwin', { prints: 'Firewall is enabled. (State = 1)\n' }],
  ] as const)('finds %s on %s', async (name, platform, facts) => {
    expect(await seen(platform, facts)).toBe(name);
  });

  test.each([
    ['linux', { files: { '/etc/ufw/ufw.conf': 'ENABLED=no\n' } }],
    ['linux', {}],
    ['win32', { prints: '    EnableFirewall    REG_DWORD    0x0\r\n' }],
    ['darwin', { prints: 'Firewall is disabled. (State = 0)\n' }],
    ['freebsd', {}],
  ] as const)('finds none on %s: %j', async (platform, facts) => {
    expect(await seen(platform, facts)).toBeUndefined();
  });
});

test.each(['ufw', 'firewalld'] as const)('openingOf %s: the command has the port', (name) => {
  expect(openingOf(name, 5002)).toContain('5002/tcp');
});
