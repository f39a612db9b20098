import { expect, test } from 'vitest';
import type { Endpoint } from '../../http/call.ts';
import { ask, dialect, serve } from '../../http/testing/world.ts';
import { bindAll } from '../testing/bind.ts';
import { dialectParts } from '../testing/doubles.ts';
import { openaiEndpoints } from './routes.ts';

const endpoints = bindAll(openaiEndpoints(dialectParts()), {
  ...dialectParts(),
  replacePlaceholders: (texts) => texts,
});

test('OpenAI endpoints: generating paths are guarded, lists are open', () => {
  const shown = endpoints.map(({ method, match, path, access, rateLimited }) =>
    [method, match, path, access, ...(rateLimited ? ['queued'] : [])].join(' '),
  );
  expect(shown).toEqual([
    'POST ending /v1/chat/completions guarded queued',
    'POST exact /chat/completions guarded queued',
    'POST ending /v1/chat/completions/input_tokens guarded',
    'POST exact /chat/completions/input_tokens guarded',
    'POST ending /v1/completions guarded queued',
    'POST exact /completions guarded queued',
    'POST ending /v1/embeddings guarded queued',
    'POST exact /embeddings guarded queued',
    'GET ending /v1/models open',
    'GET exact /models open',
    'GET prefix /v1/models/ open',
    'GET prefix /models/ open',
    'POST ending /v1/audio/speech guarded queued',
    'POST ending /audio/speech guarded queued',
    'GET ending /v1/audio/voices open',
    'GET ending /audio/voices open',
    'GET ending /v1/audio/models open',
    'GET ending /audio/models open',
    'POST ending /v1/audio/transcriptions guarded queued',
    'POST ending /audio/transcriptions guarded queued',
    'POST ending /v1/audio/translations guarded queued',
    'POST ending /audio/translations guarded queued',
    'GET rest /v1/ open',
    'POST rest /v1/ open queued',
    'PUT rest /v1/ open',
    'DELETE rest /v1/ open',
  ]);
});

/** A server with this dialect and an endpoint of another one beside it. */
async function world() {
  const other: Endpoint = {
    method: 'POST',
    match: 'ending',
    path: '/v1/messages',
    access: 'guarded',
    rateLimited: true,
    summary: '',
    dialect,
    handle: () => ({ status: 200, body: '' }),
  };
  return serve([
    other,
    ...bindAll(openaiEndpoints(dialectParts()), { ...dialectParts(), replacePlaceholders: (texts) => texts }),
  ]);
}

test.each([
  ['GET', '/v1/files'],
  ['POST', '/v1/moderations'],
  ['POST', '/v1/fine_tuning/jobs'],
  ['GET', '/v1/chat/completions/chatcmpl-1'],
  ['DELETE', '/v1/chat/completions/chatcmpl-1'],
])('unknown path: %s %s is an error object with 404', async (method, path) => {
  const { status, headers, text } = await ask(await world(), { method, path, headers: { accept: 'application/json' } });
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

test.each([undefined, '*/*', 'text/html', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'])(
  'unknown path: GET with accept %s gets the page',
  async (accept) => {
    const own = accept === undefined ? {} : { accept };
    const { status, headers, text } = await ask(await world(), { path: '/v1/fi<les', headers: own });
    expect(status).toBe(404);
    expect(headers).toMatchObject({ 'content-type': 'text/html', vary: 'Origin, accept' });
    expect(headers['content-security-policy']).toContain("default-src 'self'");
    expect(text).toContain('href="/api"');
    expect(text).toContain('/v1/fi&#60;les');
  },
);

test.each([
  ['POST', 'text/html'],
  ['DELETE', 'text/html'],
  ['GET', 'application/json'],
  ['GET', 'application/json, text/plain, */*'],
  ['GET', 'application/problem+json'],
])('unknown path: %s with accept %s gets the error object', async (method, accept) => {
  const { status, headers } = await ask(await world(), { method, path: '/v1/files', headers: { accept } });
  expect([status, headers['content-type']]).toEqual([404, 'application/json']);
});

test('wrong method: browsers get 405 too', async () => {
  const headers = { accept: 'text/html' };
  const reply = await ask(await world(), { path: '/v1/chat/completions', headers });
  expect([reply.status, reply.headers['content-type']]).toEqual([405, 'application/json']);
});

test.each([
  ['GET', '/v1/chat/completions', 'POST'],
  ['POST', '/v1/models', 'GET'],
  ['DELETE', '/v1/models/mini', 'GET'],
])('wrong method: %s %s is an error object with 405 and allow %s', async (method, path, allow) => {
  const { status, headers, text } = await ask(await world(), { method, path });
  expect(status).toBe(405);
  expect(headers.allow).toBe(allow);
  expect(JSON.parse(text)).toMatchObject({ error: { type: 'invalid_request_error' } });
});

test('unknown path of another dialect: error of that dialect', async () => {
  const { status, text } = await ask(await world(), { method: 'GET', path: '/v1/messages' });
  expect(status).toBe(405);
  expect(JSON.parse(text)).toMatchObject({ family: 'method-not-allowed' });
});
