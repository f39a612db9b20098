import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { TextService, TextState } from '../../core/text-service.ts';
import type { Call, Reply } from '../../http/call.ts';
import { openaiFamily } from './errors.ts';
import { openaiEndpoints } from './routes.ts';

/** A test double: a service that only says in which state it is. */
function endpoints(state: TextState, name: string) {
  const service = { state: () => state } as Partial<TextService> as TextService;
  return openaiEndpoints({ service, modelName: () => name, now: () => 1_700_000_000.9 });
}

const bodyOf = (reply: Reply): unknown => ('body' in reply ? JSON.parse(String(reply.body)) : undefined);

test('the model list holds the text model under both of its paths', async () => {
  const found = endpoints({ type: 'loading', name: 'mini', progress: 0 }, 'koboldcpp/mini');
  expect(found.map(({ match, path }) => `${match} ${path}`)).toEqual(['ending /v1/models', 'exact /models']);
  for (const endpoint of found) {
    expect(bodyOf(await endpoint.handle({} as Call))).toEqual({
      object: 'list',
      data: [
        {
          id: 'koboldcpp/mini',
          object: 'model',
          created: 1_700_000_000,
          owned_by: 'koboldcpp',
          status: { value: 'loading' },
          permission: [],
          root: 'koboldcpp',
        },
      ],
    });
  }
});

test('without a text model the list has one entry that says so', async () => {
  const [models] = endpoints({ type: 'none' }, 'inactive');
  expect(bodyOf((await models?.handle({} as Call)) as Reply)).toMatchObject({
    data: [{ id: 'inactive', status: { value: 'unloaded' } }],
  });
});

test('a wrong field is named where the official clients look for it', () => {
  const reply = openaiFamily.errorReply(new AppError('invalid-field', { field: 'messages', expected: 'an array' }));
  expect(reply.status).toBe(400);
  expect(bodyOf(reply)).toEqual({
    error: { message: 'messages must be an array.', type: 'invalid_request_error', param: 'messages', code: null },
  });
});

test('busy and unauthorized carry the native detail beside the error', () => {
  const busy = openaiFamily.errorReply(new AppError('busy', { retryAfterSeconds: 1.2 }));
  expect(busy).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  expect(bodyOf(busy)).toMatchObject({ error: { code: 'server_busy' }, detail: { type: 'service_unavailable' } });
  expect(bodyOf(openaiFamily.errorReply(new AppError('unauthorized', {})))).toMatchObject({
    error: { code: 'invalid_api_key' },
    detail: { error: 'Unauthorized', type: 'unauthorized' },
  });
});

test('a missing model is not worth another try', () => {
  const reply = openaiFamily.errorReply(new AppError('model-missing', { capability: 'text', flag: '--model' }));
  expect(reply).toMatchObject({ status: 503, headers: { 'x-should-retry': 'false' } });
});
