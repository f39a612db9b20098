import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { clientError, type FailureType, messageOf, RemoteFailure, statusFailure } from './failure.ts';

const host = 'gpu1:8000';
const answered = (status: number, body: unknown = {}, retryAfter?: string) =>
  statusFailure(host, { status, retryAfter, body: JSON.stringify(body) });

describe('statusFailure', () => {
  test.each<[number, FailureType, boolean]>([
    [400, 'refused', false],
    [413, 'refused', false],
    [422, 'refused', false],
    [401, 'failed', false],
    [403, 'failed', false],
    [404, 'failed', false],
    [500, 'failed', true],
    [501, 'failed', false],
    [502, 'unreachable', true],
    [504, 'unreachable', true],
    [503, 'unwilling', true],
    [429, 'unwilling', true],
  ])('%i is %s', (status, type, passing) => {
    expect(answered(status)).toMatchObject({ type, isPassing: passing });
  });

  test('reads Retry-After', () => {
    expect(answered(503, {}, '7').facts.retryAfterSeconds).toBe(7);
    expect(answered(503, {}, 'Wed, 21 Oct 2026 07:28:00 GMT').facts.retryAfterSeconds).toBeUndefined();
    expect(answered(429, {}, '999999999').facts.retryAfterSeconds).toBe(60);
    expect(answered(503, {}, '-1').facts.retryAfterSeconds).toBeUndefined();
  });
});

test('messageOf: finds the message in all known forms', () => {
  expect(messageOf('{"error":{"message":"too long"}}')).toBe('too long');
  expect(messageOf('{"error":"too long"}')).toBe('too long');
  expect(messageOf('{"object":"error","message":"too long"}')).toBe('too long');
  expect(messageOf('{"detail":"too long"}')).toBe('too long');
  expect(messageOf('{"detail":[{"msg":"a"},{"msg":"b"}]}')).toBe('a; b');
  expect(messageOf('{"detail":{"msg":"No image model loaded."}}')).toBe('No image model loaded.');
  expect(messageOf('{"error":"RuntimeError","detail":"","errors":"model missing"}')).toBe('model missing');
  expect(messageOf('{"error":"HTTPException","detail":"Sampler not found","errors":""}')).toBe('Sampler not found');
  expect(messageOf('{"error":"server_error","message":"type must be number"}')).toBe('type must be number');
  expect(messageOf('  plain\n words ')).toBe('plain words');
  expect(messageOf('<html><body>Bad gateway')).toBe('');
  expect(messageOf('')).toBe('');
  expect(messageOf('x'.repeat(5000))).toHaveLength(1001);
});

describe('clientError', () => {
  test('an invalid request has the message of the backend', () => {
    const error = clientError(answered(400, { error: { message: 'max_tokens is too large' } }), 'text');
    expect(error).toMatchObject({ code: 'remote-refused', status: 400, message: 'max_tokens is too large' });
  });

  test('an unreachable backend is a 503 with address and Retry-After', () => {
    const refused = clientError(
      new RemoteFailure('unreachable', host, 'connection refused', { origin: 'http://gpu1:8000' }),
      'text',
    );
    expect(refused).toMatchObject({ code: 'remote-down', status: 503 });
    expect(refused.message).toBe('The remote backend at http://gpu1:8000 is not reachable: connection refused.');
    const busy = clientError(answered(503, { detail: 'Draining.' }, '9'), 'text');
    expect(busy).toMatchObject({ status: 503, details: { retryAfterSeconds: 9 } });
    expect(busy.message).toBe('The remote backend at gpu1:8000 takes no requests now: Draining.');
  });

  test('an unusable response is a 502', () => {
    const odd = clientError(new RemoteFailure('failed', host, 'it is no JSON'), 'text');
    expect([odd.status, odd.message]).toEqual([
      502,
      'The remote backend at gpu1:8000 sent an answer that cannot be used: it is no JSON.',
    ]);
  });

  test('other failures are engine failures', () => {
    expect(clientError(answered(500), 'text')).toMatchObject({ code: 'engine-failed', status: 500 });
    expect(clientError(answered(401, { error: 'bad key' }), 'text').message).toContain('bad key');
    expect(clientError(new Error('odd'), 'text')).toMatchObject({ code: 'engine-failed' });
    expect(clientError('odd', 'text').message).toContain('odd');
  });

  test('keeps an AppError', () => {
    const own = new AppError('unsupported', { feature: 'x', instead: 'y' });
    expect(clientError(own, 'text')).toBe(own);
  });
});
