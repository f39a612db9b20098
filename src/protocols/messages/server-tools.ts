import type { HostedServer, HostedTools, WebToolLimits } from '../../chat/server-tools/hosted.ts';
import { outcomeText, sourcesOf } from '../../chat/server-tools/web-tools.ts';
import type {
  ServerCall,
  ServerOutcome,
  ServerToolErrorCode,
  ServerToolStep,
  Source,
  SourceLocation,
} from '../../core/server-tools.ts';
import type { JsonObject } from '../../http/body.ts';
import type { ControlLimits } from '../controls/decode.ts';
import * as f from '../fields.ts';
import { clientHeaders, domainLists, refuseManyServers, userLocation } from '../hosted-tools.ts';
import { sealText, unsealText } from '../sealed-text.ts';

const readUses = f.optional(f.wholeBetween(1, 1000));
const readTokens = f.optional(f.wholeBetween(1, 2 ** 31 - 1));

/** A tool that the server runs; undefined for any other. Types end with a date. */
export function readServerTool(tool: JsonObject, type: string, field: string): Partial<HostedTools> | undefined {
  const limits = (): WebToolLimits => {
    const maxUses = f.readAt(tool, 'max_uses', field, readUses);
    return { field: `${field} (${type})`, ...domainLists(tool, field), ...(maxUses !== undefined && { maxUses }) };
  };
  if (type.startsWith('web_search_')) {
    const location = f.readAt(tool, 'user_location', field, f.optionalObject);
    return { search: { ...limits(), ...userLocation(location, `${field}.user_location`) } };
  }
  if (!type.startsWith('web_fetch_')) return undefined;
  const tokens = f.readAt(tool, 'max_content_tokens', field, readTokens);
  return { fetch: { ...limits(), ...(tokens !== undefined && { maxContentTokens: tokens }) } };
}

/** The MCP servers that a request names. The choice of their tools is in the server, or in a toolset among the tools. */
export function readMcpServers(
  { mcp_servers: servers, tools }: { readonly mcp_servers: readonly JsonObject[]; readonly tools: readonly unknown[] },
  { isClientServer }: Pick<ControlLimits, 'isClientServer'>,
  ignore: (field: string) => void,
): readonly HostedServer[] {
  const toolsets = tools.flatMap((tool, index) => {
    if (!f.isObject(tool) || tool.type !== 'mcp_toolset') return [];
    const field = `tools[${index}]`;
    return [{ tool, field, name: f.readAt(tool, 'mcp_server_name', field, f.readName) }];
  });
  const names = new Set<string>();
  refuseManyServers(servers.length, 'mcp_servers');
  const read = servers.map((server, index): HostedServer => {
    const field = `mcp_servers[${index}]`;
    const name = f.readAt(server, 'name', field, f.readName);
    if (names.size === names.add(name).size) throw f.wrong(`${field}.name`, 'different from the other names');
    const url = f.readAt(server, 'url', field, f.readName);
    const token = f.readAt(server, 'authorization_token', field, f.optionalText);
    const isOwn = isClientServer?.(url) === true;
    if (token !== undefined && !isOwn) ignore(`${field}.authorization_token`);
    const headers = isOwn ? { headers: clientHeaders(token, {}, field) } : {};
    const toolset = toolsets.find((each) => each.name === name);
    const offers = toolset ? offeredBy(toolset.tool, toolset.field) : offeredByServer(server, field);
    return { field: `${field} (${name})`, name, url, ...headers, offers };
  });
  const stray = toolsets.find(({ name }) => !read.some((server) => server.name === name));
  if (stray) throw f.wrong(`${stray.field}.mcp_server_name`, 'the name of one of mcp_servers');
  return read;
}

function offeredBy(toolset: JsonObject, field: string): HostedServer['offers'] {
  const byDefault = f.readAt(toolset, 'default_config', field, f.optionalObject)?.enabled !== false;
  const configs = f.readAt(toolset, 'configs', field, f.optionalObject) ?? {};
  return ({ name }) => {
    const own = Object.hasOwn(configs, name) ? configs[name] : undefined;
    return f.isObject(own) && typeof own.enabled === 'boolean' ? own.enabled : byDefault;
  };
}

function offeredByServer(server: JsonObject, field: string): HostedServer['offers'] {
  const choice = f.readAt(server, 'tool_configuration', field, f.optionalObject) ?? {};
  const allowed = f.readAt(choice, 'allowed_tools', `${field}.tool_configuration`, f.optionalList);
  return ({ name }) => choice.enabled !== false && (allowed === undefined || allowed.includes(name));
}

