import type { AppError, ErrorCode } from '../core/errors.ts';
import { type Headers, json, type Reply } from './call.ts';

/** Error types of responses that belong to no dialect, in the native format. */
const kinds: Partial<Record<ErrorCode, string>> = {
  'rate-limited': 'service_unavailable',
  'not-found': 'not_found',
  'method-not-allowed': 'method_not_allowed',
  'host-refused': 'host_refused',
  internal: 'server_error',
};

export function refusal(status: number, message: string, kind: string): Reply {
  return json({ detail: { msg: message, type: kind } }, status);
}

export function errorRefusal(error: AppError): Reply {
  return refusal(error.status, error.message, kinds[error.code] ?? 'bad_input');
}

/** Added to the error body of every dialect: native clients offer to abort when they read `service_unavailable`. */
export function busyDetail({ code, message: msg }: AppError): object {
  if (code === 'unauthorized') return { detail: { error: 'Unauthorized', msg, type: 'unauthorized' } };
  return code === 'busy' || code === 'rate-limited' ? { detail: { msg, type: 'service_unavailable' } } : {};
}

/** When to retry, if that can help. The official clients obey both headers. */
export function retryHeaders({ code, details }: AppError): Headers {
  if (code === 'model-missing' || code === 'model-unavailable' || code === 'model-load-failed')
    return { 'x-should-retry': 'false' };
  return 'retryAfterSeconds' in details ? { 'retry-after': String(Math.ceil(details.retryAfterSeconds)) } : {};
}
