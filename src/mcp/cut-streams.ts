import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** Of our own making, where a server can no longer answer itself. */
export const cutCode = -32_099;

/**
 * A server answers each request in a stream of its own. Where that ends before the answer, nothing would ever come, and the client
 * library would wait for it: so the request is answered here, with an error.
 */
export function answeringCutStreams<Own extends Transport>(transport: Own): Own {
  const open = new Set<unknown>();
  // The library calls whoever was there before it.
  transport.onmessage = (message) => {
    if (!('method' in message)) open.delete(message.id);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const id = requestId(message);
    if (id === undefined) return send(message, options);
    open.add(id);
    const onRequestStreamEnd = (): void => {
      const error = { code: cutCode, message: 'it hung up before it answered' };
      if (open.delete(id)) transport.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    try {
      await send(message, { ...options, onRequestStreamEnd });
    } catch (error) {
      open.delete(id);
      throw error;
    }
  };
  return transport;
}

function requestId(message: JSONRPCMessage): string | number | undefined {
  return 'method' in message && 'id' in message ? message.id : undefined;
}
