import { AppError } from '../../core/errors.ts';
import type { Sender } from '../../core/owner.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { ServerToolStep } from '../../core/server-tools.ts';
import type { StartTimeout } from '../../core/timers.ts';
import {
  joinedToolServers,
  prefixedName,
  type ServedCall,
  type ServedResult,
  type ServedTool,
  ToolCallError,
  type ToolServers,
} from '../../core/tool-servers.ts';
import type { WebSearch } from '../../core/web-search.ts';
import { plainText, type Tool } from '../messages.ts';
import type { ChatRequest } from '../request.ts';
import { fileSearchTool } from './document-tools.ts';
import { KnownAddresses } from './domains.ts';
import type { HostedServer } from './hosted.ts';
import { resultContent } from './result-content.ts';
import { fetchTool, type HostedTool, searchTool } from './web-tools.ts';

/** What the server can run for a chat itself. */
export interface ServerTools {
  /** Offered to requests without tools of their own (`--mcpserverloop`). */
  readonly servers?: ToolServers | undefined;
  /** Those, and the documents of one client. */
  readonly serversOf?: ((reader: Sender) => ToolServers | undefined) | undefined;
  /** Tools over what a client wants remembered, with `--memory`. */
  readonly memory?: ((sender: Sender, request: ChatRequest) => ToolServers | undefined) | undefined;
  /** The MCP server with this address that requests may name, with its own names of tools. It is connected when it is listed. */
  readonly serverAt?: ServerAt | undefined;
  /** With `--websearch`. */
  readonly web?: WebSearch | undefined;
  /** How many rounds of calls the model may make before it has to answer. */
  readonly turns: number;
  readonly now: () => Date;
  readonly startTimer: StartTimeout;
  /** Called for each tool that ran, for the log, because these calls need no confirmation. */
  readonly onToolRun?: (name: string, failed: boolean) => void;
}

type ServerAt = (url: string, headers?: Readonly<Record<string, string>>) => ToolServers | undefined;

/** The tools of one request. */
export interface Offer {
  readonly tools: readonly Tool[];
  /** Those that the client runs. */
  readonly client: readonly Tool[];
  readonly isClients: (name: string) => boolean;
  /** By the name that the model sees. */
  readonly hosted: ReadonlyMap<string, HostedTool>;
  /** Whether the server has none to run. */
  readonly isEmpty: boolean;
  /** Of `found` tools of MCP servers. */
  readonly omitted: number;
  readonly available: number;
  /** To be shown in the reply. */
  readonly listings: readonly Listing[];
  /** The addresses of the conversation, except what the model wrote. */
  readonly known: KnownAddresses;
}

type Listing = Omit<ServerToolStep & { type: 'listed' }, 'type'>;

/** The tools of a server cannot be listed. */
export class ListingFailed extends AppError<'unsupported'> {
  constructor(
    readonly server: HostedServer,
    reason: string,
  ) {
    super('unsupported', { feature: `The MCP server of ${server.field}`, instead: reason });
  }
}

/** The tools that apply to a request; undefined if it runs without. Refuses hosted tools that this server does not have. */
export function serverToolsFor(
  request: ChatRequest,
  all: ServerTools | undefined,
  { reader, sender }: Pick<RequestContext, 'reader' | 'sender'> = {},
): ServerTools | undefined {
  const { hosted } = request;
  const missing = all?.web ? undefined : (hosted?.search ?? hosted?.fetch);
  if (missing) {
    const instead = 'this server does not search the web; start it with --websearch, or leave the tool out';
    throw new AppError('unsupported', { feature: missing.field, instead });
  }
  const unknownServer = hosted?.mcp?.find(({ url }) => !all?.serverAt?.(url));
  if (unknownServer) {
    const instead =
      'only servers of --mcpfile, by their url or as mcpfile:NAME, and addresses of --mcpallow can be used; ask who runs this server';
    throw new AppError('unsupported', { feature: `The MCP server of ${unknownServer.field}`, instead });
  }
  const unlisted = hosted?.approved?.find(({ server }) => !hosted.mcp?.some(({ name }) => name === server));
  // Only a summary needs no result.
  if (unlisted && !request.compaction?.pause) {
    const expected = `the approval of a call of an MCP server in tools, and ${unlisted.server} is not there`;
    throw new AppError('invalid-field', { field: unlisted.field, expected });
  }
  const wants = wantsServers(request);
  const memory = sender && (wants || hosted?.memory) ? all?.memory?.(sender, request) : undefined;
  const offered = wants ? ((reader && all?.serversOf?.(reader)) ?? all?.servers) : undefined;
  const servers = memory && offered ? joinedToolServers(memory, offered) : (memory ?? offered);
  return all && (hosted || servers) ? { ...all, servers } : undefined;
}

/** Not with tools or a grammar of the client, a continued reply, no output, or no calls. */
function wantsServers({ conversation, toolChoice, continueAssistantTurn, controls }: ChatRequest): boolean {
  const continues = continueAssistantTurn && conversation.messages.at(-1)?.role === 'assistant';
  const bound = controls.grammar !== undefined || controls.promptLogprobs !== undefined || controls.maxTokens === 0;
  return conversation.tools.length === 0 && toolChoice.type === 'auto' && !continues && !bound;
}

/** The request as the model sees it, to count its tokens. */
export async function withServerTools(
  request: ChatRequest,
  all: ServerTools | undefined,
  contextSize: number,
  { signal, context }: { readonly signal?: AbortSignal | undefined; readonly context?: RequestContext | undefined },
): Promise<ChatRequest> {
  const serverTools = serverToolsFor(request, all, context);
  if (!serverTools) return request;
  const connected = connections(request, serverTools);
  try {
    const offer = await offerTools(request, serverTools, connected, contextSize, signal);
    return { ...request, conversation: { ...request.conversation, tools: offer.tools } };
  } finally {
    connected.close();
  }
}

