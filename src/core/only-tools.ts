import { ToolCallError, type ToolServers, toolCallCodes } from './tool-servers.ts';

/** These tools of the servers and no others. `missing` is told which of the names no server has. */
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
