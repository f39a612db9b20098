import { unlessAborted } from '../core/abort.ts';
import {
  prefixedName,
  type ServedTool,
  ToolCallError,
  type ToolServerCatalog,
  type ToolServers,
  toolCallCodes,
} from '../core/tool-servers.ts';
import type { ServerConfig } from './config.ts';
import { type ConnectionDeps, ToolServerConnection } from './connection.ts';

export interface ToolServerPool extends ToolServers {
  readonly catalog: ToolServerCatalog;
  /** Connects to another server; one of the same name is replaced. */
  add(config: ServerConfig): Promise<void>;
  remove(name: string): Promise<void>;
  /** Ends all connections, and the programs that were started for them. */
  close(): Promise<void>;
}

/** How long after the start requests wait for servers that have not answered yet. */
const firstTryMs = 10_000;

/** All MCP servers of a file as one. */
export function toolServerPool(
  configs: readonly ServerConfig[],
  deps: Omit<ConnectionDeps, 'changed'>,
): ToolServerPool {
  let named: ReadonlyMap<string, NamedTool> | undefined;
  const changed = (): void => {
    named = undefined;
  };
  const connection = (config: ServerConfig) => new ToolServerConnection(config, { ...deps, changed });
  let connections = configs.map(connection);
  const names = (): ReadonlyMap<string, NamedTool> => {
    named ??= nameTools(connections);
    return named;
  };
  // Names depend on the order of the file, so that the first request waits for all servers, once and for a limited time.
  const settled = new Promise<void>((resolve) => {
    const timer = deps.startTimer(firstTryMs, resolve);
    void Promise.all(connections.map(({ firstAttempt }) => firstAttempt)).then(() => {
      timer.cancel();
      resolve();
    });
  });
  for (const one of connections) one.start();
  const remove = async (name: string): Promise<void> => {
    const removed = connections.find((one) => one.name === name);
    connections = connections.filter((one) => one !== removed);
    changed();
    await removed?.close();
  };
  return {
    async list(signal) {
      await unlessAborted(settled, signal);
      return [...names().values()].map(({ tool }) => tool);
    },
    async call(call, options) {
      await unlessAborted(settled, options.signal);
      const tool = names().get(call.name);
      const server = connections.find(({ name }) => name === tool?.server);
      if (!tool || !server) throw new ToolCallError(toolCallCodes.unknownTool, 'Tool not found');
      return server.call({ ...call, name: tool.ownName }, options);
    },
    at(url) {
      const one = connections.find(({ name, config }) =>
        url.startsWith('mcpfile:') ? url === `mcpfile:${name}` : config.type === 'address' && config.url === url,
      );
      return (
        one && {
          list: async (signal) => {
            await unlessAborted(settled, signal);
            return one.tools;
          },
          call: (call, options) => one.call(call, options),
        }
      );
    },
    catalog: catalogOf(() => connections, names),
    async add(config) {
      await remove(config.name);
      const added = connection(config);
      connections = [...connections, added];
      added.start();
    },
    remove,
    close: async () => {
      await Promise.all(connections.map((one) => one.close()));
    },
  };
}

type Connections = () => readonly ToolServerConnection[];

function catalogOf(connections: Connections, names: () => ReadonlyMap<string, NamedTool>): ToolServerCatalog {
  /** The lists of all servers that have such. A server that fails is left out: its state says why. */
  const listed = (what: 'resources' | 'prompts', method: string, key: string, signal: AbortSignal) =>
    Promise.all(
      connections()
        .filter((one) => one.offers(what))
        .map(async (server) => ({
          server,
          entries: await server.entries(method, key, signal).catch((error: unknown) => {
            signal.throwIfAborted();
            if (error instanceof ToolCallError) return [];
            throw error;
          }),
        })),
    );
  const promptsByName = async (signal: AbortSignal) => {
    const lists = await listed('prompts', 'prompts/list', 'prompts', signal);
    const offerings = lists.map(({ server, entries }) => ({
      name: server.name,
      tools: entries.flatMap((entry) => (typeof entry.name === 'string' ? [{ ...entry, name: entry.name }] : [])),
    }));
    return nameTools(offerings);
  };
  return {
    servers: () =>
      connections().map((one) => ({
        name: one.name,
        type: one.config.type,
        state: one.state,
        ...(one.state === 'failed' ? { reason: one.failure } : {}),
        tools: [...names()].flatMap(([name, { server }]) => (server === one.name ? [name] : [])),
      })),
    resources: async (signal) => {
      const lists = await listed('resources', 'resources/list', 'resources', signal);
      return lists.flatMap(({ entries }) => entries);
    },
    resourceTemplates: async (signal) => {
      const lists = await listed('resources', 'resources/templates/list', 'resourceTemplates', signal);
      return lists.flatMap(({ entries }) => entries);
    },
    async readResource(uri, signal) {
      const lists = await listed('resources', 'resources/list', 'resources', signal);
      const owner = lists.find(({ entries }) => entries.some((entry) => entry.uri === uri));
      // A resource of a template is in no list: the first server that knows it answers.
      let failure: unknown = new ToolCallError(toolCallCodes.unknownResource, 'Resource not found', { uri });
      for (const { server } of owner ? [owner] : lists) {
        try {
          return await server.request('resources/read', { uri }, signal);
        } catch (error) {
          if (!(error instanceof ToolCallError)) throw error;
          failure = error;
        }
      }
      throw failure;
    },
    prompts: async (signal) => [...(await promptsByName(signal)).values()].map(({ tool }) => tool),
    async getPrompt(name, args, signal) {
      const tool = (await promptsByName(signal)).get(name);
      const server = connections().find((one) => one.name === tool?.server);
      if (!tool || !server) throw new ToolCallError(toolCallCodes.unknownTool, 'Prompt not found');
      const params = { name: tool.ownName, ...(args ? { arguments: args } : {}) };
      return server.request('prompts/get', params, signal);
    },
  };
}

interface Named<Own> {
  readonly server: string;
  /** The name on its server. */
  readonly ownName: string;
  /** The tool or prompt under its unique name. */
  readonly tool: Own;
}
type NamedTool = Named<ServedTool>;

/**
 * The tools of all servers, in the order of the file. The first server with a name keeps it; later ones get the name of the
 * server as a prefix, and a number if necessary. The same lists always give the same names.
 */
export function nameTools<Own extends { readonly name: string }>(
  offerings: readonly { readonly name: string; readonly tools: readonly Own[] }[],
): ReadonlyMap<string, Named<Own>> {
  const named = new Map<string, Named<Own>>();
  const plain = new Set(offerings.flatMap(({ tools }) => tools.map(({ name }) => name)));
  for (const { name: server, tools } of offerings) {
    const own = new Set<string>();
    for (const tool of tools) {
      // A server that lists a name twice answers to it once.
      if (own.has(tool.name)) continue;
      own.add(tool.name);
      // Never the plain name of a tool that comes later.
      const isTaken = (candidate: string) => named.has(candidate) || plain.has(candidate);
      const prefix = server.replace(/[^a-zA-Z0-9_-]+/g, '_').replace(/_$/, '');
      const name = named.has(tool.name) ? prefixedName(prefix, tool.name, isTaken) : tool.name;
      named.set(name, { server, ownName: tool.name, tool: name === tool.name ? tool : { ...tool, name } });
    }
  }
  return named;
}
