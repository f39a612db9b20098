import type { Tool } from '../../chat/messages.ts';
import type { ToolChoice } from '../../chat/request.ts';
import type { JsonObject } from '../../http/body.ts';
import {
  isAbsent,
  oneOf,
  optionalFlag,
  optionalName,
  optionalText,
  readAt,
  readName,
  readObject,
} from '../fields/readers.ts';
import { refuseNames } from '../tools.ts';
import type { Pass } from './blocks.ts';
import { clientTool } from './client-tools.ts';
import type { CreateFields } from './fields.ts';

export function decodeTools({ tools: entries }: CreateFields, pass: Pass): readonly Tool[] {
  const tools = entries.flatMap((entry, index) => decodeTool(entry, `tools[${index}]`, pass));
  refuseNames(
    tools.map(({ name }) => name),
    'tools',
  );
  return tools;
}

/** A tool that only the original service can run (web search, code execution) is left out, and the client is told. */
function decodeTool(entry: unknown, field: string, pass: Pass): readonly Tool[] {
  const tool = readObject(entry, field);
  const type = readAt(tool, 'type', field, optionalText) ?? 'custom';
  if (type === 'custom' || !isAbsent(tool.input_schema)) return [customTool(tool, field)];
  const known = clientTool(type, readAt(tool, 'name', field, optionalName) ?? type);
  if (known) return [known];
  pass(field);
  return [];
}

function customTool(tool: JsonObject, field: string): Tool {
  const description = readAt(tool, 'description', field, optionalText);
  return {
    name: readAt(tool, 'name', field, readName),
    ...(description === undefined ? {} : { description }),
    parameters: readAt(tool, 'input_schema', field, readObject),
  };
}

export interface ToolWishes {
  readonly choice: ToolChoice;
  readonly parallel: boolean;
}

const choices = { auto: 'auto', any: 'required', none: 'none' } as const;
const readType = oneOf('auto', 'any', 'tool', 'none');

export function decodeToolChoice({ tool_choice: wish = { type: 'auto' } }: CreateFields): ToolWishes {
  const path = 'tool_choice';
  const type = readAt(wish, 'type', path, readType);
  const single = readAt(wish, 'disable_parallel_tool_use', path, optionalFlag) ?? false;
  const choice: ToolChoice =
    type === 'tool' ? { type: 'named', name: readAt(wish, 'name', path, readName) } : { type: choices[type] };
  return { choice, parallel: !single };
}
