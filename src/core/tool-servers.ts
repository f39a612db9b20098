type Fields = Readonly<Record<string, unknown>>;

/** A tool of an MCP server, with all its fields (title, annotations, …). */
export interface ServedTool extends Fields {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Fields;
}

export interface ServedCall {
  readonly name: string;
  readonly arguments?: Fields;
  readonly meta?: Fields;
}

export interface CallProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly progress?: (progress: CallProgress) => void;
}

/** The result as the MCP server sent it; `isError` for a failed tool. */
export type ServedResult = Fields;

/** An MCP server, for people. */
export interface ToolServerStatus {
  readonly name: string;
  /** A program that this server starts, or an address. */
  readonly type: 'command' | 'address';
  readonly state: 'connected' | 'connecting' | 'failed';
  /** Why it is not connected. */
  readonly reason?: string;
  /** The names of its tools, as `ToolServers` lists them. */
  readonly tools: readonly string[];
}

/** What MCP servers offer beside tools, and their state. Requests throw a `ToolCallError` if there is no result. */
export interface ToolServerCatalog {
  servers(): readonly ToolServerStatus[];
  /** Of the servers that are connected, with all their fields. */
  resources(signal: AbortSignal): Promise<readonly Fields[]>;
  resourceTemplates(signal: AbortSignal): Promise<readonly Fields[]>;
  readResource(uri: string, signal: AbortSignal): Promise<ServedResult>;
  /** Each name once. */
  prompts(signal: AbortSignal): Promise<readonly Fields[]>;
  getPrompt(name: string, given: Fields | undefined, signal: AbortSignal): Promise<ServedResult>;
}

/** Adds and removes MCP servers while the program runs. */
export interface ToolServerEditor {
  /** Where they are saved. */
  readonly file: string;
  /** An entry of the file, with an address. Throws an `Error` with a sentence if it cannot be used. */
  add(name: string, entry: Fields): Promise<void>;
  remove(name: string): Promise<void>;
}

/** The tools of all MCP servers, each name once. */
export interface ToolServers {
  readonly catalog?: ToolServerCatalog;

  /** The server with this address, or `mcpfile:` and this name, with its own names of tools. */
  readonly at?: (url: string) => ToolServers | undefined;

  /** The known tools; waits only for servers that were never tried. */
  list(signal?: AbortSignal): Promise<readonly ServedTool[]>;
  /** Throws a `ToolCallError` if there is no result. */
  call(call: ServedCall, options: CallOptions): Promise<ServedResult>;
  /** Of a connection that one request has: `list` opens it, and throws if it cannot. */
  readonly close?: () => Promise<void>;
}

/** JSON-RPC error codes of this program. */
export const toolCallCodes = {
  unavailable: -32000,
  timedOut: -32001,
  unknownTool: -32602,
  unknownResource: -32002,
} as const;

/** The tool does not exist, or its server is gone, too slow or refused the call. */
export class ToolCallError extends Error {
  override readonly name = 'ToolCallError';

  constructor(
    /** JSON-RPC code; that of the MCP server if it sent one. */
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}
