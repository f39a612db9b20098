import type { AppError } from '../../core/errors.ts';
import { type Family, json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';

const types = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [501, 'not_supported_error'],
  [503, 'unavailable_error'],
]);

/** The `detail` beside it is what clients of the native family read on a path that both kinds of client call. */
export const llamacppFamily: Family = {
  name: 'llamacpp',
  title: 'llama.cpp server API',
  errorReply(error) {
    return json({ ...failureBody(error), ...busyDetail(error) }, error.status, retryHeaders(error));
  },
};

export function errorBody(code: number, message: string): { readonly error: object } {
  const type = types.get(code) ?? (code >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { code, message, type } };
}

/** Clients shorten their prompt by the two numbers that come with this one failure. */
export function failureBody(error: AppError): { readonly error: object } {
  if (error.code === 'input-too-long') return tooLongBody(error as AppError<'input-too-long'>);
  if (error.code !== 'context-overflow') return errorBody(error.status, error.message);
  const { promptTokens, contextSize } = (error as AppError<'context-overflow'>).details;
  return {
    error: {
      code: error.status,
      message: error.message,
      type: 'exceed_context_size_error',
      n_prompt_tokens: promptTokens,
      n_ctx: contextSize,
    },
  };
}

function tooLongBody({ status, message, details }: AppError<'input-too-long'>): { readonly error: object } {
  const { tokens, mostTokens } = details;
  return {
    error: { code: status, message, type: 'exceed_context_size_error', n_prompt_tokens: tokens, n_ctx: mostTokens },
  };
}
