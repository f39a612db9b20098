import { type ServedTool, ToolCallError, type ToolServers, toolCallCodes } from '../core/tool-servers.ts';
import { unlessAborted } from '../core/unless-aborted.ts';
import type { ServerConfig } from './config.ts';
import { type ConnectionParts, ToolServerConnection } from './connection.ts';

export interface ToolServerPool extends ToolServers {
  /** Ends all connections, and the programs that were started for them. */
  close(): Promise<void>;
}

/** How long after the start requests wait for servers that have not answered yet. */
const firstTryMs = 10_000;

/** All MCP servers of a file as one. */
export function toolServerPool(
  configs: readonly ServerConfig[],
  parts: Omit<ConnectionParts, 'changed'>,
): ToolServerPool {
  let named: ReadonlyMap<string, NamedTool> | undefined;
  const changed = (): void => {
    named = undefined;
  };
  const connections = configs.map((config) => new ToolServerConnection(config, { ...parts, changed }));
  const names = (): ReadonlyMap<string, NamedTool> => {
    named ??= nameTools(connections);
    return named;
  };
  // Names depend on the order of the file, so that the first request waits for all servers, once and for a limited time.
  const settled = new Promise<void>((resolve) => {
    const timer = parts.startTimer(firstTryMs, resolve);
    void Promise.all(connections.map((connection) => connection.tried)).then(() => {
      timer.cancel();
      resolve();
    });
  });
  for (const connection of connections) connection.start();
  return {
    async list(signal) {
      await unlessAborted(settled, signal);
      return [...names().values()].map(({ tool }) => tool);
    },
    async call(call, options) {
      await unlessAborted(settled, options.signal);
      const found = names().get(call.name);
      const connection = connections.find(({ name }) => name === found?.server);
      if (!found || !connection) throw new ToolCallError(toolCallCodes.unknownTool, 'Tool not found');
      return connection.call({ ...call, name: found.ownName }, options);
    },
    close: async () => {
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}

interface NamedTool {
  readonly server: string;
  /** The name on its server. */
  readonly ownName: string;
  /** The tool under its unique name. */
  readonly tool: ServedTool;
}

/**
 * The tools of all servers, in the order of the file. The first server with a name keeps it; later ones get the name of the
 * server as a prefix, and a number if necessary. The same lists always give the same names.
 */
export function nameTools(
  offerings: readonly Pick<ToolServerConnection, 'name' | 'tools'>[],
): ReadonlyMap<string, NamedTool> {
  const named = new Map<string, NamedTool>();
  const plain = new Set(offerings.flatMap(({ tools }) => tools.map(({ name }) => name)));
  for (const { name: server, tools } of offerings) {
    const own = new Set<string>();
    for (const tool of tools) {
      // A server that lists a name twice answers to it once.
      if (own.has(tool.name)) continue;
      own.add(tool.name);
      const name = named.has(tool.name) ? freeName(server, tool.name, named, plain) : tool.name;
      named.set(name, { server, ownName: tool.name, tool: name === tool.name ? tool : { ...tool, name } });
    }
  }
  return named;
}

/** No longer than chat APIs allow, and never the plain name of a tool that comes later. */
function freeName(server: string, name: string, named: ReadonlyMap<string, NamedTool>, plain: ReadonlySet<string>) {
  const base = `${server.replace(/[^a-zA-Z0-9_-]+/g, '_').replace(/_$/, '')}_${name}`;
  for (let number = 1; ; number += 1) {
    const ending = number === 1 ? '' : `_${number}`;
    const candidate = base.slice(0, longestName - ending.length) + ending;
    if (!named.has(candidate) && !plain.has(candidate)) return candidate;
  }
}

const longestName = 64;
