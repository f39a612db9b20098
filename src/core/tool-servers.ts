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

/** The tools of all MCP servers, each name once. */
export interface ToolServers {
  /** The known tools; waits only for servers that were never tried. */
  list(signal?: AbortSignal): Promise<readonly ServedTool[]>;
  /** Throws a `ToolCallError` if there is no result. */
  call(call: ServedCall, options: CallOptions): Promise<ServedResult>;
}

/** JSON-RPC error codes of this program. */
export const toolCallCodes = { unavailable: -32000, timedOut: -32001, unknownTool: -32602 } as const;

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
