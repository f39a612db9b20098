import type { Tool } from '../../../chat/messages.ts';
import type { ToolChoice } from '../../../chat/request.ts';
import type { JsonObject } from '../../../http/body.ts';
import {
  isAbsent,
  isObject,
  optionalList,
  optionalObject,
  optionalText,
  readAt,
  readName,
  wrong,
} from '../../fields/readers.ts';
import { refuseNames } from '../../tools.ts';
import type { ChatFields } from './fields.ts';

export interface ToolUse {
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice;
  readonly parallel: boolean;
  /** The request speaks of functions, as clients did before tools: the answer must too. */
  readonly legacy: boolean;
  /** Places in the request that were left out. */
  readonly skipped: readonly string[];
}

const noParameters = { type: 'object', properties: {} } as const;
/** A tool that takes free text becomes one that takes it as its only argument. */
const freeText = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } as const;

type ToolFields = Pick<ChatFields, 'tools' | 'tool_choice' | 'functions' | 'function_call' | 'parallel_tool_calls'>;

export function decodeToolUse(fields: ToolFields): ToolUse {
  const { tools: listed, functions } = fields;
  const legacy = listed.length === 0 && functions.length > 0;
  const found = listed.map((tool, index) => decodeTool(tool, `tools[${index}]`));
  const all = legacy
    ? functions.map((one, index) => decodeFunction(one, `functions[${index}]`))
    : found.flatMap((tool) => tool ?? []);
  refuseNames(
    all.map(({ name }) => name),
    legacy ? 'functions' : 'tools',
  );
  const { tools, choice } = legacy ? legacyChoice(fields.function_call, all) : decodeChoice(fields.tool_choice, all);
  return {
    tools,
    choice,
    // The old form of the answer has room for one call.
    parallel: !legacy && fields.parallel_tool_calls,
    legacy,
    skipped: found.flatMap((tool, index) => (tool ? [] : [`tools[${index}]`])),
  };
}

function decodeTool(tool: unknown, path: string): Tool | undefined {
  if (!isObject(tool)) throw wrong(path, 'an object with type and function');
  const type = readAt(tool, 'type', path, optionalText) ?? 'function';
  if (type === 'function') return decodeFunction(tool.function, `${path}.function`);
  if (type === 'custom') return { ...decodeFunction(tool.custom, `${path}.custom`), parameters: freeText };
  // Tools that only a provider can run (web search and the like).
  return undefined;
}

function decodeFunction(value: unknown, path: string): Tool {
  if (!isObject(value)) throw wrong(path, 'an object with a name');
  const description = readAt(value, 'description', path, optionalText);
  return {
    name: readAt(value, 'name', path, readName),
    ...(description ? { description } : {}),
    parameters: readAt(value, 'parameters', path, optionalObject) ?? noParameters,
  };
}

interface Chosen {
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice;
}

const modes: Readonly<Record<string, ToolChoice>> = {
  none: { type: 'none' },
  auto: { type: 'auto' },
  required: { type: 'required' },
};

function decodeChoice(choice: unknown, tools: readonly Tool[]): Chosen {
  if (isAbsent(choice)) return { tools, choice: { type: 'auto' } };
  if (typeof choice === 'string') return { tools, choice: decodeMode(choice, 'tool_choice', tools) };
  if (!isObject(choice)) throw wrongChoice('tool_choice');
  if (choice.type === 'allowed_tools') return decodeAllowed(choice, tools);
  return { tools, choice: { type: 'named', name: knownName(nameOf(choice, 'tool_choice'), 'tool_choice', tools) } };
}

function decodeMode(mode: string, path: string, tools: readonly Tool[]): ToolChoice {
  const choice = Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  if (!choice) throw wrongChoice(path);
  if (choice.type === 'required' && tools.length === 0) throw wrong('tools', 'given when a call is required');
  return choice;
}

function decodeAllowed(choice: JsonObject, tools: readonly Tool[]): Chosen {
  const path = 'tool_choice.allowed_tools';
  const allowed = optionalObject(choice.allowed_tools, path) ?? {};
  const listed = readAt(allowed, 'tools', path, optionalList) ?? [];
  const names = listed.map((entry, index) => {
    const place = `${path}.tools[${index}]`;
    if (!isObject(entry)) throw wrong(place, 'an object that names a tool');
    return knownName(nameOf(entry, place), place, tools);
  });
  const left = tools.filter(({ name }) => names.includes(name));
  const mode = readAt(allowed, 'mode', path, readName);
  const chosen = decodeMode(mode, `${path}.mode`, left);
  // It has tools and allows none of them, which is not the same as having none.
  return { tools: left, choice: left.length === 0 ? { type: 'none' } : chosen };
}

/** `{type, function: {name}}`; the flat form of a neighbouring API is understood too. */
function nameOf(entry: JsonObject, path: string): string {
  const kind = entry.type === 'custom' ? 'custom' : 'function';
  const inner = readAt(entry, kind, path, optionalObject) ?? entry;
  return readAt(inner, 'name', `${path}.${kind}`, readName);
}

function knownName(name: string, path: string, tools: readonly Tool[]): string {
  if (tools.some((tool) => tool.name === name)) return name;
  throw wrong(path, `one of the tools of the request, and ${name} is not`);
}

function legacyChoice(choice: unknown, tools: readonly Tool[]): Chosen {
  if (isAbsent(choice) || choice === 'auto') return { tools, choice: { type: 'auto' } };
  if (choice === 'none') return { tools, choice: { type: 'none' } };
  if (!isObject(choice)) throw wrong('function_call', '"none", "auto" or an object with a name');
  const name = knownName(readAt(choice, 'name', 'function_call', readName), 'function_call', tools);
  return { tools, choice: { type: 'named', name } };
}

function wrongChoice(path: string) {
  return wrong(path, '"none", "auto", "required" or an object that names tools of the request');
}
