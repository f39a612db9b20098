import type { JSONRPCMessage } from '@modelcontextprotocol/client';

/** The longest message of a tool server: a picture of some megabytes fits. */
export const mostMessageBytes = 10 * 1024 * 1024;
/** Deeper than any honest message; shallow enough to be walked recursively by whoever gets it. */
const deepest = 128;

/**
 * The messages in the output of a program, one in each line, in the place of the reader of the client library: that one joins all
 * that came with each new piece, takes values of any depth, and leaves a request unanswered for ever whose answer it cannot use.
 */
export class MessageReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Whole lines that were not asked for yet. */
  #lines: Buffer[] = [];

  /** `tooLong` is told of a line that does not end; nothing can be read behind it. */
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
    if (this.#bytes <= mostMessageBytes) return;
    this.clear();
    this.tooLong();
    throw new Error('a line of its output is too long');
  }

  /** Null where there is none; what is no message is skipped. */
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

/** What is at least JSON-RPC. An answer that cannot be used becomes an error, so that whoever asked hears of it. */
function messageIn(line: Buffer): JSONRPCMessage | undefined {
  const deep = isDeep(line);
  const value = deep ? undefined : parsed(line);
  if (deep) {
    const id = idIn(line);
    return id === undefined ? undefined : unusable(id, 'it is nested too deeply');
  }
  if (!isObject(value)) return undefined;
  const { id, method, result, error } = value;
  if (typeof method === 'string') return { ...value, jsonrpc: '2.0' } as JSONRPCMessage;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  if (isObject(error)) {
    const { code, message, data } = error;
    const known = { code: Number.isInteger(code) ? (code as number) : -32_603, message: textOf(message) };
    return { jsonrpc: '2.0', id, error: { ...known, ...(data === undefined ? {} : { data }) } };
  }
  return isObject(result) ? { jsonrpc: '2.0', id, result } : unusable(id, 'its result is no object');
}

function unusable(id: string | number, reason: string): JSONRPCMessage {
  return {
    jsonrpc: '2.0',
    id,
    error: { code: -32_603, message: `The answer of the tool server cannot be used: ${reason}.` },
  };
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Of an answer that is not parsed; servers write the id in front. */
function idIn(line: Buffer): string | number | undefined {
  const [, number, text] = /^[^{]*\{[^{}]*?"id"\s*:\s*(?:(\d+)|"([^"\\]*)")/.exec(line.toString('utf8', 0, 1000)) ?? [];
  return number === undefined ? text : Number(number);
}

/** Counts brackets outside of texts. */
function isDeep(line: Buffer): boolean {
  let depth = 0;
  let inText = false;
  for (let index = 0; index < line.length; index += 1) {
    const byte = line[index];
    if (inText) {
      if (byte === 0x5c) index += 1;
      else if (byte === 0x22) inText = false;
    } else if (byte === 0x22) inText = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > deepest) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return false;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : 'The tool server gave no reason.';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
