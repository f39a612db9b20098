import { type AppError, type ErrorCode, evenCompacted } from '../../core/errors.ts';
import { randomHex } from '../../core/ids.ts';
import { json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import type { DocumentedDialect, ModelEndpoint } from '../endpoint.ts';

/** The type of an error by its status. */
const typesByStatus = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
]);

/** Exceptions: clients retry on `overloaded_error`, which does not help if there is no model. */
const typesByCode: Partial<Record<ErrorCode, string>> = {
  'rate-limited': 'rate_limit_error',
  'model-missing': 'api_error',
  'model-load-failed': 'api_error',
};

/** Errors for which the official clients have classes of their own. */
const detailsByCode: Partial<Record<ErrorCode, { readonly status: number; readonly error_code: string }>> = {
  'storage-full': { status: 400, error_code: 'storage_quota_exceeded' },
};

export function errorBody(error: AppError): object {
  const { status = error.status, error_code } = detailsByCode[error.code] ?? {};
  const byStatus = typesByStatus.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  const details = error_code === undefined ? {} : { details: { error_code } };
  return {
    type: 'error',
    error: { type: typesByCode[error.code] ?? byStatus, message: errorMessage(error), ...details },
  };
}

/** Coding agents look for exactly these words, and shorten the conversation when they find them. */
function errorMessage({ message, details }: AppError): string {
  if (!('promptTokens' in details)) return message;
  const { promptTokens, contextSize } = details;
  const tooLong = `prompt is too long: ${promptTokens} tokens > ${contextSize} maximum`;
  const room = promptTokens > contextSize ? '' : ', which must have room for a reply too';
  return `${tooLong}${room}${details.compacted ? `, ${evenCompacted}` : ''}`;
}

/** Every reply has a request id, errors in the body too: the official clients show it. */
export const messagesDialect: DocumentedDialect = {
  name: 'messages',
  title: 'Messages API (Anthropic-compatible)',
  responses: () => import('./responses.ts'),
  errorReply(error, requestId = `req_${randomHex(12)}`) {
    const body = { ...errorBody(error), request_id: requestId, ...busyDetail(error) };
    const { status } = detailsByCode[error.code] ?? error;
    return json(body, status, { 'request-id': requestId, ...retryHeaders(error) });
  },
};

export function withRequestIds<Context>(endpoints: readonly ModelEndpoint<Context>[]): ModelEndpoint<Context>[] {
  return endpoints.map((endpoint) => ({
    ...endpoint,
    handle: async (call, context) => {
      const reply = await endpoint.handle(call, context);
      return { ...reply, headers: { 'request-id': call.id, ...reply.headers } };
    },
  }));
}
