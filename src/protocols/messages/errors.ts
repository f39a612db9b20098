import { type AppError, type ErrorCode, evenCompacted } from '../../core/errors.ts';
import { type Family, json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';

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

export function errorBody(error: AppError): object {
  const byStatus = typesByStatus.get(error.status) ?? (error.status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type: typesByCode[error.code] ?? byStatus, message: errorMessage(error) } };
}

/** Coding agents look for exactly these words, and shorten the conversation when they find them. */
function errorMessage({ message, details }: AppError): string {
  if (!('promptTokens' in details)) return message;
  const { promptTokens, contextSize } = details;
  const words = `prompt is too long: ${promptTokens} tokens > ${contextSize} maximum`;
  const room = promptTokens > contextSize ? '' : ', which must have room for a reply too';
  return `${words}${room}${details.compacted ? `, ${evenCompacted}` : ''}`;
}

/** Every reply has a request id, errors in the body too: the official clients show it. */
export function messagesFamily(newId: (prefix: string) => string): Family {
  return {
    name: 'messages',
    title: 'Messages API (Anthropic-compatible)',
    errorReply(error, requestId = newId('req_')) {
      const body = { ...errorBody(error), request_id: requestId, ...busyDetail(error) };
      return json(body, error.status, { 'request-id': requestId, ...retryHeaders(error) });
    },
  };
}
