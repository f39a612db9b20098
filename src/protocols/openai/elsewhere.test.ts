import { expect, test } from 'vitest';
import type { Endpoint } from '../../http/call.ts';
import { ask, family, serve } from '../../http/testing/world.ts';
import { dialectParts } from '../testing/doubles.ts';
import { openaiEndpoints } from './routes.ts';

/** A server with this dialect and an endpoint of another one beside it. */
async function world() {
  const other: Endpoint = {
    method: 'POST',
    match: 'ending',
    path: '/v1/messages',
    access: 'guarded',
    queued: true,
    summary: '',
    family,
    handle: () => ({ status: 200, body: '' }),
  };
  return serve([other, ...openaiEndpoints({ ...dialectParts(), replacePlaceholders: (texts) => texts })]);
}

test.each([
  ['GET', '/v1/files'],
  ['POST', '/v1/moderations'],
  ['POST', '/v1/fine_tuning/jobs'],
  ['GET', '/v1/chat/completions/chatcmpl-1'],
  ['DELETE', '/v1/chat/completions/chatcmpl-1'],
])('%s %s is an error object with 404', async (method, path) => {
  const { status, headers, text } = await ask(await world(), { method, path });
  expect(status).toBe(404);
  expect(headers['content-type']).toBe('application/json');
  expect(JSON.parse(text)).toEqual({
    error: {
      message: `There is no ${method} ${path} on this server.`,
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
  });
});

test.each([
  ['GET', '/v1/chat/completions', 'POST'],
  ['POST', '/v1/models', 'GET'],
  ['DELETE', '/v1/models/mini', 'GET'],
])('%s %s is an error object with 405 that names %s', async (method, path, allow) => {
  const { status, headers, text } = await ask(await world(), { method, path });
  expect(status).toBe(405);
  expect(headers.allow).toBe(allow);
  expect(JSON.parse(text)).toMatchObject({ error: { type: 'invalid_request_error' } });
});

test('a path of another family is refused in the words of that family', async () => {
  const { status, text } = await ask(await world(), { method: 'GET', path: '/v1/messages' });
  expect(status).toBe(405);
  expect(JSON.parse(text)).toMatchObject({ family: 'method-not-allowed' });
});
