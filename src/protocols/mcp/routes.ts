import { Channel } from '../../core/channel.ts';
import {
  type CallProgress,
  type ServedCall,
  ToolCallError,
  type ToolServerCatalog,
  type ToolServers,
} from '../../core/tool-servers.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { messageFrame } from '../../http/sse.ts';
import { write } from '../access.ts';
import { eventStream } from '../dialect.ts';
import { bodyOf, type DocumentedDialect, endpointRow, type PlainEndpoint } from '../endpoint.ts';
import { isAbsent, isObject } from '../fields.ts';

interface McpDeps {
  /** For one client: the servers of `--mcpfile`, and its documents. Undefined without either. */
  readonly toolsOf: (call: Call) => ToolServers | undefined;
  readonly product: { readonly name: string; readonly version: string };
}

type Request = Incoming & { type: 'request' };

/** One MCP server with the tools of all servers of `--mcpfile`, and those that search documents. */
export function mcpEndpoints(deps: McpDeps): PlainEndpoint[] {
  const row = endpointRow(write('tools'), { method: 'POST', match: 'exact', dialect: mcpDialect });
  const summary = 'The tools of the configured tool servers, by JSON-RPC (MCP): tools, resources and prompts.';
  return [row('/mcp', summary, (call) => answer(call, deps), { response: 'message' })];
}

async function answer(call: Call, deps: McpDeps): Promise<Reply> {
  const message = readMessage(await bodyOf(call));
  switch (message.type) {
    case 'unanswered':
      return { status: 202, body: '' };
    case 'invalid':
      return errorReply(message.id, rpcCodes.invalid, `Invalid Request: ${message.reason}`, 400);
    case 'request':
      return served(message, call, deps);
  }
}

const notConfigured = 'No tool servers are configured. Start the server with --mcpfile FILE.';

async function served(message: Request, call: Call, { toolsOf, product }: McpDeps): Promise<Reply> {
  const { id, method, params } = message;
  const tools = toolsOf(call);
  if (!tools) return errorReply(id, rpcCodes.failed, notConfigured);
  switch (method) {
    case 'initialize':
      return result(id, {
        // Results are passed on unchanged, so that any version is accepted.
        protocolVersion: typeof params.protocolVersion === 'string' ? params.protocolVersion : '2024-11-05',
        capabilities: { tools: { listChanged: false }, ...(tools.catalog ? { resources: {}, prompts: {} } : {}) },
        serverInfo: { name: product.name.toLowerCase(), version: product.version },
      });
    case 'ping':
      return result(id, {});
    case 'tools/list':
      return result(id, { tools: await tools.list(call.signal) });
    case 'tools/call':
      return called(message, call, tools);
    default:
      return tools.catalog
        ? catalogued(message, call.signal, tools.catalog)
        : errorReply(id, rpcCodes.unknownMethod, 'Method not found');
  }
}

/** Resources and prompts. */
async function catalogued(
  { id, method, params }: Request,
  signal: AbortSignal,
  catalog: ToolServerCatalog,
): Promise<Reply> {
  const { uri, name, arguments: args } = params;
  try {
    switch (method) {
      case 'resources/list':
        return result(id, { resources: await catalog.resources(signal) });
      case 'resources/templates/list':
        return result(id, { resourceTemplates: await catalog.resourceTemplates(signal) });
      case 'resources/read':
        if (typeof uri !== 'string') return badParams(id, 'params.uri is a text');
        return result(id, await catalog.readResource(uri, signal));
      case 'prompts/list':
        return result(id, { prompts: await catalog.prompts(signal) });
      case 'prompts/get':
        if (typeof name !== 'string') return badParams(id, 'params.name is a text');
        return result(id, await catalog.getPrompt(name, isObject(args) ? args : undefined, signal));
      default:
        return errorReply(id, rpcCodes.unknownMethod, 'Method not found');
    }
  } catch (error) {
    if (error instanceof ToolCallError) return json(errorMessage(id, error));
    throw error;
  }
}

function result(id: MessageId, value: object): Reply {
  return json({ jsonrpc: '2.0', id, result: value });
}

