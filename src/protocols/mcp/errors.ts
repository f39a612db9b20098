import type { AppError } from '../../core/errors.ts';
import { type Family, json, type Reply } from '../../http/call.ts';

/** What identifies a request of JSON-RPC; null where it could not be read. */
export type MessageId = string | number | null;

export const rpcCodes = { parse: -32700, invalid: -32600, unknownMethod: -32601, badParams: -32602, failed: -32000 };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export function errorMessage(id: MessageId, { code, message, data }: RpcError): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

export function errorReply(id: MessageId, error: RpcError, status = 200): Reply {
  return json(errorMessage(id, error), status);
}

export function invalidRequest(reason: string): RpcError {
  return { code: rpcCodes.invalid, message: `Invalid Request: ${reason}` };
}

/** For what goes wrong before a message is read; afterwards errors are answers, with status 200. */
export const mcpFamily: Family = {
  name: 'mcp',
  title: 'Tool servers (MCP)',
  errorReply: (error: AppError): Reply => {
    // There is no stream to be opened here; clients go by the status, and the original sends nothing else.
    if (error.code === 'method-not-allowed') return { status: error.status, body: '' };
    if (error.code === 'invalid-json') return errorReply(null, { code: rpcCodes.parse, message: 'Parse error' }, 400);
    // Also several messages in one body, which the protocol has given up again.
    if (error.code === 'invalid-field') return errorReply(null, invalidRequest(error.message), error.status);
    return errorReply(null, { code: rpcCodes.failed, message: error.message }, error.status);
  },
};
