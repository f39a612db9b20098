import { orGone } from '../core/or-gone.ts';
import { ToolCallError, type ToolServers, toolCallCodes } from '../core/tool-servers.ts';
import type { ServerConfig } from './config.ts';
import { Connection, type ConnectionParts } from './connection.ts';
import { type NamedTool, nameTools } from './tool-names.ts';

export interface ToolServerPool extends ToolServers {
  /** Ends all connections, and the programs that were started for them. */
  close(): Promise<void>;
}

/** How long somebody who asks for the tools waits for servers that have not been tried yet. */
const firstTryMs = 10_000;

/** All tool servers of a file as one. */
export function toolServerPool(
  configs: readonly ServerConfig[],
  parts: Omit<ConnectionParts, 'changed'>,
): ToolServerPool {
  let named: ReadonlyMap<string, NamedTool> | undefined;
  const changed = (): void => {
    named = undefined;
  };
  const connections = configs.map((config) => new Connection(config, { ...parts, changed }));
  const names = (): ReadonlyMap<string, NamedTool> => {
    named ??= nameTools(connections.map(({ name, tools }) => ({ server: name, tools })));
    return named;
  };
  const tried = Promise.all(connections.map((connection) => connection.tried));
  /** Names depend on who came first in the file: without the first tries they could change in front of a client's eyes. */
  const settled = async (signal: AbortSignal | undefined): Promise<void> => {
    let timer: { cancel(): void } | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = parts.startTimer(firstTryMs, resolve);
    });
    try {
      await orGone(Promise.race([tried, patience]), signal);
    } finally {
      timer?.cancel();
    }
  };
  for (const connection of connections) connection.start();
  return {
    async list(signal) {
      await settled(signal);
      return [...names().values()].map(({ tool }) => tool);
    },
    async call(call, options) {
      await settled(options.signal);
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