async function called({ id, params }: Request, { headers, signal }: Call, tools: ToolServers): Promise<Reply> {
  const { name, arguments: args, _meta: meta } = params;
  if (typeof name !== 'string') return badParams(id, 'params.name is a text');
  if (!isAbsent(args) && !isObject(args)) return badParams(id, 'params.arguments is an object');
  const { progressToken, ...otherMeta } = isObject(meta) ? meta : {};
  const request: ServedCall = {
    name,
    ...(isObject(args) ? { arguments: args } : {}),
    ...(Object.keys(otherMeta).length > 0 ? { meta: otherMeta } : {}),
  };
  const run = (progress?: (step: CallProgress) => void): Promise<object> =>
    tools.call(request, { signal, ...(progress ? { progress } : {}) }).then(
      (value) => ({ jsonrpc: '2.0', id, result: value }),
      (error: unknown) => {
        if (error instanceof ToolCallError) return errorMessage(id, error);
        throw error;
      },
    );
  const streams = progressToken !== undefined && (headers.accept ?? '').includes('text/event-stream');
  return streams ? streamed(run, progressToken) : json(await run());
}

/** A stream of progress notifications and the result, for a call with a progress token. */
function streamed(run: (progress: (step: CallProgress) => void) => Promise<object>, progressToken: unknown): Reply {
  const frames = new Channel<string>();
  const send = (message: object): void => frames.push(messageFrame(JSON.stringify(message)));
  const progress = (step: CallProgress): void =>
    send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, ...step } });
  void run(progress)
    // A call rejects only after its client disconnected.
    .then(send, () => undefined)
    .finally(() => frames.end());
  return eventStream(frames);
}

/** The id of a JSON-RPC request; null if it could not be read. */
type MessageId = string | number | null;

/** One message of a client. `unanswered` is a notification, or a response, which needs no reply. */
type Incoming =
  | { readonly type: 'request'; readonly id: MessageId; readonly method: string; readonly params: JsonObject }
  | { readonly type: 'unanswered' }
  | { readonly type: 'invalid'; readonly id: MessageId; readonly reason: string };

export function readMessage(value: JsonObject): Incoming {
  const { id, method, params } = value;
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    return invalid(null, 'an id is a text or a number');
  }
  if (id === undefined)
    return typeof method === 'string' ? { type: 'unanswered' } : invalid(null, 'there is no method');
  if (method === undefined && ('result' in value || 'error' in value)) return { type: 'unanswered' };
  if (typeof method !== 'string') return invalid(id, 'there is no method');
  if (!isAbsent(params) && !isObject(params)) return invalid(id, 'params is an object');
  return { type: 'request', id, method, params: params ?? {} };
}

function invalid(id: MessageId, reason: string): Incoming {
  return { type: 'invalid', id, reason };
}

const rpcCodes = { parse: -32700, invalid: -32600, unknownMethod: -32601, badParams: -32602, failed: -32000 };

type RpcError = Pick<ToolCallError, 'code' | 'message'> & { readonly data?: unknown };

function errorMessage(id: MessageId, { code, message, data }: RpcError): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

function errorReply(id: MessageId, code: number, message: string, status = 200): Reply {
  return json(errorMessage(id, { code, message }), status);
}

function badParams(id: MessageId, reason: string): Reply {
  return errorReply(id, rpcCodes.badParams, `Invalid params: ${reason}`);
}

/** Errors before a message is read. Later ones are JSON-RPC errors with status 200. */
const mcpDialect: DocumentedDialect = {
  name: 'mcp',
  title: 'Tool servers (MCP)',
  responses: () => import('./responses.ts'),
  errorReply: ({ code, message, status }) => {
    // GET opens no stream here; clients go by the status.
    if (code === 'method-not-allowed') return { status, body: '' };
    if (code === 'invalid-json') return errorReply(null, rpcCodes.parse, 'Parse error', 400);
    // Includes batches, which the protocol no longer has.
    if (code === 'invalid-field') return errorReply(null, rpcCodes.invalid, `Invalid Request: ${message}`, status);
    return errorReply(null, rpcCodes.failed, message, status);
  },
};
