import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { Reply } from '../../http/call.ts';
import { locate, openaiDialect, unsupportedField } from './errors.ts';

const bodyOf = (reply: Reply): unknown => ('body' in reply ? JSON.parse(String(reply.body)) : undefined);
const errorReplyOf = (error: AppError) => {
  const reply = openaiDialect.errorReply(error);
  return { status: reply.status, ...(bodyOf(reply) as object) };
};

test.each<[string, AppError, object]>([
  [
    'a wrong field',
    new AppError('invalid-field', { field: 'messages', expected: 'an array' }),
    {
      status: 400,
      error: { message: 'messages must be an array.', type: 'invalid_request_error', param: 'messages', code: null },
    },
  ],
  [
    'invalid JSON',
    new AppError('invalid-json', { reason: 'it is empty' }),
    {
      status: 400,
      error: {
        message: 'The request body is not valid JSON: it is empty.',
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    },
  ],
  [
    'an unsupported field',
    unsupportedField('suffix', 'leave it out'),
    {
      status: 400,
      error: {
        message: 'suffix is not possible: leave it out.',
        type: 'invalid_request_error',
        param: 'suffix',
        code: 'unsupported_parameter',
      },
    },
  ],
  [
    'an unsupported value',
    unsupportedField('modalities', 'ask for text', 'unsupported_value'),
    {
      status: 400,
      error: {
        message: 'modalities is not possible: ask for text.',
        type: 'invalid_request_error',
        param: 'modalities',
        code: 'unsupported_value',
      },
    },
  ],
  [
    'a full context',
    locate(new AppError('context-overflow', { promptTokens: 9000, contextSize: 4096 }), 'messages'),
    {
      status: 400,
      error: {
        message:
          "This model's maximum context length is 4096 tokens, and the messages came to 9000; a reply needs room too. Please reduce the length of the messages.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
        n_prompt_tokens: 9000,
        n_ctx: 4096,
      },
    },
  ],
  [
    'an unknown path',
    new AppError('not-found', { method: 'POST', path: '/v1/files' }),
    {
      status: 404,
      error: {
        message: 'There is no POST /v1/files on this server.',
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    },
  ],
  [
    'a body that is too large',
    new AppError('payload-too-large', { limitMegabytes: 32 }),
    {
      status: 413,
      error: {
        message: 'Payload is too big. Max payload size is 32MB.',
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    },
  ],
  [
    'a lost engine',
    new AppError('engine-lost', { capability: 'text' }),
    {
      status: 500,
      error: {
        message: 'The text engine stopped in the middle of this request; it is being started again.',
        type: 'server_error',
        param: null,
        code: null,
      },
    },
  ],
  [
    'a wrong key',
    new AppError('unauthorized', {}),
    {
      status: 401,
      error: {
        message: 'Authentication key is missing or invalid.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_api_key',
      },
      detail: { error: 'Unauthorized', msg: 'Authentication key is missing or invalid.', type: 'unauthorized' },
    },
  ],
  [
    'a full queue',
    new AppError('busy', { retryAfterSeconds: 1.2 }),
    {
      status: 503,
      error: {
        message: 'Server is busy; please try again later.',
        type: 'server_error',
        param: null,
        code: 'server_busy',
      },
      detail: { msg: 'Server is busy; please try again later.', type: 'service_unavailable' },
    },
  ],
])('openaiFamily.errorReply: %s', (_, error, expected) => {
  expect(errorReplyOf(error)).toEqual(expected);
});

test('locate: only changes context-overflow', () => {
  const lost = new AppError('engine-lost', { capability: 'text' });
  expect(locate(lost, 'messages')).toBe(lost);
});

test('openaiFamily.errorReply: retry-after for a full queue, none for a missing model', () => {
  expect(openaiDialect.errorReply(new AppError('busy', { retryAfterSeconds: 1.2 }))).toMatchObject({
    headers: { 'retry-after': '2' },
  });
  const missing = new AppError('model-missing', { capability: 'text', flag: '--model' });
  const reply = openaiDialect.errorReply(missing);
  expect(reply).toMatchObject({ status: 503, headers: { 'x-should-retry': 'false' } });
  expect(bodyOf(reply)).toMatchObject({ error: { type: 'server_error', code: 'model_not_loaded' } });
});