/** Whether a web fetch tool asks for citations of its documents. */
export function wantsDocumentCitations(tools: readonly unknown[]): boolean {
  return tools.some((tool) => {
    if (!f.isObject(tool) || typeof tool.type !== 'string' || !tool.type.startsWith('web_fetch_')) return false;
    return f.isObject(tool.citations) && tool.citations.enabled === true;
  });
}

const callTypes: ReadonlySet<string> = new Set(['server_tool_use', 'mcp_tool_use']);
const resultTypes: ReadonlySet<string> = new Set([
  'web_search_tool_result',
  'web_fetch_tool_result',
  'mcp_tool_result',
]);
const names: ReadonlySet<unknown> = new Set(['web_search', 'web_fetch']);

/** A call that this server or another one ran. Calls of its other tools (code execution, …) are not read. */
export function isServerCall(type: string, { name }: JsonObject): boolean {
  return type === 'server_tool_use' ? names.has(name) : callTypes.has(type);
}

export function isServerResult(type: string): boolean {
  return resultTypes.has(type);
}

/** The result as the model reads it; its pages are added to `sources`. */
export function serverResultText(type: string, fields: JsonObject, field: string, sources: Source[]): string {
  const outcome = readOutcome(type, fields.content, `${field}.content`, fields.is_error === true);
  const number = sources.length + 1;
  sources.push(...sourcesOf(outcome));
  return outcomeText(outcome, number);
}

function readOutcome(type: string, content: unknown, field: string, isError: boolean): ServerOutcome {
  if (type === 'mcp_tool_result') return { type: 'result', text: mcpText(content, field), failed: isError };
  if (f.isObject(content) && typeof content.error_code === 'string') {
    return { type: 'error', code: content.error_code as ServerToolErrorCode, reason: '' };
  }
  if (type === 'web_search_tool_result') {
    const sources = f.readList(content, field).map((entry, index): Source => {
      const page = f.readObject(entry, `${field}[${index}]`);
      const text = f.readAt(page, 'encrypted_content', field, f.optionalText) ?? '';
      return { ...named(page, field), text: unsealText(text) };
    });
    return { type: 'sources', sources };
  }
  const result = f.readObject(content, field);
  const document = f.readAt(result, 'content', field, f.readObject);
  const source = f.readAt(document, 'source', `${field}.content`, f.optionalObject) ?? {};
  const text = f.readAt(source, 'data', `${field}.content.source`, f.optionalText) ?? '';
  const title = f.readAt(document, 'title', `${field}.content`, f.optionalText) ?? '';
  const isText = source.type === 'text';
  return { type: 'page', source: { ...named(result, field), title, text: isText ? text : '' }, retrievedAt: '' };
}

function named(page: JsonObject, field: string): { readonly url: string; readonly title: string } {
  const title = f.readAt(page, 'title', field, f.optionalText) ?? '';
  return { url: f.readAt(page, 'url', field, f.readText), title };
}

function mcpText(content: unknown, field: string): string {
  if (f.isAbsent(content)) return '';
  if (typeof content === 'string') return content;
  const texts = f.readList(content, field).map((block) => (f.isObject(block) ? block.text : ''));
  return texts.filter((text) => typeof text === 'string').join('\n');
}

const idPrefixes = { search: 'srvtoolu_', fetch: 'srvtoolu_', mcp: 'mcptoolu_', documents: 'srvtoolu_' } as const;

function wireId({ kind, id }: ServerCall): string {
  return idPrefixes[kind] + id.replace(/^call_/, '');
}

/** The block of a call without its input. */
export function callBlock(call: ServerCall) {
  const { kind, name, server } = call;
  const id = wireId(call);
  if (kind === 'mcp') return { type: 'mcp_tool_use', id, name, server_name: server ?? '' } as const;
  return { type: 'server_tool_use', id, name } as const;
}

const errorTypes = { search: 'web_search_tool_result', fetch: 'web_fetch_tool_result' } as const;

