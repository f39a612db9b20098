import { orGone } from '../core/or-gone.ts';
import { ToolCallError, type ToolServers, toolCallCodes } from '../core/tool-servers.ts';
import type { ServerConfig } from './config.ts';
import { Connection, type ConnectionParts } from './connection.ts';
import { type NamedTool, nameTools } from './tool-names.ts';

export interface ToolServerPool extends ToolServers {
  /** Ends all connections, and the programs that were started for them. */
  close(): Promise<void>;
}

/** How long after the start whoever asks for the tools waits for servers that have not answered yet. */
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
  /**
   * Names depend on the order of the file: without the first tries they could change in front of a client's eyes. The wait is over
   * once for everybody; a server that hangs for longer does not delay the others' tools again.
   */
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
      await orGone(settled, signal);
      return [...names().values()].map(({ tool }) => tool);
    },
    async call(call, options) {
      await orGone(settled, options.signal);
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
