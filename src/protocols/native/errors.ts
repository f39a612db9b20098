import type { AppError } from '../../core/errors.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { retryHeaders } from '../../http/error-reply.ts';
import { bodyOf, type DocumentedDialect } from '../endpoint.ts';
import { type Fields, readFields, type Table } from '../fields.ts';

/** The type of an error by its status; clients offer to abort at `service_unavailable`. */
const types = new Map([
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [429, 'rate_limited'],
  [503, 'service_unavailable'],
]);

export function errorType({ status }: AppError): string {
  return types.get(status) ?? (status >= 500 ? 'server_error' : 'bad_input');
}

export const nativeDialect: DocumentedDialect = {
  name: 'native',
  title: 'Native text API',
  responses: async (engineFeatures) => (await import('./responses.ts')).nativeResponses(engineFeatures),
  errorReply(error) {
    const named = error.code === 'unauthorized' ? { error: 'Unauthorized' } : {};
    const detail = { ...named, msg: error.message, type: errorType(error) };
    return json({ detail }, error.status, retryHeaders(error));
  },
};

/** A refusal in the form of the answers that have `success`. */
export function failed(error: string, status = 400): Reply {
  return json({ success: false, error }, status);
}

/** For endpoints that have their own reply to bad input: undefined whatever is wrong with the body. */
export async function readInput<const Declared extends Table>(
  call: Call,
  table: Declared,
  empty: 'object' | 'refuse' = 'refuse',
): Promise<Fields<Declared> | undefined> {
  try {
    return readFields(table, await bodyOf(call, empty));
  } catch {
    return undefined;
  }
}
