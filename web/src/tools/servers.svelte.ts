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

interface ServerList {
  readonly servers: readonly McpServer[];
  readonly admin: { readonly enabled: boolean; readonly allowed: boolean };
  readonly file: string | null;
}

let list = $state.raw<ServerList>({ servers: [], admin: { enabled: false, allowed: false }, file: null });

/** The MCP servers of the server, and whether this person may add some. */
export const servers = {
  get list(): readonly McpServer[] {
    return list.servers;
  },
  get admin(): ServerList['admin'] {
    return list.admin;
  },
  get file(): string | null {
    return list.file;
  },
};

export async function fetchServers(): Promise<void> {
  list = await read<ServerList>('api/extra/mcp', { background: true });
  if (list.servers.length > 0) await fetchTools();
}

interface Outcome {
  readonly success: boolean;
  readonly error?: string;
}

async function change(path: string, body: object): Promise<void> {
  const { success, error } = await read<Outcome>(path, { body });
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
  if (await (requestKey as (kind: 'admin') => Promise<boolean>)('admin')) await fetchServers();
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

export async function getPrompt(name: string, given: Readonly<Record<string, string>>) {
  return (await requestMcp<{ messages?: readonly object[] }>('prompts/get', { name, arguments: given })).messages ?? [];
}
