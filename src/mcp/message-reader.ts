import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isDeeperThan, isObject, tryParseJson } from '../core/json.ts';

/** The longest message of an MCP server: an image of some megabytes fits. */
export const maxMessageBytes = 10 * 1024 * 1024;
/** Deeper than real messages, and safe for recursive code. */
const maxDepth = 128;

/**
 * Parses the output of a program, one message per line. Replaces the reader of the client library, which copies its buffer with
 * each piece, accepts any depth, and never answers a request whose response it cannot use.
 */
export class MessageReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Complete lines that were not read yet. */
  #lines: Buffer[] = [];

  /** `tooLong` is called for a line beyond the limit; nothing after it can be read. */
  constructor(private readonly tooLong: () => void) {}

  append(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(lineFeed); end !== -1; end = rest.indexOf(lineFeed)) {
      this.#lines.push(Buffer.concat([...this.#pieces, rest.subarray(0, end)]));
      this.#forgetPieces();
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) this.#pieces.push(rest);
    this.#bytes += rest.length;
    if (this.#bytes <= maxMessageBytes) return;
    this.clear();
    this.tooLong();
    throw new Error('a line of its output is too long');
  }

  /** The next message or null; other lines are skipped. */
  readMessage(): JSONRPCMessage | null {
    for (let line = this.#lines.shift(); line; line = this.#lines.shift()) {
      const message = messageIn(line);
      if (message) return message;
    }
    return null;
  }

  clear(): void {
    this.#lines = [];
    this.#forgetPieces();
  }

  #forgetPieces(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }
}

const lineFeed = 0x0a;

/** A JSON-RPC message. A response that cannot be used becomes an error, so that its request is answered. */
function messageIn(line: Buffer): JSONRPCMessage | undefined {
  if (isDeeperThan(line, maxDepth)) {
    const id = idIn(line);
    return id === undefined ? undefined : unusable(id, 'it is nested too deeply');
  }
  const value = tryParseJson(line.toString('utf8'));
  if (!isObject(value)) return undefined;
  const { id, method, result, error } = value;
  if (typeof method === 'string') return { ...value, jsonrpc: '2.0' } as JSONRPCMessage;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  if (isObject(error)) {
    const { code, message, data } = error;
    const known = {
      code: Number.isInteger(code) ? (code as number) : -32_603,
      message: typeof message === 'string' ? message : 'The tool server gave no reason.',
    };
    return { jsonrpc: '2.0', id, error: { ...known, ...(data === undefined ? {} : { data }) } };
  }
  return isObject(result) ? { jsonrpc: '2.0', id, result } : unusable(id, 'its result is no object');
}

function unusable(id: string | number, reason: string): JSONRPCMessage {
  const message = `The answer of the tool server cannot be used: ${reason}.`;
  return { jsonrpc: '2.0', id, error: { code: -32_603, message } };
}

/** The id of a response that is not parsed; servers write it first. */
function idIn(line: Buffer): string | number | undefined {
  const [, number, text] = /^[^{]*\{[^{}]*?"id"\s*:\s*(?:(\d+)|"([^"\\]*)")/.exec(line.toString('utf8', 0, 1000)) ?? [];
  return number === undefined ? text : Number(number);
}
