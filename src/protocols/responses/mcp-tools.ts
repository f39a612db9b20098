import type { ApprovedCall, HostedServer } from '../../chat/server-tools/hosted.ts';
import { outcomeText } from '../../chat/server-tools/web-tools.ts';
import type { ServerCall, ServerOutcome, ServerToolStep } from '../../core/server-tools.ts';
import type { JsonObject } from '../../http/body.ts';
import type { StoredItem } from '../../store/responses.ts';
import type { ControlLimits } from '../controls/decode.ts';
import * as f from '../fields.ts';
import { clientHeaders, refuseManyServers } from '../hosted-tools.ts';

interface McpReading extends Pick<ControlLimits, 'isClientServer'> {
  /** The servers whose tools the conversation has: the reply does not show them again. */
  readonly listed: ReadonlySet<string>;
  readonly ignore: (field: string) => void;
}

/** The MCP servers of a request, whose tools run on this server. Credentials for servers of the file are not sent, and named. */
export function readMcpServers(
  tools: readonly unknown[],
  { listed, isClientServer, ignore }: McpReading,
): readonly HostedServer[] {
  const names = new Set<string>();
  refuseManyServers(tools.filter((sent) => f.isObject(sent) && sent.type === 'mcp').length, 'tools');
  return tools.flatMap((sent, index): HostedServer[] => {
    if (!f.isObject(sent) || sent.type !== 'mcp') return [];
    const field = `tools[${index}]`;
    const name = f.readAt(sent, 'server_label', field, f.readName);
    if (names.size === names.add(name).size) throw f.wrong(`${field}.server_label`, 'different from the other labels');
    const url = f.readAt(sent, 'server_url', field, f.readName);
    const isOwn = isClientServer?.(url) === true;
    if (!isOwn) for (const key of ['headers', 'authorization']) if (!f.isAbsent(sent[key])) ignore(`${field}.${key}`);
    const token = f.readAt(sent, 'authorization', field, f.optionalText);
    const headers = f.readAt(sent, 'headers', field, f.optionalObject) ?? {};
    return [
      {
        field: `${field} (${name})`,
        name,
        url,
        ...(isOwn && { headers: clientHeaders(token, headers, field) }),
        offers: offeredBy(sent.allowed_tools, `${field}.allowed_tools`),
        needsApproval: approvalRule(sent.require_approval, `${field}.require_approval`),
        isListed: !listed.has(name),
      },
    ];
  });
}

type ToolRule = HostedServer['offers'];

/** A list of names, or a filter. */
function offeredBy(sent: unknown, field: string): ToolRule {
  if (f.isAbsent(sent)) return () => true;
  if (f.isObject(sent)) return toolFilter(sent, field);
  const names = f.readList(sent, field);
  return ({ name }) => names.includes(name);
}

/** A tool needs approval unless the request says otherwise, also one that neither filter names. */
function approvalRule(sent: unknown, field: string): ToolRule {
  if (f.isAbsent(sent) || sent === 'always') return () => true;
  if (sent === 'never') return () => false;
  if (!f.isObject(sent)) throw f.wrong(field, '"always", "never" or an object with always and never');
  const [always, never] = ['always', 'never'].map((key) => {
    const filter = f.readAt(sent, key, field, f.optionalObject);
    return filter && toolFilter(filter, `${field}.${key}`);
  });
  return (tool) => always?.(tool) === true || never?.(tool) !== true;
}

const optionalNames = f.optional(f.listOf(f.readText));

/** `read_only` goes by what the server says of its tools. */
function toolFilter(sent: JsonObject, field: string): ToolRule {
  const names = f.readAt(sent, 'tool_names', field, optionalNames);
  const readOnly = f.readAt(sent, 'read_only', field, f.optionalFlag);
  if (!names && readOnly === undefined) throw f.wrong(field, 'an object with tool_names or read_only');
  return ({ name, annotations }) => {
    const isReadOnly = f.isObject(annotations) && annotations.readOnlyHint === true;
    return names?.includes(name) !== false && (readOnly === undefined || readOnly === isReadOnly);
  };
}

