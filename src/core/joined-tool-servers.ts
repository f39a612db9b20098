import {
  type ServedTool,
  ToolCallError,
  type ToolServerCatalog,
  type ToolServers,
  toolCallCodes,
} from './tool-servers.ts';

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
    getPrompt: (name, given, signal) => first.getPrompt(name, given, signal),
  };
  return joined;
}
