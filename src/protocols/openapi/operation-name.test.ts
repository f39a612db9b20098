import { expect, test } from 'vitest';
import { operationId, operationsIn, originalOf, pathsOf } from './operation-name.ts';

test.each([
  ['POST /v1/messages', ['POST /v1/messages']],
  ['POST /api/v1/generate, /api/extra/generate/stream', ['POST /api/v1/generate', 'POST /api/extra/generate/stream']],
  ['POST /a, POST /b', ['POST /a', 'POST /b']],
  ['GET and POST /voice/vits', ['GET /voice/vits', 'POST /voice/vits']],
  ['GET /v1/responses/{id}', ['GET /v1/responses/{id}']],
  ['DELETE /a, GET /b', ['DELETE /a', 'GET /b']],
  ['', []],
  ['some words', []],
])('operationsIn: %o names %o', (heading, operations) => {
  expect(operationsIn(heading)).toEqual(operations);
});

test.each([
  [{ match: 'exact', path: '/ping' }, ['/ping']],
  [{ match: 'ending', path: '/v1/models' }, ['/v1/models']],
  [{ match: 'prefix', path: '/v1/models/' }, ['/v1/models/{id}']],
  [{ match: 'prefix', path: '/v1/responses/' }, ['/v1/responses/{id}', '/v1/responses/{id}/input_items']],
  [{ match: 'prefix', path: '/else/' }, ['/else/{rest}']],
  [{ match: 'prefix', path: '/v1/messages/batches' }, ['/v1/messages/batches']],
  [{ match: 'rest', path: '/v1/' }, []],
] as const)('pathsOf: %o has %o', (endpoint, paths) => {
  expect(pathsOf({ method: 'GET', ...endpoint })).toEqual(paths);
});

test.each([
  ['Another name for /v1/messages.', '/v1/messages'],
  ['Another name for /v1/models/.', '/v1/models/'],
  ['Another name for /v1/completions. With other fields it is another one.', '/v1/completions'],
  ['The name of the model.', undefined],
  ['Another name for the model.', undefined],
])('originalOf: %o gives %o', (summary, original) => {
  expect(originalOf({ summary })).toBe(original);
});

test('operationId: is made of method and path', () => {
  expect(operationId('GET', '/v1/responses/{id}/input_items')).toBe('get_v1_responses_id_input_items');
  expect(operationId('POST', '/.well-known/serviceinfo')).toBe('post_well_known_serviceinfo');
});
