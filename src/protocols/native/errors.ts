import type { AppError } from '../../core/errors.ts';
import { type Family, json } from '../../http/call.ts';
import { retryHeaders } from '../../http/error-reply.ts';

/** This dialect's word for a failure follows its status; clients offer to abort when they read `service_unavailable`. */
const types = new Map([
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [503, 'service_unavailable'],
]);

export function errorType({ status }: AppError): string {
  return types.get(status) ?? (status >= 500 ? 'server_error' : 'bad_input');
}

export const nativeFamily: Family = {
  name: 'native',
  title: 'Native text API',
  errorReply(error) {
    const named = error.code === 'unauthorized' ? { error: 'Unauthorized' } : {};
    const detail = { ...named, msg: error.message, type: errorType(error) };
    return json({ detail }, error.status, retryHeaders(error));
  },
};
