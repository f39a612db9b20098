import type { AppError } from '../core/errors.ts';
import type { Headers } from './call.ts';

/**
 * The object that clients of the native family look for in a failure, on every path: they offer to abort when they read
 * `service_unavailable`. Families with an error object of their own send both.
 */
export function busyDetail({ code, message: msg }: AppError): object {
  if (code === 'unauthorized') return { detail: { error: 'Unauthorized', msg, type: 'unauthorized' } };
  return code === 'busy' || code === 'rate-limited' ? { detail: { msg, type: 'service_unavailable' } } : {};
}

/** When to ask again, where waiting helps; the official clients obey both headers. */
export function retryHeaders({ code, details }: AppError): Headers {
  if (code === 'model-missing' || code === 'model-unavailable' || code === 'model-load-failed')
    return { 'x-should-retry': 'false' };
  return 'retryAfterSeconds' in details ? { 'retry-after': String(Math.ceil(details.retryAfterSeconds)) } : {};
}
