import type { AppError, ErrorCode } from '../../core/errors.ts';
import { type Family, type Headers, json } from '../../http/call.ts';

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

/** Asking again does not help before somebody has changed the server; the official clients would try twice more. */
const hopeless: ReadonlySet<ErrorCode> = new Set(['model-missing', 'model-load-failed']);

/** The `detail` beside `error` is what clients of the native family read on a path that both kinds of client call. */
export const openaiFamily: Family = {
  name: 'openai',
  title: 'OpenAI-compatible API',
  errorReply(error) {
    return json({ error: errorObject(error), ...detail(error) }, error.status, retryHeaders(error));
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

function detail({ code, message: msg }: AppError): object {
  if (code === 'unauthorized') return { detail: { error: 'Unauthorized', msg, type: 'unauthorized' } };
  return code === 'busy' || code === 'rate-limited' ? { detail: { msg, type: 'service_unavailable' } } : {};
}

function retryHeaders({ code, details }: AppError): Headers {
  if (hopeless.has(code)) return { 'x-should-retry': 'false' };
  return 'retryAfterSeconds' in details ? { 'retry-after': String(Math.ceil(details.retryAfterSeconds)) } : {};
}
