import type { Tool } from '../../chat/messages.ts';
import type { ToolChoice } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject } from '../controls/fields.ts';
import { refuseNames } from '../tools.ts';
import {
  invalid,
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  optionalWord,
  requiredText,
} from './fields.ts';

/** A tool that the model is offered, and how a call of it is told to the client. */
export interface OfferedTool {
  readonly kind: 'function' | 'custom';
  /** The client's name for it; the model may know it under a longer one. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly tool: Tool;
}

export interface Toolbox {
  readonly offered: readonly OfferedTool[];
  /** The function tools as the response object shows them again. */
  readonly echo: readonly object[];
  /** Kinds of tools that this server does not have; agents send them always, so they are passed over. */
  readonly skipped: readonly string[];
}

export interface ChosenTools {
  readonly offered: readonly OfferedTool[];
  readonly choice: ToolChoice;
  readonly echo: unknown;
}

interface ReadTool extends Omit<OfferedTool, 'tool'> {
  readonly description: string | undefined;
  readonly parameters: Tool['parameters'];
  readonly echo?: object;
}

export function readTools(body: JsonObject): Toolbox {
  const skipped: string[] = [];
  const read = (optionalList(body, 'tools') ?? []).flatMap((value, index) =>
    readTool(value, `tools[${index}]`, (kind) => skipped.push(kind)),
  );
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
    echo: read.flatMap(({ echo }) => (echo === undefined ? [] : [echo])),
    skipped: [...new Set(skipped)],
  };
}

function readTool(value: unknown, at: string, skip: (kind: string) => void): readonly ReadTool[] {
  if (!isObject(value)) throw invalid(at, 'an object');
  switch (value.type) {
    case 'function':
      return [readFunction(value, at)];
    case 'custom':
      return [readCustom(value, at)];
    case 'namespace':
      return readNamespace(value, at, skip);
    default:
      skip(requiredText(value, 'type', at));
      return [];
  }
}

function readFunction(value: JsonObject, at: string): ReadTool & { readonly echo: object } {
  const name = requiredText(value, 'name', at);
  const description = optionalText(value, 'description', at);
  const parameters = optionalObject(value, 'parameters', at);
  const strict = optionalFlag(value, 'strict', at) ?? true;
  const echo = { type: 'function', name, description: description ?? null, parameters: parameters ?? null, strict };
  const shape = parameters ?? { type: 'object', properties: {} };
  return { kind: 'function', name, namespace: undefined, description, parameters: shape, echo };
}

/** The argument of a tool that takes free text. */
const inputField = 'input';
const oneText = { type: 'object', properties: { [inputField]: { type: 'string' } }, required: [inputField] };

function readCustom(value: JsonObject, at: string): ReadTool {
  const format = optionalObject(value, 'format', at);
  const syntax = format === undefined ? undefined : optionalText(format, 'definition', `${at}.format`);
  const described = [optionalText(value, 'description', at), syntax && `The input follows this grammar:\n${syntax}`];
  return {
    kind: 'custom',
    name: requiredText(value, 'name', at),
    namespace: undefined,
    description: described.filter(Boolean).join('\n\n') || undefined,
    parameters: oneText,
  };
}

export function customArguments(input: string): string {
  return JSON.stringify({ [inputField]: input });
}

/** Undefined where the arguments are not (or not yet) what such a tool takes. */
export function customInput(json: string): string | undefined {
  try {
    const input: unknown = JSON.parse(json)?.[inputField];
    return typeof input === 'string' ? input : undefined;
  } catch {
    return undefined;
  }
}

function readNamespace(value: JsonObject, at: string, skip: (kind: string) => void): readonly ReadTool[] {
  const namespace = requiredText(value, 'name', at);
  return (optionalList(value, 'tools', at) ?? []).flatMap((member, index) =>
    readTool(member, `${at}.tools[${index}]`, skip).map(({ echo: _, ...tool }) => ({ ...tool, namespace })),
  );
}

/** The name under which the model knows a tool that an earlier item calls by the client's name for it. */
export function knownName(offered: readonly OfferedTool[], name: string, namespace: string | undefined): string {
  return offered.find((tool) => tool.name === name && tool.namespace === namespace)?.tool.name ?? name;
}

const modes = ['auto', 'none', 'required'] as const;

export function chooseTools(body: JsonObject, { offered }: Toolbox): ChosenTools {
  const wanted = body.tool_choice;
  if (isAbsent(wanted)) return { offered, choice: { type: 'auto' }, echo: 'auto' };
  if (typeof wanted === 'string') {
    const type = optionalWord(body, 'tool_choice', modes) ?? 'auto';
    return { offered, choice: { type }, echo: type };
  }
  if (!isObject(wanted)) throw invalid('tool_choice', 'a string or an object');
  if (wanted.type === 'allowed_tools') {
    const type = optionalWord(wanted, 'mode', modes, 'tool_choice') ?? 'auto';
    return { offered: allowed(wanted, offered), choice: { type }, echo: wanted };
  }
  if (wanted.type !== 'function' && wanted.type !== 'custom') {
    throw new AppError('unsupported', {
      feature: 'tool_choice',
      instead: 'this server has no built-in tools, so that only a function or a custom tool can be forced',
    });
  }
  const name = knownName(offered, requiredText(wanted, 'name', 'tool_choice'), optionalText(wanted, 'namespace'));
  return { offered, choice: { type: 'named', name }, echo: wanted };
}

function allowed(wanted: JsonObject, offered: readonly OfferedTool[]): readonly OfferedTool[] {
  const names = (optionalList(wanted, 'tools', 'tool_choice') ?? []).map((tool, index) => {
    const at = `tool_choice.tools[${index}]`;
    if (!isObject(tool)) throw invalid(at, 'an object');
    return optionalText(tool, 'name', at);
  });
  return offered.filter(({ name }) => names.includes(name));
}
