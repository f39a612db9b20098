import type { AppError } from '../../core/errors.ts';
import { json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import type { DocumentedDialect } from '../endpoint.ts';

const types = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [429, 'rate_limit_error'],
  [501, 'not_supported_error'],
  [503, 'unavailable_error'],
]);

/** `detail` is for clients of the native API, on a path that both dialects have. */
export const llamacppDialect: DocumentedDialect = {
  name: 'llamacpp',
  title: 'llama.cpp server API',
  responses: () => import('./responses.ts'),
  errorReply: (error) => json({ ...failureBody(error), ...busyDetail(error) }, error.status, retryHeaders(error)),
};

export function errorBody(code: number, message: string): { readonly error: object } {
  const type = types.get(code) ?? (code >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { code, message, type } };
}

/** Clients shorten a prompt that is too long by the two numbers that come with this error. */
export function failureBody(error: AppError): { readonly error: object } {
  const { status: code, message } = error;
  const tooLong = (tokens: number, max: number) => ({
    error: { code, message, type: 'exceed_context_size_error', n_prompt_tokens: tokens, n_ctx: max },
  });
  if (error.code === 'input-too-long') {
    const { tokens, maxTokens } = (error as AppError<'input-too-long'>).details;
    return tooLong(tokens, maxTokens);
  }
  if (error.code !== 'context-overflow') return errorBody(code, message);
  const { promptTokens, contextSize } = (error as AppError<'context-overflow'>).details;
  return tooLong(promptTokens, contextSize);
}
