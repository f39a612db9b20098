import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { busyDetail, retryHeaders } from './error-reply.ts';

test.each([
  [new AppError('busy', { retryAfterSeconds: 2.1 }), { 'retry-after': '3' }],
  [
    new AppError('engine-down', { capability: 'text', reason: 'it died', retryAfterSeconds: 8 }),
    { 'retry-after': '8' },
  ],
  [new AppError('model-missing', { capability: 'text', flag: '--model' }), { 'x-should-retry': 'false' }],
  [new AppError('model-load-failed', { model: 'm', reason: 'r' }), { 'x-should-retry': 'false' }],
  [new AppError('engine-lost', { capability: 'text' }), {}],
  [new AppError('engine-silent', { capability: 'text' }), {}],
  [new AppError('request-ends-engine', { capability: 'text' }), {}],
])('retryHeaders: %s', (error, headers) => {
  expect(retryHeaders(error)).toEqual(headers);
});

test('busyDetail: "service_unavailable" only when the queue is full', () => {
  const down = new AppError('engine-down', { capability: 'text', reason: 'it died', retryAfterSeconds: 8 });
  expect(busyDetail(down)).toEqual({});
  expect(busyDetail(new AppError('busy', { retryAfterSeconds: 1 }))).toMatchObject({
    detail: { type: 'service_unavailable' },
  });
  expect(busyDetail(new AppError('unauthorized', {}))).toMatchObject({ detail: { type: 'unauthorized' } });
});
