import { type Family, json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/detail.ts';

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
    return json({ ...errorBody(error.status, error.message), ...busyDetail(error) }, error.status, retryHeaders(error));
  },
};

export function errorBody(code: number, message: string): { readonly error: object } {
  const type = types.get(code) ?? (code >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { code, message, type } };
}
