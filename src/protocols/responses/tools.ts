import type { Tool } from '../../chat/messages.ts';
import type { ToolChoice } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import { tryParseJson } from '../../core/json.ts';
import type { JsonObject } from '../../http/body.ts';
import * as f from '../fields.ts';
import { checkToolNames, freeText, noParameters } from '../tools.ts';
import type { CreateFields } from './fields.ts';
import { type FileSearch, isFileSearch, readFileSearch } from './file-search.ts';
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
  const searches = tools.filter((tool) => f.isObject(tool) && readSearchTool(tool, 'tools'));
  const fileSearch = readFileSearch(tools);
  const own = [...(searches.length > 0 ? ['web_search'] : []), ...(fileSearch ? ['file_search'] : [])];
  checkToolNames([...names, ...own], 'tools');
  return {
    offered: [...offered.values()],
    /** The tools as the response object shows them. */
    echo: [
      ...sent.flatMap(({ echo }) => echo ?? []),
      ...searches.map((tool) => tool as object),
      ...tools.filter((tool) => f.isObject(tool) && isFileSearch(tool.type)).map((tool) => tool as object),
      ...tools.flatMap(mcpEcho),
    ],
    searches: searches.length > 0,
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

interface Choice {
  readonly offered: readonly OfferedTool[];
  readonly choice: ToolChoice;
  readonly echo: unknown;
  readonly searches: boolean;
  readonly fileSearch: FileSearch | undefined;
}

/** The tools that may be called, whether they must be, and `tool_choice` as the response object shows it. */
export function chooseTools(
  { tool_choice: requested }: Pick<CreateFields, 'tool_choice'>,
  toolbox: Pick<ReturnType<typeof readTools>, 'offered' | 'searches' | 'fileSearch'>,
): Choice {
  const path = 'tool_choice';
  const { offered, searches, fileSearch } = toolbox;
  const all = { offered, searches, fileSearch };
  if (f.isAbsent(requested)) return { ...all, choice: { type: 'auto' }, echo: 'auto' };
  if (typeof requested === 'string') {
    const type = readMode(requested, path);
    return { ...all, choice: { type }, echo: type };
  }
  if (!f.isObject(requested)) throw f.wrong(path, 'a string or an object');
  if (requested.type === 'allowed_tools') {
    const type = f.readAt(requested, 'mode', path, f.optional(readMode)) ?? 'auto';
    const left = allowed(requested, offered);
    // A request that allows none of its tools is not the same as one without tools.
    const named = f.readAt(requested, 'tools', path, f.optionalList) ?? [];
    const allows = (is: (type: unknown) => boolean) => named.some((tool) => f.isObject(tool) && is(tool.type));
    const allowsSearch = searches && allows(isSearchType);
    const allowedFiles = allows(isFileSearch) ? fileSearch : undefined;
    const isEmpty = left.length === 0 && !allowsSearch && !allowedFiles;
    const choice = { type: isEmpty && type === 'auto' ? ('none' as const) : type };
    return { offered: left, choice, echo: requested, searches: allowsSearch, fileSearch: allowedFiles };
  }
  if (requested.type === 'function' || requested.type === 'custom') {
    return { ...all, choice: { type: 'named', name: knownName(offered, requested, path) }, echo: requested };
  }
  if (searches && isSearchType(requested.type)) {
    return { ...all, choice: { type: 'named', name: 'web_search' }, echo: requested };
  }
  if (fileSearch && isFileSearch(requested.type)) {
    return { ...all, choice: { type: 'named', name: 'file_search' }, echo: requested };
  }
  const instead = 'only a function, a custom tool, a web search or a file search of the request can be forced';
  throw new AppError('unsupported', { feature: path, instead });
}

function allowed(requested: JsonObject, offered: readonly OfferedTool[]): readonly OfferedTool[] {
  const names = (f.readAt(requested, 'tools', 'tool_choice', f.optionalList) ?? []).map((tool, index) => {
    const at = `tool_choice.tools[${index}]`;
    if (!f.isObject(tool)) throw f.wrong(at, 'an object');
    return f.readAt(tool, 'name', at, f.optionalText);
  });
  return offered.filter(({ name }) => names.includes(name));
}
