import type { Tool } from '../../chat/messages.ts';
import type { ToolChoice } from '../../chat/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent } from '../controls/fields.ts';
import { refuseNames } from '../tools.ts';
import type { Pass } from './blocks.ts';
import { clientTool } from './client-tools.ts';
import { oneOf, optional, readBoolean, readList, readName, readObject, readString } from './readers.ts';

export function decodeTools(body: JsonObject, pass: Pass): readonly Tool[] {
  const entries = optional(body.tools, 'tools', readList) ?? [];
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
  const type = optional(tool.type, `${field}.type`, readString) ?? 'custom';
  if (type === 'custom' || !isAbsent(tool.input_schema)) return [customTool(tool, field)];
  const known = clientTool(type, optional(tool.name, `${field}.name`, readName) ?? type);
  if (known) return [known];
  pass(field);
  return [];
}

function customTool(tool: JsonObject, field: string): Tool {
  const description = optional(tool.description, `${field}.description`, readString);
  return {
    name: readName(tool.name, `${field}.name`),
    ...(description === undefined ? {} : { description }),
    parameters: readObject(tool.input_schema, `${field}.input_schema`),
  };
}

export interface ToolWishes {
  readonly choice: ToolChoice;
  readonly parallel: boolean;
}

const choices = { auto: 'auto', any: 'required', none: 'none' } as const;
const readType = oneOf('auto', 'any', 'tool', 'none');

export function decodeToolChoice(body: JsonObject): ToolWishes {
  const wish = optional(body.tool_choice, 'tool_choice', readObject) ?? { type: 'auto' };
  const type = readType(wish.type, 'tool_choice.type');
  const field = 'tool_choice.disable_parallel_tool_use';
  const single = optional(wish.disable_parallel_tool_use, field, readBoolean) ?? false;
  const choice: ToolChoice =
    type === 'tool' ? { type: 'named', name: readName(wish.name, 'tool_choice.name') } : { type: choices[type] };
  return { choice, parallel: !single };
}
