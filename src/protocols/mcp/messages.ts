import type { JsonObject } from '../../http/body.ts';
import type { MessageId } from './errors.ts';

/** One message of a client, as far as it matters here. */
export type Incoming =
  | { readonly type: 'request'; readonly id: MessageId; readonly method: string; readonly params: JsonObject }
  /** A notification, or an answer to something that nobody here has asked. */
  | { readonly type: 'unanswered' }
  | { readonly type: 'invalid'; readonly id: MessageId; readonly reason: string };

export function readMessage(value: JsonObject): Incoming {
  const { id, method, params } = value;
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    return invalid(null, 'an id is a text or a number');
  }
  if (id === undefined)
    return typeof method === 'string' ? { type: 'unanswered' } : invalid(null, 'there is no method');
  if (method === undefined && ('result' in value || 'error' in value)) return { type: 'unanswered' };
  if (typeof method !== 'string') return invalid(id, 'there is no method');
  if (params !== undefined && params !== null && !isObject(params)) return invalid(id, 'params is an object');
  return { type: 'request', id, method, params: params ?? {} };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(id: MessageId, reason: string): Incoming {
  return { type: 'invalid', id, reason };
}