/** The MCP servers that a request names, until it ends. */
export function connections({ hosted }: ChatRequest, { serverAt }: ServerTools) {
  const named = (hosted?.mcp ?? []).flatMap((server) => {
    const servers = serverAt?.(server.url, server.headers);
    return servers ? [{ server, servers }] : [];
  });
  return {
    named,
    /** Whether listing their tools may take a while. */
    areSlow: named.some(({ servers }) => servers.close),
    close: () => {
      for (const { servers } of named) void servers.close?.();
    },
  };
}

type Connections = ReturnType<typeof connections>;

export async function offerTools(
  { conversation, hosted }: ChatRequest,
  { servers, web, now }: ServerTools,
  connected: Pick<Connections, 'named'>,
  contextSize: number,
  signal?: AbortSignal,
): Promise<Offer> {
  const { tools: client } = conversation;
  const known = new KnownAddresses();
  if (hosted?.fetch) {
    for (const { role, content } of conversation.messages) if (role !== 'assistant') known.add(plainText(content));
    for (const { url } of hosted.sources) known.add(url);
  }
  const own: HostedTool[] = [];
  if (hosted?.search && web) own.push(searchTool(hosted.search, web));
  if (hosted?.fetch && web) own.push(fetchTool(hosted.fetch, web, { known, now }));
  if (hosted?.documents) own.push(fileSearchTool(hosted.documents));
  const taken = new Set([...client, ...own.map(({ tool }) => tool)].map(({ name }) => name));
  const named: HostedTool[] = [];
  const listings: Listing[] = [];
  const lists = connected.named.map(async (one) => ({
    ...one,
    tools: await listedTools(one.server, one.servers, signal),
  }));
  for (const { server, servers: hostedServers, tools } of await Promise.all(lists)) {
    if (server.isListed) listings.push({ server: server.name, tools });
    named.push(...namedTools(server, hostedServers, tools, taken));
  }
  const served = [
    ...named.map(({ tool }) => tool),
    ...(servers ? (await servers.list(signal)).map(chatTool).filter(({ name }) => !taken.has(name)) : []),
  ];
  const fit = fitting(served, contextSize);
  own.push(...named.filter(({ tool }) => fit.includes(tool)));
  const offered = new Set([...own.map(({ tool }) => tool), ...served].map(({ name }) => name));
  return {
    tools: [...client, ...own.filter(({ kind }) => kind !== 'mcp').map(({ tool }) => tool), ...fit],
    client,
    // Also a name that the model invented, which the client refuses.
    isClients: (name) => client.length > 0 && !offered.has(name),
    hosted: new Map(own.map((each) => [each.tool.name, each])),
    isEmpty: own.length + fit.length === 0,
    omitted: served.length - fit.length,
    available: served.length,
    listings,
    known,
  };
}

/** The tools of an MCP server that the request names, each name once. */
async function listedTools(server: HostedServer, servers: ToolServers, signal?: AbortSignal) {
  const listed = await servers.list(signal).catch((error: Error) => {
    signal?.throwIfAborted();
    throw error instanceof AppError ? error : new ListingFailed(server, error.message);
  });
  const first = new Map(listed.toReversed().map((tool) => [tool.name, tool]));
  if (listed.length > 0) return listed.filter((tool) => first.get(tool.name) === tool && server.offers(tool));
  throw new ListingFailed(server, 'it is not connected, or has no tools; the console of the server says why');
}

/** A tool whose name is taken gets that of its server as a prefix. */
function namedTools(
  { name: label, needsApproval }: HostedServer,
  servers: ToolServers,
  listed: readonly ServedTool[],
  taken: Set<string>,
): readonly HostedTool[] {
  return listed.map((tool) => {
    const prefix = label.replace(/[^\w-]+/g, '_');
    const name = taken.has(tool.name) ? prefixedName(prefix, tool.name, (other) => taken.has(other)) : tool.name;
    taken.add(name);
    return {
      tool: { ...chatTool(tool), name },
      kind: 'mcp',
      name: tool.name,
      server: label,
      needsApproval: needsApproval?.(tool) ?? false,
      run: async ({ input }, { signal: stopped, characters }) => {
        const limits = { characters, inputs: { image: false, audio: false }, media: 0 };
        const result = await callServed(servers, { name: tool.name, arguments: { ...input } }, stopped);
        return {
          type: 'result',
          text: plainText(resultContent(result, limits).content),
          failed: result.isError === true,
        };
      },
    };
  });
}

/** Errors are results too: the model can report them, or try something else. */
export async function callServed(servers: ToolServers, call: ServedCall, signal: AbortSignal): Promise<ServedResult> {
  try {
    return await servers.call(call, { signal });
  } catch (error) {
    return failure(error instanceof ToolCallError ? `${error.message} (${error.code})` : String(error));
  }
}

export function failure(reason: string): ServedResult {
  return { isError: true, content: [{ type: 'text', text: reason }] };
}

/** Of JSON, a low estimate. */
const charactersPerToken = 3;

/** As many tools as fit into half of the context: servers may list any number of them. */
function fitting(tools: readonly Tool[], contextSize: number): readonly Tool[] {
  let left = contextSize > 0 ? (contextSize / 2) * charactersPerToken : Number.POSITIVE_INFINITY;
  return tools.filter((tool) => {
    const { length } = JSON.stringify({ type: 'function', function: tool });
    if (length > left) return false;
    left -= length;
    return true;
  });
}

function chatTool({ name, description, inputSchema }: ServedTool): Tool {
  return { name, ...(description === undefined ? {} : { description }), parameters: inputSchema };
}