/** As the response object shows it, without credentials. */
export function mcpEcho(sent: JsonObject): readonly object[] {
  if (sent.type !== 'mcp') return [];
  const { headers: _, authorization: __, ...visible } = sent;
  return [visible];
}

/** The list of the tools of a server. */
export function listItem(id: string, { server, tools, error }: ServerToolStep & { type: 'listed' }) {
  const listed = tools.map(({ name, description, inputSchema, annotations }) => {
    return { name, description: description ?? null, input_schema: inputSchema, annotations: annotations ?? null };
  });
  return { id, type: 'mcp_list_tools', server_label: server, tools: listed, error: error ?? null } as const;
}

/** A call that a person has to approve. */
export function approvalItem(id: string, { server, name, json }: ServerCall) {
  return { id, type: 'mcp_approval_request', server_label: server ?? '', name, arguments: json } as const;
}

/** The item of a call that runs. */
export function mcpItem(
  id: string,
  { server, name, approval }: ServerCall,
): StoredItem & { readonly type: 'mcp_call' } {
  const empty = { arguments: '', output: null, error: null, approval_request_id: approval ?? null };
  return { id, type: 'mcp_call', status: 'in_progress', server_label: server ?? '', name, ...empty };
}

export function finishedMcp(item: StoredItem, outcome: ServerOutcome): StoredItem {
  const written = outcomeText(outcome, 1);
  if (outcome.type === 'result' && !outcome.failed) return { ...item, status: 'completed', output: written };
  const error = { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: written }] };
  return { ...item, status: 'failed', error };
}

/** A call of an earlier reply in the input, and its result as text. Undefined without a name. */
export function readMcpCall(item: StoredItem, at: string) {
  const name = f.readAt(item, 'name', at, f.optionalText);
  if (name === undefined) return undefined;
  const json = f.readAt(item, 'arguments', at, f.optionalText) ?? '{}';
  const output = f.readAt(item, 'output', at, f.optionalText);
  return { name, json, result: output ?? `The call failed: ${JSON.stringify(item.error ?? null)}` };
}

/** Items that are a turn of the model. */
const modelTypes: ReadonlySet<string> = new Set(['reasoning', 'function_call', 'custom_tool_call']);

/**
 * The calls of a conversation that needed approval, by the id of the request: what the model reads in the place of the result, or
 * undefined where the item of the call has it. A call is `approved` if nothing that the model wrote follows.
 */
export function readApprovals(items: readonly { readonly item: StoredItem; readonly at: string }[]) {
  const requests = new Map<string, StoredItem>();
  const results = new Map<string, string | undefined>();
  let approved: ApprovedCall[] = [];
  for (const { item, at } of items) {
    if (item.type === 'mcp_approval_request') {
      requests.set(item.id, item);
      results.set(item.id, 'The call was not run: nobody approved it.');
    } else if (item.type === 'mcp_approval_response') {
      const id = f.readAt(item, 'approval_request_id', at, f.readText);
      const request = requests.get(id);
      if (!request) {
        throw f.wrong(`${at}.approval_request_id`, 'the id of an mcp_approval_request before it in the conversation');
      }
      approved = approved.filter((call) => call.id !== id);
      if (f.readAt(item, 'approve', at, f.readFlag)) {
        results.set(id, 'The call was approved. Its result is not part of the conversation any more.');
        approved.push({ field: at, id, ...readRequest(request, at) });
      } else {
        const reason = f.readAt(item, 'reason', at, f.optionalText);
        results.set(id, `The user denied the call, and it was not run.${reason ? ` The reason: ${reason}` : ''}`);
      }
    } else if (item.type === 'mcp_call' && typeof item.approval_request_id === 'string') {
      const id = item.approval_request_id;
      if (results.has(id)) results.set(id, undefined);
      approved = approved.filter((call) => call.id !== id);
    } else if (modelTypes.has(item.type) || (item.type === 'message' && item.role === 'assistant')) approved = [];
  }
  return { results, approved };
}

export function readRequest(item: StoredItem, at: string) {
  return {
    server: f.readAt(item, 'server_label', at, f.readText),
    name: f.readAt(item, 'name', at, f.readText),
    json: f.readAt(item, 'arguments', at, f.readText),
  };
}
