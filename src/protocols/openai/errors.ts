import type { AppError, ErrorCode } from '../../core/errors.ts';
import { type Family, json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/detail.ts';

/** The machine-readable name of a failure, where this dialect has one. */
const codes: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'invalid_api_key',
  unsupported: 'unsupported_parameter',
  'context-overflow': 'context_length_exceeded',
  busy: 'server_busy',
  'rate-limited': 'server_busy',
  'model-missing': 'model_not_loaded',
  'model-load-failed': 'model_not_loaded',
};

/** The `detail` beside `error` is what clients of the native family read on a path that both kinds of client call. */
export const openaiFamily: Family = {
  name: 'openai',
  title: 'OpenAI-compatible API',
  errorReply(error) {
    return json({ error: errorObject(error), ...busyDetail(error) }, error.status, retryHeaders(error));
  },
};

export function errorObject(error: AppError): object {
  return {
    message: error.message,
    type: error.status >= 500 ? 'server_error' : 'invalid_request_error',
    param: 'field' in error.details ? error.details.field : null,
    code: codes[error.code] ?? null,
  };
}
