import type { Tool } from '../../chat/messages.ts';
import type { ToolChoice } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import { tryParseJson } from '../../core/json.ts';
import type { JsonObject } from '../../http/body.ts';
import * as f from '../fields.ts';
import { checkToolNames, freeText, noParameters } from '../tools.ts';
import type { CreateFields } from './fields.ts';
import { isFileSearch, readFileSearch } from './file-search.ts';
import { mcpEcho } from './mcp-tools.ts';
import { isSearchType, readSearchTool } from './web-search.ts';

/** A tool that is offered to the model, and how its calls are sent to the client. */
export interface OfferedTool {
  readonly kind: 'function' | 'custom';
  /** The name that the client uses; that of `tool` may have the namespace in front. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly tool: Tool;
}

type SentTool = OfferedTool & { readonly echo?: object };

/** The tools of a request. Only the first web search counts. */
export function readTools({ tools }: Pick<CreateFields, 'tools'>) {
  const skipped = new Set<string>();
  const sent = tools.flatMap((value, index) => readTool(value, `tools[${index}]`, undefined, skipped));
  const offered = new Map<string, OfferedTool>();
  const names: string[] = [];
  for (const { kind, name, namespace, tool } of sent) {
    const known = offered.has(name) && namespace !== undefined ? `${namespace}__${name}` : name;
    names.push(known);
    offered.set(known, { kind, name, namespace, tool: { ...tool, name: known } });
  }
  const objects = tools.filter(f.isObject);
  const searches = tools.flatMap((tool, index) => {
    const search = f.isObject(tool) ? readSearchTool(tool, `tools[${index}]`) : undefined;
    return search ? [{ tool, search }] : [];
  });
  const search = searches[0]?.search;
  const fileSearch = readFileSearch(tools);
  checkToolNames([...names, ...(search ? ['web_search'] : []), ...(fileSearch ? ['file_search'] : [])], 'tools');
  return {
    offered: [...offered.values()],
    /** The tools as the response object shows them. */
    echo: [
      ...sent.flatMap(({ echo }) => echo ?? []),
      ...searches.map(({ tool }) => tool),
      ...objects.filter(({ type }) => isFileSearch(type)),
      ...objects.flatMap(mcpEcho),
    ],
    search,
    fileSearch,
    /** Types of tools that this server does not have. Agents always send them, so they are not an error. */
    skipped: [...skipped],
  };
}

function readTool(sent: unknown, at: string, namespace: string | undefined, skipped: Set<string>): readonly SentTool[] {
  if (!f.isObject(sent)) throw f.wrong(at, 'an object');
  const { type } = sent;
  if (readSearchTool(sent, at) || isFileSearch(type) || type === 'mcp') return [];
  if (type !== 'function' && type !== 'custom' && type !== 'namespace') {
    skipped.add(f.readAt(sent, 'type', at, f.readText));
    return [];
  }
  const name = f.readAt(sent, 'name', at, f.readText);
  if (type === 'namespace') {
    const members = f.readAt(sent, 'tools', at, f.optionalList) ?? [];
    return members.flatMap((one, index) => readTool(one, `${at}.tools[${index}]`, namespace ?? name, skipped));
  }
  const description = f.readAt(sent, 'description', at, f.optionalText);
  if (type === 'custom') {
    const format = f.readAt(sent, 'format', at, f.optionalObject) ?? {};
    const syntax = f.readAt(format, 'definition', `${at}.format`, f.optionalText);
    const parts = [description, syntax && `The input follows this grammar:\n${syntax}`].filter(Boolean);
    return [{ kind: type, name, namespace, tool: toolOf(name, parts.join('\n\n') || undefined, freeText) }];
  }
  const parameters = f.readAt(sent, 'parameters', at, f.optionalObject);
  const strict = f.readAt(sent, 'strict', at, f.optionalFlag) ?? true;
  const tool = toolOf(name, description, parameters ?? noParameters);
  const echo = { type, name, description: description ?? null, parameters: parameters ?? null, strict };
  return [{ kind: type, name, namespace, tool, ...(namespace === undefined && { echo }) }];
}

function toolOf(name: string, description: string | undefined, parameters: Tool['parameters']): Tool {
  return { name, parameters, ...(description !== undefined && { description }) };
}

export function customArguments(input: string): string {
  return JSON.stringify({ input });
}

/** Undefined if the arguments are not (or not yet) those of a custom tool. */
export function customInput(json: string): string | undefined {
  const parsed = tryParseJson(json);
  return f.isObject(parsed) && typeof parsed.input === 'string' ? parsed.input : undefined;
}

/** The name of a tool in the prompt, by the name and namespace that the client uses. */
export function knownName(offered: readonly OfferedTool[], named: JsonObject, at: string): string {
  const name = f.readAt(named, 'name', at, f.readText);
  const namespace = f.readAt(named, 'namespace', at, f.optionalText);
  return offered.find((tool) => tool.name === name && tool.namespace === namespace)?.tool.name ?? name;
}

const readMode = f.word('auto', 'none', 'required');

interface Choice extends Pick<ReturnType<typeof readTools>, 'offered' | 'search' | 'fileSearch'> {
  readonly choice: ToolChoice;
  readonly echo: unknown;
}

/** The tools that may be called, whether they must be, and `tool_choice` as the response object shows it. */
export function chooseTools(
  { tool_choice: requested }: Pick<CreateFields, 'tool_choice'>,
  { offered, search, fileSearch }: Pick<Choice, 'offered' | 'search' | 'fileSearch'>,
): Choice {
  const path = 'tool_choice';
  const chosen = (choice: ToolChoice, echo: unknown = requested) => ({ offered, search, fileSearch, choice, echo });
  if (f.isAbsent(requested)) return chosen({ type: 'auto' }, 'auto');
  if (typeof requested === 'string') return chosen({ type: readMode(requested, path) });
  if (!f.isObject(requested)) throw f.wrong(path, 'a string or an object');
  const { type } = requested;
  if (type === 'allowed_tools') {
    const mode = f.readAt(requested, 'mode', path, f.optional(readMode)) ?? 'auto';
    const tools = (f.readAt(requested, 'tools', path, f.optionalList) ?? []).map((tool, index) => {
      const at = `${path}.tools[${index}]`;
      const { type } = f.readObject(tool, at);
      return { type, name: f.readAt(tool as JsonObject, 'name', at, f.optionalText) };
    });
    const allowed = {
      offered: offered.filter(({ name }) => tools.some((tool) => tool.name === name)),
      search: tools.some((tool) => isSearchType(tool.type)) ? search : undefined,
      fileSearch: tools.some((tool) => isFileSearch(tool.type)) ? fileSearch : undefined,
    };
    // A request that allows none of its tools is not the same as one without tools.
    const isEmpty = allowed.offered.length === 0 && !allowed.search && !allowed.fileSearch;
    return { ...allowed, choice: { type: isEmpty && mode === 'auto' ? 'none' : mode }, echo: requested };
  }
  if (type === 'function' || type === 'custom') {
    return chosen({ type: 'named', name: knownName(offered, requested, path) });
  }
  if (search && isSearchType(type)) return chosen({ type: 'named', name: 'web_search' });
  if (fileSearch && isFileSearch(type)) return chosen({ type: 'named', name: 'file_search' });
  const instead = 'only a function, a custom tool, a web search or a file search of the request can be forced';
  throw new AppError('unsupported', { feature: path, instead });
}
