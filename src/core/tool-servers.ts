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

/** What MCP servers offer besides tools, and their state. Requests throw a `ToolCallError` if there is no result. */
export interface ToolServerCatalog {
  servers(): readonly ToolServerStatus[];
  /** Of the servers that are connected, with all their fields. */
  resources(signal: AbortSignal): Promise<readonly Fields[]>;
  resourceTemplates(signal: AbortSignal): Promise<readonly Fields[]>;
  readResource(uri: string, signal: AbortSignal): Promise<ServedResult>;
  /** Each name once. */
  prompts(signal: AbortSignal): Promise<readonly Fields[]>;
  getPrompt(name: string, args: Fields | undefined, signal: AbortSignal): Promise<ServedResult>;
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

/** No longer than chat APIs allow. */
const maxNameLength = 64;

/** Another name for a tool: with this prefix, and with a number as well if that name is taken. */
export function prefixedName(prefix: string, name: string, isTaken: (candidate: string) => boolean): string {
  for (let number = 1; ; number += 1) {
    const ending = number === 1 ? '' : `_${number}`;
    const candidate = `${prefix}_${name}`.slice(0, maxNameLength - ending.length) + ending;
    if (!isTaken(candidate)) return candidate;
  }
}

/** Two sets of MCP servers as one. Of two tools with one name the first is there. */
export function joinedToolServers(first: ToolServers | undefined, second: ToolServers): ToolServers {
  if (!first) return second;
  const listed = async (signal?: AbortSignal) => {
    const [own, others] = await Promise.all([first.list(signal), second.list(signal)]);
    const names = new Set(own.map(({ name }) => name));
    return { own, others: others.filter((tool: ServedTool) => !names.has(tool.name)) };
  };
  const catalog = joinedCatalogs(first.catalog, second.catalog);
  return {
    ...first,
    ...(catalog && { catalog }),
    list: async (signal) => {
      const { own, others } = await listed(signal);
      return [...own, ...others];
    },
    call: async (call, options) => {
      const { others } = await listed(options.signal);
      return (others.some(({ name }) => name === call.name) ? second : first).call(call, options);
    },
  };
}

function joinedCatalogs(first: ToolServerCatalog | undefined, second: ToolServerCatalog | undefined) {
  if (!first || !second) return first ?? second;
  const both = async <Value>(ask: (catalog: ToolServerCatalog) => Promise<readonly Value[]>) =>
    (await Promise.all([ask(first), ask(second)])).flat();
  const joined: ToolServerCatalog = {
    servers: () => [...first.servers(), ...second.servers()],
    resources: (signal) => both((catalog) => catalog.resources(signal)),
    resourceTemplates: (signal) => both((catalog) => catalog.resourceTemplates(signal)),
    readResource: async (uri, signal) => {
      try {
        return await second.readResource(uri, signal);
      } catch (error) {
        if (!(error instanceof ToolCallError) || error.code !== toolCallCodes.unknownResource) throw error;
        return first.readResource(uri, signal);
      }
    },
    prompts: (signal) => both((catalog) => catalog.prompts(signal)),
    getPrompt: (name, args, signal) => first.getPrompt(name, args, signal),
  };
  return joined;
}

/** These tools of the servers and no others. `missing` gets the names that no server has. */
export function onlyTools(
  servers: ToolServers,
  names: readonly string[],
  missing: (names: readonly string[]) => void,
): ToolServers {
  return {
    ...servers,
    list: async (signal) => {
      const all = await servers.list(signal);
      const unknown = names.filter((name) => !all.some((tool) => tool.name === name));
      if (unknown.length > 0) missing(unknown);
      return all.filter(({ name }) => names.includes(name));
    },
    call: async (call, options) => {
      if (names.includes(call.name)) return servers.call(call, options);
      throw new ToolCallError(toolCallCodes.unknownTool, `There is no tool ${call.name}.`);
    },
  };
}
