import type { AppError, ErrorCode } from '../../core/errors.ts';
import { type Family, json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';

/** This dialect names a failure by its status … */
const typesByStatus = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [503, 'overloaded_error'],
]);

/** … except for these: clients wait and ask again when they read `overloaded_error`, and no model comes from waiting. */
const typesByCode: Partial<Record<ErrorCode, string>> = {
  'rate-limited': 'rate_limit_error',
  'model-missing': 'api_error',
  'model-load-failed': 'api_error',
};

export interface ErrorBody {
  readonly type: 'error';
  readonly error: { readonly type: string; readonly message: string };
}

export function errorBody(error: AppError): ErrorBody {
  const byStatus = typesByStatus.get(error.status) ?? (error.status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type: typesByCode[error.code] ?? byStatus, message: errorMessage(error) } };
}

/** Coding agents look for exactly these words, and shorten the conversation when they find them. */
function errorMessage(error: AppError): string {
  if (!isOverflow(error)) return error.message;
  const { promptTokens, contextSize } = error.details;
  const words = `prompt is too long: ${promptTokens} tokens > ${contextSize} maximum`;
  return promptTokens > contextSize ? words : `${words}, which must have room for a reply too`;
}

function isOverflow(error: AppError): error is AppError<'context-overflow'> {
  return error.code === 'context-overflow';
}

/** Every answer of this family carries an id, failures in the body too: the official clients show it. */
export function messagesFamily(newId: (prefix: string) => string): Family {
  return {
    name: 'messages',
    title: 'Messages API (Anthropic-compatible)',
    errorReply(error) {
      const id = newId('req_');
      const body = { ...errorBody(error), request_id: id, ...busyDetail(error) };
      return json(body, error.status, { 'request-id': id, ...retryHeaders(error) });
    },
  };
}
