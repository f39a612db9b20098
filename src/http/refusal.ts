import type { AppError, ErrorCode } from '../core/errors.ts';
import { json, type Reply } from './call.ts';

/** How a failure is called where no family of endpoints is concerned; the shape is the one that the native clients know. */
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
