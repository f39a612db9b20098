import { describe, expect, test } from 'vitest';
import { secureAddress, systemOf, trustsServer } from './secure-address.ts';

const address = { protocol: 'http:', host: '192.168.1.5:5001', pathname: '/join', search: '', hash: '#token' };

test('secureAddress: the same address with HTTPS, with the token', () => {
  expect(secureAddress(address)).toBe('https://192.168.1.5:5001/join#token');
});

test('trustsServer: whether a request with HTTPS succeeds', async () => {
  expect(await trustsServer(address, async () => new Response())).toBe(true);
  expect(await trustsServer(address, () => Promise.reject(new TypeError('certificate')))).toBe(false);
});

describe('systemOf', () => {
  test.each([
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1', 5, 'apple'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Safari/605.1.15', 5, 'apple'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Safari/605.1.15', 0, 'mac'],
    ['Mozilla/5.0 (Linux; Android 15; Pixel 9) Chrome/140.0 Mobile', 5, 'android'],
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/145.0', 0, 'windows'],
    ['Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0', 0, 'linux'],
  ])('%s, %i touch points: %s', (userAgent, maxTouchPoints, system) => {
    expect(systemOf({ userAgent, maxTouchPoints })).toBe(system);
  });
});
