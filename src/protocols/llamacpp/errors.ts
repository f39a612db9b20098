import type { AppError } from '../../core/errors.ts';
import { type Family, type Headers, json } from '../../http/call.ts';

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
    return json({ ...errorBody(error.status, error.message), ...detail(error) }, error.status, retryHeaders(error));
  },
};

export function errorBody(code: number, message: string): { readonly error: object } {
  const type = types.get(code) ?? (code >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { code, message, type } };
}

function detail({ code, message: msg }: AppError): object {
  if (code === 'unauthorized') return { detail: { error: 'Unauthorized', msg, type: 'unauthorized' } };
  return code === 'busy' || code === 'rate-limited' ? { detail: { msg, type: 'service_unavailable' } } : {};
}

function retryHeaders({ details }: AppError): Headers {
  return 'retryAfterSeconds' in details ? { 'retry-after': String(Math.ceil(details.retryAfterSeconds)) } : {};
}
