import type { Tool } from '../../chat/messages.ts';
import type { ChatRequest, OutputFormat, ToolChoice } from '../../chat/request.ts';
import type { GenerationControls, ReasoningBudget } from '../../core/request.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { limitTokens, readControls } from '../controls/decode.ts';
import type { Controls } from '../controls/table.ts';
import { chatParts, type DialectParts, dialectControls, reasoningControl } from '../dialect.ts';
import {
  isAbsent,
  oneOf,
  optional,
  optionalFlag,
  optionalName,
  optionalText,
  readAt,
  readCount,
  readName,
  readObject,
} from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { Attachments } from '../media.ts';
import { type SchemaToGrammar, schemaOutput } from '../output-schema.ts';
import { refuseNames } from '../tools.ts';
import { decodeConversation, type Pass } from './conversation.ts';
import { type CreateFields, createFields } from './fields.ts';

export interface Decoded {
  /** Without its media, which may have to be fetched first. */
  readonly request: ChatRequest;
  readonly attachments: Attachments;
  readonly stream: boolean;
  readonly genkey: string;
  /** The prompt is to be read into the cache and nothing answered. */
  readonly warmUp: boolean;
  /** Places in the request that have no effect. */
  readonly passed: readonly string[];
}

export function* decode(body: JsonObject, own: DialectParts): Sliced<Decoded> {
  const parts = chatParts(own, body);
  const fields = readFields(createFields, body);
  const native = readControls(body);
  const passed: string[] = [];
  const pass = (field: string) => void passed.push(field);
  const attachments = new Attachments(parts.text.state(), { addresses: true });
  const thinking = decodeThinking(fields);
  const { choice: toolChoice, parallel: parallelToolCalls } = decodeToolChoice(fields);
  const request: ChatRequest = {
    conversation: {
      messages: yield* decodeConversation(fields, { pass, attachments }),
      media: [],
      tools: decodeTools(fields, pass),
    },
    continueAssistantTurn: true,
    toolChoice,
    parallelToolCalls,
    output: decodeOutput(fields, parts.controlParts().schemaToGrammar),
    reasoning: { effort: thinking ? thinking.effort : native.reasoning_effort, separate: true },
    templateVariables: thinking?.variables ?? {},
    memory: fields.memory,
    controls: {
      ...decodeOwnControls(fields, native, parts),
      ...(thinking ? { reasoning: thinking.budget } : {}),
    },
  };
  const { stream, genkey } = fields;
  return { request, attachments, stream, genkey, warmUp: fields.max_tokens === 0, passed };
}

function decodeOwnControls(fields: CreateFields, native: Controls, parts: DialectParts): GenerationControls {
  const { max_tokens: maxTokens, stop_sequences: stop } = fields;
  return {
    ...dialectControls(native, parts),
    ...(maxTokens === undefined ? {} : { maxTokens: replyLimit(maxTokens, parts) }),
    ...(stop === undefined ? {} : { stop }),
  };
}

/** As much as a 32-bit engine can count; what does not fit into the context is cut there. */
const mostTokens = 2 ** 31 - 1;

/** The engine always chooses one token, so a reply of none is one of a single token that is not shown. */
function replyLimit(maxTokens: number, parts: DialectParts): number {
  return limitTokens(Math.min(Math.max(1, maxTokens), mostTokens), parts.controlParts());
}

interface ThinkingWishes {
  readonly effort: string | undefined;
  readonly budget: ReasoningBudget | undefined;
  /** For templates that think only when told to. */
  readonly variables: Readonly<Record<string, unknown>>;
}

const readThinking = oneOf('enabled', 'adaptive', 'between_tools', 'disabled');
const optionalCount = optional(readCount);

/**
 * Undefined where the request says nothing about it. Whether the model can think at all does not matter: clients ask for
 * it with every model.
 */
