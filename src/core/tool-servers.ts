type Fields = Readonly<Record<string, unknown>>;

/** A tool of a tool server, with all that its server says of it (title, annotations, …). */
export interface ServedTool extends Fields {
  readonly name: string;
  readonly description?: string;
  /** A JSON schema of an object. */
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

/** What a tool gave, as its server tells it; a tool that failed says so in `isError`. */
export type ServedResult = Fields;

/** The programs whose tools this server passes on (MCP); several may offer tools, and each name is there once. */
export interface ToolServers {
  /** As far as is known; waits only while a server has not been tried yet at all. */
  list(signal?: AbortSignal): Promise<readonly ServedTool[]>;
  /** Throws a `ToolCallError` where there is no result. */
  call(call: ServedCall, options: CallOptions): Promise<ServedResult>;
}

/** The codes of JSON-RPC and MCP that this program gives by itself. */
export const toolCallCodes = { unavailable: -32000, timedOut: -32001, unknownTool: -32602 } as const;

/** There is no result: the tool does not exist, its server is gone or too slow, or it refused the call. */
export class ToolCallError extends Error {
  override readonly name = 'ToolCallError';

  constructor(
    /** Of JSON-RPC: those of the tool's server are passed on as they are. */
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}
