import { read } from '../api/call.ts';
import { requestKey } from '../api/key.svelte.ts';
import type { McpPrompt, McpResource, ResourceContent } from './catalog.ts';
import { fetchTools, requestMcp } from './mcp.svelte.ts';
import { texts } from './texts.ts';

interface McpServer {
  readonly name: string;
  readonly type: 'command' | 'address';
  readonly state: 'connected' | 'connecting' | 'failed';
  readonly reason?: string;
  readonly tools: readonly string[];
}

/** The MCP servers of the server, and whether this person may add some. */
export const servers = $state({
  list: [] as readonly McpServer[],
  admin: { enabled: false, allowed: false },
  file: null as string | null,
});

export async function fetchServers(): Promise<void> {
  type Answer = Omit<typeof servers, 'list'> & { readonly servers: readonly McpServer[] };
  const { servers: list, admin, file } = await read<Answer>('api/extra/mcp', { background: true });
  Object.assign(servers, { list, admin, file });
  if (list.length > 0) await fetchTools();
}

async function change(path: string, body: object): Promise<void> {
  const { success, error } = await read<{ success: boolean; error?: string }>(path, { body });
  if (!success) throw new Error(error ?? texts.add.failed);
  await fetchServers();
}

export function addServer(name: string, url: string, token: string): Promise<void> {
  const headers = token === '' ? {} : { headers: { authorization: `Bearer ${token}` } };
  return change('api/admin/mcp/add', { name, url, ...headers });
}

export function removeServer(name: string): Promise<void> {
  return change('api/admin/mcp/remove', { name });
}

/** Asks for the admin password. */
export async function unlock(): Promise<void> {
  if (await requestKey('admin')) await fetchServers();
}

export async function fetchResources(): Promise<readonly McpResource[]> {
  return (await requestMcp<{ resources?: readonly McpResource[] }>('resources/list')).resources ?? [];
}

export async function fetchPrompts(): Promise<readonly McpPrompt[]> {
  return (await requestMcp<{ prompts?: readonly McpPrompt[] }>('prompts/list')).prompts ?? [];
}

export async function readResource(uri: string): Promise<readonly ResourceContent[]> {
  return (await requestMcp<{ contents?: readonly ResourceContent[] }>('resources/read', { uri })).contents ?? [];
}

export async function getPrompt(name: string, args: Readonly<Record<string, string>>) {
  return (await requestMcp<{ messages?: readonly object[] }>('prompts/get', { name, arguments: args })).messages ?? [];
}
