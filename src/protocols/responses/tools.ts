import type { Tool } from '../../chat/messages.ts';
import type { ToolChoice } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import {
  isAbsent,
  isObject,
  optional,
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  readAt,
  readText,
  word,
  wrong,
} from '../fields/readers.ts';
import { refuseNames } from '../tools.ts';
import type { CreateFields } from './fields.ts';

/** A tool that is offered to the model, and how its calls are sent to the client. */
export interface OfferedTool {
  readonly kind: 'function' | 'custom';
  /** The name that the client uses; that of `tool` may have the namespace in front. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly tool: Tool;
}

interface ReadTool extends Omit<OfferedTool, 'tool'> {
  readonly description: string | undefined;
  readonly parameters: Tool['parameters'];
  readonly echo?: object;
}

export function readTools({ tools }: Pick<CreateFields, 'tools'>) {
  const skipped: string[] = [];
  const read = tools.flatMap((value, index) => readTool(value, `tools[${index}]`, (kind) => skipped.push(kind)));
  const offered = new Map<string, OfferedTool>();
  const names: string[] = [];
  for (const { kind, name, namespace, description, parameters } of read) {
    const known = offered.has(name) && namespace !== undefined ? `${namespace}__${name}` : name;
    names.push(known);
    const tool = { name: known, parameters, ...(description === undefined ? {} : { description }) };
    offered.set(known, { kind, name, namespace, tool });
  }
  refuseNames(names, 'tools');
  return {
    offered: [...offered.values()],
    /** The function tools as the response object shows them. */
    echo: read.flatMap(({ echo }) => echo ?? []),
    /** Types of tools that this server does not have. Agents send them always, so that they are no error. */
    skipped: [...new Set(skipped)],
  };
}

function readTool(value: unknown, at: string, skip: (kind: string) => void): readonly ReadTool[] {
  if (!isObject(value)) throw wrong(at, 'an object');
  switch (value.type) {
    case 'function':
      return [readFunction(value, at)];
    case 'custom':
      return [readCustom(value, at)];
    case 'namespace':
      return readNamespace(value, at, skip);
    default:
      skip(readAt(value, 'type', at, readText));
      return [];
  }
}

function readFunction(value: JsonObject, at: string): ReadTool {
  const name = readAt(value, 'name', at, readText);
  const description = readAt(value, 'description', at, optionalText);
  const parameters = readAt(value, 'parameters', at, optionalObject);
  const strict = readAt(value, 'strict', at, optionalFlag) ?? true;
  const echo = { type: 'function', name, description: description ?? null, parameters: parameters ?? null, strict };
  const shape = parameters ?? { type: 'object', properties: {} };
  return { kind: 'function', name, namespace: undefined, description, parameters: shape, echo };
}

/** The argument of a tool that takes free text. */
const inputField = 'input';
const oneText = { type: 'object', properties: { [inputField]: { type: 'string' } }, required: [inputField] };

function readCustom(value: JsonObject, at: string): ReadTool {
  const format = readAt(value, 'format', at, optionalObject);
  const syntax = format === undefined ? undefined : readAt(format, 'definition', `${at}.format`, optionalText);
  const described = [
    readAt(value, 'description', at, optionalText),
    syntax && `The input follows this grammar:\n${syntax}`,
  ];
  return {
    kind: 'custom',
    name: readAt(value, 'name', at, readText),
    namespace: undefined,
    description: described.filter(Boolean).join('\n\n') || undefined,
    parameters: oneText,
  };
}

export function customArguments(input: string): string {
  return JSON.stringify({ [inputField]: input });
}

/** Undefined if the arguments are not (or not yet) those of a custom tool. */
export function customInput(json: string): string | undefined {
  try {
    const input: unknown = JSON.parse(json)?.[inputField];
    return typeof input === 'string' ? input : undefined;
  } catch {
    return undefined;
  }
}

function readNamespace(value: JsonObject, at: string, skip: (kind: string) => void): readonly ReadTool[] {
  const namespace = readAt(value, 'name', at, readText);
  return (readAt(value, 'tools', at, optionalList) ?? []).flatMap((member, index) =>
    readTool(member, `${at}.tools[${index}]`, skip).map(({ echo: _, ...tool }) => ({ ...tool, namespace })),
  );
}

/** The name of a tool in the prompt, by the name and namespace that the client uses. */
export function knownName(offered: readonly OfferedTool[], named: JsonObject, at: string): string {
  const name = readAt(named, 'name', at, readText);
  const namespace = readAt(named, 'namespace', at, optionalText);
  return offered.find((tool) => tool.name === name && tool.namespace === namespace)?.tool.name ?? name;
}

const readMode = word('auto', 'none', 'required');

/** The tools that may be called, whether they must be, and `tool_choice` as the response object shows it. */
export function chooseTools(
  { tool_choice: wanted }: Pick<CreateFields, 'tool_choice'>,
  offered: readonly OfferedTool[],
): { readonly offered: readonly OfferedTool[]; readonly choice: ToolChoice; readonly echo: unknown } {
  if (isAbsent(wanted)) return { offered, choice: { type: 'auto' }, echo: 'auto' };
  if (typeof wanted === 'string') {
    const type = readMode(wanted, 'tool_choice');
    return { offered, choice: { type }, echo: type };
  }
  if (!isObject(wanted)) throw wrong('tool_choice', 'a string or an object');
  if (wanted.type === 'allowed_tools') {
    const type = readAt(wanted, 'mode', 'tool_choice', optional(readMode)) ?? 'auto';
    const left = allowed(wanted, offered);
    // A request that allows none of its tools is not the same as one without tools.
    return { offered: left, choice: { type: left.length === 0 && type === 'auto' ? 'none' : type }, echo: wanted };
  }
  if (wanted.type !== 'function' && wanted.type !== 'custom') {
    throw new AppError('unsupported', {
      feature: 'tool_choice',
      instead: 'this server has no built-in tools, so that only a function or a custom tool can be forced',
    });
  }
  const name = knownName(offered, wanted, 'tool_choice');
  return { offered, choice: { type: 'named', name }, echo: wanted };
}

function allowed(wanted: JsonObject, offered: readonly OfferedTool[]): readonly OfferedTool[] {
  const names = (readAt(wanted, 'tools', 'tool_choice', optionalList) ?? []).map((tool, index) => {
    const at = `tool_choice.tools[${index}]`;
    if (!isObject(tool)) throw wrong(at, 'an object');
    return readAt(tool, 'name', at, optionalText);
  });
  return offered.filter(({ name }) => names.includes(name));
}
