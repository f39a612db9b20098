import type { JsonObject } from '../../http/body.ts';
import { type Family, json, type Reply } from '../../http/call.ts';
import { isObject } from '../fields.ts';

/** The id of a JSON-RPC request; null if it could not be read. */
export type MessageId = string | number | null;

/** One message of a client. `unanswered` is a notification, or a response, which needs no reply. */
export type Incoming =
  | { readonly type: 'request'; readonly id: MessageId; readonly method: string; readonly params: JsonObject }
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

function invalid(id: MessageId, reason: string): Incoming {
  return { type: 'invalid', id, reason };
}

export const rpcCodes = { parse: -32700, invalid: -32600, unknownMethod: -32601, badParams: -32602, failed: -32000 };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export function errorMessage(id: MessageId, { code, message, data }: RpcError): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

export function errorReply(id: MessageId, code: number, message: string, status = 200): Reply {
  return json(errorMessage(id, { code, message }), status);
}

/** Errors before a message is read. Later ones are JSON-RPC errors with status 200. */
export const mcpFamily: Family = {
  name: 'mcp',
  title: 'Tool servers (MCP)',
  errorReply: ({ code, message, status }) => {
    // GET opens no stream here; clients go by the status.
    if (code === 'method-not-allowed') return { status, body: '' };
    if (code === 'invalid-json') return errorReply(null, rpcCodes.parse, 'Parse error', 400);
    // Includes batches, which the protocol no longer has.
    if (code === 'invalid-field') return errorReply(null, rpcCodes.invalid, `Invalid Request: ${message}`, status);
    return errorReply(null, rpcCodes.failed, message, status);
  },
};
