import type { AppError, ErrorCode } from '../core/errors.ts';

/** The machine-readable name of a failure, as the clients of both OpenAI dialects know it. */
const errorCodes: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'invalid_api_key',
  unsupported: 'unsupported_parameter',
  'context-overflow': 'context_length_exceeded',
  'input-too-long': 'context_length_exceeded',
  busy: 'server_busy',
  'rate-limited': 'server_busy',
  stopping: 'server_stopping',
  'key-rate-limited': 'rate_limit_exceeded',
  'key-tokens-used': 'rate_limit_exceeded',
  'scope-missing': 'insufficient_permissions',
  'model-missing': 'model_not_loaded',
  'model-unavailable': 'model_not_loaded',
  'model-load-failed': 'model_not_loaded',
  'model-late': 'model_not_loaded',
  'model-not-found': 'model_not_found',
};

/** The error object of both OpenAI dialects. `param` is the field at fault; `own` is a code that is not in the table. */
export function openaiError(error: AppError, message: string, param: string | null, own?: unknown): object {
  const { code, details, status } = error;
  return {
    message,
    type: status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error',
    param,
    code: own ?? errorCodes[code] ?? null,
    // Clients of llama.cpp's server read these to shorten the conversation by the right amount.
    ...('promptTokens' in details && { n_prompt_tokens: details.promptTokens, n_ctx: details.contextSize }),
  };
}