function resultBlock(call: ServerCall, outcome: ServerOutcome, withCitations: boolean): object {
  const id = { tool_use_id: wireId(call) };
  if (call.kind === 'mcp' || call.kind === 'documents' || outcome.type === 'result') {
    const failed = outcome.type === 'error' || (outcome.type === 'result' && outcome.failed);
    const content = [{ type: 'text', text: outcomeText(outcome, 0) }];
    return { type: 'mcp_tool_result', ...id, is_error: failed, content };
  }
  const type = errorTypes[call.kind];
  switch (outcome.type) {
    case 'error':
      return { type, ...id, content: { type: `${type}_error`, error_code: outcome.code } };
    case 'sources':
      return { type, ...id, content: outcome.sources.map(searchResult) };
    case 'page': {
      const { source, retrievedAt } = outcome;
      const text = { type: 'text', media_type: 'text/plain', data: source.text };
      const citations = withCitations ? { citations: { enabled: true } } : {};
      const document = { type: 'document', title: source.title || null, source: text, ...citations };
      return {
        type,
        ...id,
        content: { type: 'web_fetch_result', url: source.url, retrieved_at: retrievedAt, content: document },
      };
    }
  }
}

function searchResult({ url, title, text }: Source): object {
  return { type: 'web_search_result', url, title, encrypted_content: sealText(text), page_age: null };
}

export interface HostedFacts {
  /** Of pages that the server fetches. */
  readonly documentCitations: boolean;
  readonly runsTools?: boolean;
  /** How many documents the request has. */
  readonly documents?: number;
  /** How many search results it has. */
  readonly results?: number;
}

function passageCitation(place: Exclude<SourceLocation, { type: 'passage' }>, title: string, text: string): object {
  if (place.type === 'search-result') {
    const { index, source, block } = place;
    const of = { cited_text: text, search_result_index: index, source, title: title || null };
    return { type: 'search_result_location', ...of, start_block_index: block, end_block_index: block + 1 };
  }
  const { index, file, range } = place;
  const of = { cited_text: text, document_index: index, document_title: title || null, file_id: file ?? null };
  switch (range.type) {
    case 'characters':
      return { type: 'char_location', ...of, start_char_index: range.start, end_char_index: range.end };
    case 'page':
      return { type: 'page_location', ...of, start_page_number: range.page, end_page_number: range.page + 1 };
    case 'block':
      return {
        type: 'content_block_location',
        ...of,
        start_block_index: range.block,
        end_block_index: range.block + 1,
      };
  }
}

/** Of a page that is cited without a quote. */
const maxCited = 150;

/** What the server did for one reply: its blocks, citations and counts. */
export class ServerToolBlocks {
  #searches = 0;
  #fetches = 0;
  /** Of the fetched pages, in order. */
  readonly #documents: string[] = [];

  readonly #passages: string[] = [];

  constructor(private readonly facts: HostedFacts) {}

  result({ call, outcome }: ServerToolStep & { type: 'outcome' }): object {
    if (outcome.type === 'sources') this.#searches += 1;
    if (outcome.type === 'page') {
      this.#fetches += 1;
      this.#documents.push(outcome.source.url);
    }
    return resultBlock(call, outcome, this.facts.documentCitations);
  }

  /** Undefined where the dialect has no form for it: a fetched page that is only named. */
  citation({ source, quote, fetched }: ServerToolStep & { type: 'citation' }): object | undefined {
    const { url, title, text, location: place } = source;
    if (place) return passageCitation(this.#placed(source, place), title, text);
    if (!fetched) {
      const cited = { cited_text: quote?.text ?? text.slice(0, maxCited), encrypted_index: sealText(url) };
      return { type: 'web_search_result_location', url, title, ...cited };
    }
    const index = this.#documents.indexOf(url);
    if (!quote || index === -1 || !this.facts.documentCitations) return undefined;
    const range = { start_char_index: quote.start, end_char_index: quote.start + quote.text.length };
    return {
      type: 'char_location',
      cited_text: quote.text,
      // Those of the request come first.
      document_index: (this.facts.documents ?? 0) + index,
      document_title: title || null,
      file_id: null,
      ...range,
    };
  }

  /** Passages of collections count as further search results, in the order in which they are cited. */
  #placed({ url }: Source, place: SourceLocation): Exclude<SourceLocation, { type: 'passage' }> {
    if (place.type !== 'passage') return place;
    if (!this.#passages.includes(url)) this.#passages.push(url);
    const index = (this.facts.results ?? 0) + this.#passages.indexOf(url);
    return { type: 'search-result', index, source: url, block: 0 };
  }

  usage(): object {
    if (this.facts.runsTools === false) return {};
    return { server_tool_use: { web_search_requests: this.#searches, web_fetch_requests: this.#fetches } };
  }
}
