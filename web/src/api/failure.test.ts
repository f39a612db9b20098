import { expect, test } from 'vitest';
import { Failure, failureOf, messageOf, sentenceOf } from './failure.ts';

test.each([
  [{ error: { message: 'no such model' } }, 'no such model'],
  [{ error: 'gone' }, 'gone'],
  [{ detail: { msg: 'busy', type: 'service_unavailable' } }, 'busy'],
  [{ detail: [{ msg: 'wrong', loc: [] }] }, 'wrong'],
  [{ type: 'error', error: { type: 'x', message: 'too long' } }, 'too long'],
  [{ message: 'plain' }, 'plain'],
  [{}, undefined],
  [null, undefined],
  ['  ', undefined],
])('messageOf: %j has the message %j', (body, expected) => {
  expect(messageOf(body)).toBe(expected);
});

test('failureOf: has the message of the server and Retry-After', async () => {
  const headers = { 'content-type': 'application/json', 'retry-after': '7' };
  const failure = await failureOf(new Response('{"detail":{"msg":"Server is busy."}}', { status: 503, headers }));
  expect(failure).toMatchObject({ message: 'Server is busy.', status: 503, retryAfter: 7 });
});

test.each([
  [401, 'The server needs a password. Enter the one of --password.'],
  [418, 'The server returned status 418.'],
])('failureOf: explains status %i without a body', async (status, message) => {
  expect(await failureOf(new Response('<html>', { status }))).toMatchObject({ message, status, retryAfter: undefined });
});

test('sentenceOf: returns a sentence for anything thrown', () => {
  expect(sentenceOf(new Failure('Too long.'))).toBe('Too long.');
  expect(sentenceOf(new TypeError('Failed to fetch'))).toBe('The server is not responding. Check that it is running.');
  expect(sentenceOf(new Error('odd'))).toBe('odd');
  expect(sentenceOf(7)).toBe('7');
});
