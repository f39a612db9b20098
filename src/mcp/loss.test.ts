import { describe, expect, test } from 'vitest';
import { cutCode, lossOf } from './loss.ts';

const failure = (message: string, own: object): Error => Object.assign(new Error(message), own);
const refused = new TypeError('fetch failed', { cause: failure('connect ECONNREFUSED', { code: 'ECONNREFUSED' }) });

describe('an error of the client library', () => {
  test('with a number for a code is the answer of the server itself', () => {
    expect(lossOf(failure('no such tool', { code: -32602, data: { a: 1 } }))).toEqual({
      reason: 'no such tool',
      code: -32602,
      data: { a: 1 },
      lost: false,
      untouched: false,
      refused: false,
    });
  });

  test('that we gave ourselves, because the answer was cut off, is a loss', () => {
    expect(lossOf(failure('it hung up', { code: cutCode }))).toMatchObject({ lost: true, untouched: false });
  });

  test.each([
    [404, { lost: true, untouched: true, refused: true }],
    [400, { lost: false, refused: true }],
    [401, { lost: false, refused: true }],
    [405, { lost: false, refused: true }],
    [500, { lost: false, refused: false }],
    [502, { lost: true, untouched: false, refused: false }],
    [503, { lost: true, untouched: false, refused: false }],
  ])('with the HTTP status %i', (status, expected) => {
    const error = failure('Error POSTing', { code: 'CLIENT_HTTP_NOT_IMPLEMENTED', data: { status } });
    expect(lossOf(error)).toMatchObject({ reason: `it answered with HTTP status ${status}`, ...expected });
    expect(lossOf(failure('x', { status }))).toMatchObject(expected);
  });

  test('for a connection that nobody took means that nothing was sent', () => {
    expect(lossOf(refused)).toMatchObject({
      reason: 'fetch failed (connect ECONNREFUSED)',
      lost: true,
      untouched: true,
    });
  });

  test('for several addresses that nobody listens on means the same', () => {
    const both = failure('', { code: 'ECONNREFUSED', errors: [{ code: 'ECONNREFUSED' }] });
    expect(lossOf(new TypeError('fetch failed', { cause: both }))).toMatchObject({
      reason: 'fetch failed (ECONNREFUSED)',
      untouched: true,
    });
  });

  test.each(['terminated', 'fetch failed', 'network error'])(
    'for a connection that broke (%s) is a loss',
    (message) => {
      expect(lossOf(new TypeError(message))).toMatchObject({ reason: message, lost: true, untouched: false });
    },
  );

  test.each(['CONNECTION_CLOSED', 'NOT_CONNECTED'])('%s is a loss', (code) => {
    expect(lossOf(failure('Connection closed', { code }))).toMatchObject({ lost: true, untouched: false });
  });

  test.each([
    failure('Request timed out', { code: 'REQUEST_TIMEOUT' }),
    new TypeError('x is no function'),
    'text',
    null,
  ])('%s is none', (error) => {
    expect(lossOf(error)).toMatchObject({ lost: false, untouched: false, refused: false });
  });
});
