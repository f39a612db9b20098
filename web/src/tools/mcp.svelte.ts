import { read } from '../api/call.ts';
import { texts } from './texts.ts';
import { type McpTool, resultText } from './tools.ts';

/** The tools of the connected MCP servers. */
export const mcp = $state<{ tools: readonly McpTool[] }>({ tools: [] });

let last = 0;

export async function fetchTools(): Promise<void> {
  const { result } = await rpc<{ tools?: readonly McpTool[] }>('tools/list', {}, true);
  mcp.tools = result?.tools ?? [];
}

export async function callTool(name: string, args: Record<string, unknown>): Promise<string> {
  return resultText(await rpc('tools/call', { name, arguments: args }));
}

/** A request to all MCP servers together; throws the error of the server. */
export async function requestMcp<Result>(method: string, params: object = {}): Promise<Result> {
  const { result, error } = await rpc<Result>(method, params);
  if (error || result === undefined) throw new Error(error?.message ?? texts.noAnswer);
  return result;
}

function rpc<Result>(
  method: string,
  params: object,
  background = false,
): Promise<{ result?: Result; error?: { message?: string } }> {
  last += 1;
  return read('mcp', { body: { jsonrpc: '2.0', id: last, method, params }, background });
}
