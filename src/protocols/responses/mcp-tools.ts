import type { HostedServer } from '../../chat/server-tools/hosted.ts';
import { outcomeText } from '../../chat/server-tools/web-tools.ts';
import { AppError } from '../../core/errors.ts';
import type { ServerCall, ServerOutcome } from '../../core/server-tools.ts';
import type { StoredItem } from '../../store/responses.ts';
import * as f from '../fields.ts';

/** The MCP servers of a request, whose tools run on this server. What their requests should carry is not sent, and named. */
export function readMcpServers(tools: readonly unknown[], ignore: (field: string) => void): readonly HostedServer[] {
  return tools.flatMap((sent, index): HostedServer[] => {
    if (!f.isObject(sent) || sent.type !== 'mcp') return [];
    const field = `tools[${index}]`;
    const name = f.readAt(sent, 'server_label', field, f.readName);
    const url = f.readAt(sent, 'server_url', field, f.readName);
    if (sent.require_approval !== 'never') {
      const instead = 'this server runs calls without asking; set it to "never"';
      throw new AppError('unsupported', { feature: `${field}.require_approval`, instead });
    }
    for (const key of ['headers', 'authorization']) if (!f.isAbsent(sent[key])) ignore(`${field}.${key}`);
    return [
      { field: `${field} (${name})`, name, url, offers: offeredBy(sent.allowed_tools, `${field}.allowed_tools`) },
    ];
  });
}

/** A list of names, or an object with one. Other conditions of the object cannot be checked, and offer nothing. */
function offeredBy(sent: unknown, field: string): HostedServer['offers'] {
  if (f.isAbsent(sent)) return () => true;
  const list = f.isObject(sent) ? sent.tool_names : sent;
  const names = f.readList(list, f.isObject(sent) ? `${field}.tool_names` : field);
  return (name) => names.includes(name);
}

/** As the response object shows it, without credentials. */
export function mcpEcho(sent: unknown): readonly object[] {
  if (!f.isObject(sent) || sent.type !== 'mcp') return [];
  const { headers: _, authorization: __, ...shown } = sent;
  return [shown];
}

/** The item of a call that runs. */
export function mcpItem(id: string, { server, name }: ServerCall): StoredItem & { readonly type: 'mcp_call' } {
  const empty = { arguments: '', output: null, error: null, approval_request_id: null };
  return { id, type: 'mcp_call', status: 'in_progress', server_label: server ?? '', name, ...empty };
}

export function finishedMcp(item: StoredItem, outcome: ServerOutcome): StoredItem {
  const written = outcomeText(outcome, 1);
  if (outcome.type === 'result' && !outcome.failed) return { ...item, status: 'completed', output: written };
  const error = { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: written }] };
  return { ...item, status: 'failed', error };
}

/** A call that comes back, and its result in words. Undefined for an item without a name. */
export function readMcpCall(item: StoredItem, at: string) {
  const name = f.readAt(item, 'name', at, f.optionalText);
  if (name === undefined) return undefined;
  const json = f.readAt(item, 'arguments', at, f.optionalText) ?? '{}';
  const output = f.readAt(item, 'output', at, f.optionalText);
  return { name, json, result: output ?? `The call failed: ${JSON.stringify(item.error ?? null)}` };
}
