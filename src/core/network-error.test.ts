import { expect, test } from 'vitest';
import { networkReason } from './network-error.ts';

const withCode = (code: string) => Object.assign(new Error(`getaddrinfo ${code} hub.example`), { code });

test.each<[unknown, string | undefined]>([
  [withCode('ENOTFOUND'), 'host not found'],
  [new TypeError('fetch failed', { cause: withCode('ENOTFOUND') }), 'host not found'],
  [Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' }), 'connection refused'],
  [new DOMException('The operation timed out', 'TimeoutError'), 'no answer in time'],
  [withCode('CERT_HAS_EXPIRED'), 'its certificate has expired'],
  [withCode('ENOSPC'), undefined],
  [new Error('constructor'), undefined],
  [undefined, undefined],
])('networkReason: %s is %j', (error, reason) => {
  expect(networkReason(error)).toBe(reason);
});
