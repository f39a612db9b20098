import type { AppError, ErrorCode } from '../../core/errors.ts';
import { type Family, json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { errorCodes } from '../error-codes.ts';

/** Fields whose refusal clients know by a name of its own. */
const fieldCodes = new Map([['previous_response_id', 'previous_response_not_found']]);

/** Inside a response that failed: agents compact their history or wait when they read the first two. */
const failureCodes: Partial<Record<ErrorCode, string>> = {
  'context-overflow': 'context_length_exceeded',
  busy: 'rate_limit_exceeded',
  'rate-limited': 'rate_limit_exceeded',
};

export const responsesFamily: Family = {
  name: 'responses',
  title: 'Responses-compatible API',
  errorReply(error) {
    return json({ error: errorObject(error), ...busyDetail(error) }, error.status, retryHeaders(error));
  },
};

function errorObject(error: AppError): object {
  const param = paramOf(error);
  return {
    message: messageOf(error),
    type: error.status >= 500 ? 'server_error' : 'invalid_request_error',
    param,
    code: errorCodes[error.code] ?? fieldCodes.get(param ?? '') ?? null,
    ...overflowNumbers(error),
  };
}

/** What `response.error` holds when the answer had already begun. */
export function failureObject(error: AppError): { readonly code: string; readonly message: string } {
  return { code: failureCodes[error.code] ?? 'server_error', message: messageOf(error) };
}

/** Programs that do not know the code look for these words. */
function messageOf(error: AppError): string {
  if (!isOverflow(error)) return error.message;
  const { promptTokens, contextSize } = error.details;
  return `The input has ${promptTokens} tokens, which with room for a reply is more than the maximum context length of ${contextSize} tokens.`;
}

function paramOf(error: AppError): string | null {
  if (isOverflow(error)) return 'input';
  if ('field' in error.details) return error.details.field;
  // A feature that is spelled like a field is one.
  if ('feature' in error.details && /^[a-z_.]+$/.test(error.details.feature)) return error.details.feature;
  return null;
}

function overflowNumbers(error: AppError): object {
  return isOverflow(error) ? { n_prompt_tokens: error.details.promptTokens, n_ctx: error.details.contextSize } : {};
}

function isOverflow(error: AppError): error is AppError<'context-overflow'> {
  return error.code === 'context-overflow';
}