function decodeThinking({ thinking, output_config }: CreateFields): ThinkingWishes | undefined {
  const type = thinking && readAt(thinking, 'type', 'thinking', readThinking);
  const level = output_config.effort;
  if (type === 'disabled') return { ...reasoningControl('none', undefined), variables: {} };
  const tokens = optionalCount(thinking?.budget_tokens, 'thinking.budget_tokens');
  if (type === 'enabled') return { ...control(level, tokens), variables: { enable_thinking: true } };
  return level === undefined ? undefined : { ...control(level, undefined), variables: {} };
}

/** Templates know three levels. Those above are the highest of them, without a limit. */
function control(level: string | undefined, tokens: number | undefined): Omit<ThinkingWishes, 'variables'> {
  if (level !== 'xhigh' && level !== 'max') return reasoningControl(level, tokens);
  return { effort: 'high', budget: reasoningControl(undefined, tokens).budget };
}

const readFormat = oneOf('json_schema');

/** `output_format` is the older name. */
function decodeOutput(
  { output_config: { format: today }, output_format: older }: CreateFields,
  schemaToGrammar: SchemaToGrammar,
): OutputFormat {
  const format = today ?? older;
  if (!format) return { type: 'text' };
  const field = today ? 'output_config.format' : 'output_format';
  readAt(format, 'type', field, readFormat);
  return schemaOutput(readAt(format, 'schema', field, readObject), `${field}.schema`, schemaToGrammar);
}

function decodeTools({ tools: entries }: CreateFields, pass: Pass): readonly Tool[] {
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

interface ToolWishes {
  readonly choice: ToolChoice;
  readonly parallel: boolean;
}

const choices = { auto: 'auto', any: 'required', none: 'none' } as const;
const readType = oneOf('auto', 'any', 'tool', 'none');

function decodeToolChoice({ tool_choice: wish = { type: 'auto' } }: CreateFields): ToolWishes {
  const path = 'tool_choice';
  const type = readAt(wish, 'type', path, readType);
  const single = readAt(wish, 'disable_parallel_tool_use', path, optionalFlag) ?? false;
  const choice: ToolChoice =
    type === 'tool' ? { type: 'named', name: readAt(wish, 'name', path, readName) } : { type: choices[type] };
  return { choice, parallel: !single };
}

const string = { type: 'string' } as const;
const integer = { type: 'integer' } as const;
const range = { type: 'array', items: integer, minItems: 2, maxItems: 2 } as const;
const choice = (...values: readonly string[]) => ({ type: 'string', enum: values });

/** What the commands on files take. */
const edits = {
  path: string,
  view_range: range,
  file_text: string,
  old_str: string,
  new_str: string,
  insert_line: integer,
  insert_text: string,
} as const;

/**
 * Tools that the client runs but does not describe, because models of the original service know them by heart. Other
 * models are told; the dates at the end of the types only tell versions apart.
 */
const known: readonly { readonly prefix: string; readonly tool: Omit<Tool, 'name'> }[] = [
  {
    prefix: 'bash_',
    tool: {
      description: 'Runs a command in a shell that stays open between calls, or starts that shell anew.',
      parameters: { type: 'object', properties: { command: string, restart: { type: 'boolean' } } },
    },
  },
  {
    prefix: 'text_editor_',
    tool: {
      description:
        'Views and edits text files. view shows a file (view_range: first and last line) or a folder; create writes ' +
        'file_text; str_replace puts new_str where old_str stands exactly once; insert puts new_str (insert_text) ' +
        'after the line insert_line.',
      parameters: {
        type: 'object',
        properties: {
          command: choice('view', 'create', 'str_replace', 'insert'),
          ...edits,
        },
        required: ['command', 'path'],
      },
    },
  },
  {
    prefix: 'memory_',
    tool: {
      description:
        'Keeps notes in files below /memories for later conversations. view, create, str_replace, insert and delete ' +
        'take a path; rename takes old_path and new_path.',
      parameters: {
        type: 'object',
        properties: {
          command: choice('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
          ...edits,
          old_path: string,
          new_path: string,
        },
        required: ['command'],
      },
    },
  },
];

function clientTool(type: string, name: string): Tool | undefined {
  const found = known.find(({ prefix }) => type.startsWith(prefix));
  return found && { name, ...found.tool };
}
