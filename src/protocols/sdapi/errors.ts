import type { AppError } from '../../core/errors.ts';
import { json } from '../../http/call.ts';
import { retryHeaders } from '../../http/error-reply.ts';
import type { DocumentedDialect } from '../endpoint.ts';

/** The status that the original gives to what it cannot read. */
const unreadable = 422;
const unreadableCodes: ReadonlySet<string> = new Set(['invalid-field', 'invalid-json', 'request-broken']);

const types = new Map([
  [401, 'unauthorized'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [503, 'service_unavailable'],
]);

/** `detail` is an object as in the native dialect, whose clients speak this dialect too; the rest is the original's. */
export const sdapiDialect: DocumentedDialect = {
  name: 'sdapi',
  title: 'Stable Diffusion web UI API',
  responses: () => import('./responses.ts'),
  errorReply(error) {
    const status = unreadableCodes.has(error.code) ? unreadable : error.status;
    return json(errorBody(error), status, retryHeaders(error));
  },
};

export function errorBody(error: AppError): object {
  const { message, status } = error;
  const type = types.get(status) ?? (status >= 500 ? 'generation_error' : 'bad_input');
  const named = error.code === 'unauthorized' ? { error: 'Unauthorized' } : {};
  return { error: 'HTTPException', detail: { ...named, msg: message, type }, body: '', errors: message };
}
