import type { Tool } from '../../chat/messages.ts';
import type { ChatRequest, OutputFormat, ToolChoice } from '../../chat/request.ts';
import type { HostedTools } from '../../chat/server-tools/hosted.ts';
import type { GenerationControls } from '../../core/request.ts';
import type { Source } from '../../core/server-tools.ts';
import type { JsonObject } from '../../http/body.ts';
import type { ControlLimits } from '../controls/decode.ts';
import { limitTokens } from '../controls/decode.ts';
import { type DialectContext, reasoningControl } from '../dialect.ts';
import type { LoadedFiles } from '../documents/sent-files.ts';
import * as f from '../fields.ts';
import { Attachments } from '../media.ts';
import { type SchemaToGrammar, schemaOutput } from '../output-schema.ts';
import { type ReadBody, readChat } from '../read-body.ts';
import { checkToolNames } from '../tools.ts';
import { decodeConversation } from './conversation.ts';
import type { ReplyFacts } from './encode.ts';
import { type CreateFields, type countFields, createFields } from './fields.ts';
import { readMcpServers, readServerTool, wantsDocumentCitations } from './server-tools.ts';

/** `table`: the fields of the endpoint; those of a count have no length and no delivery. */
export function* decode(
  body: JsonObject,
  context: DialectContext & { readonly loaded?: LoadedFiles },
  table: typeof createFields | typeof countFields = createFields,
) {
  const read = readChat(table as typeof createFields, body, context);
  const { fields, native, limits, notices } = read;
  const ignored: string[] = [];
  const ignore = (field: string) => void ignored.push(field);
  const attachments = new Attachments(context.text.state(), { addresses: true, files: context.loaded });
  const thinking = decodeThinking(fields);
  const controls = decodeOwnControls(read);
  const compaction = decodeCompaction(fields);
  const sources: Source[] = [];
  const counts = { documents: 0, results: 0 };
  const messages = yield* decodeConversation(fields, { ignore, attachments, sources, counts });
  const { tools, own } = decodeTools(fields, limits, ignore);
  const mcp = readMcpServers(fields, limits, ignore);
  // Passages of documents and search results that may be cited.
  const isCited = sources.some(({ location: place }) => place !== undefined);
  const runsTools = own !== undefined || mcp.length > 0;
  const hosted =
    runsTools || isCited
      ? { ...own, ...(mcp.length > 0 && { mcp }), ...(isCited && { marks: 'strip' as const }) }
      : undefined;
  const request: ChatRequest = {
    ...decodeToolChoice(fields),
    conversation: {
      messages,
      media: [],
      tools,
    },
    continueAssistantTurn: true,
    output: decodeOutput(fields, limits.schemaToGrammar),
    reasoning: { effort: thinking ? thinking.effort : native.reasoning_effort, separate: true },
    // For templates that only think if this is set.
    templateVariables: thinking?.enabled ? { enable_thinking: true } : {},
    memory: fields.memory,
    ...(hosted && { hosted: { ...hosted, sources, itemized: true } }),
    controls: { ...controls, ...(thinking && { reasoning: thinking.budget }) },
    ...(compaction && { compaction }),
  };
  const facts: ReplyFacts = {
    id: context.newId('msg_'),
    model: context.modelName(),
    stop: controls.stop,
    maxTokens: controls.maxTokens,
    warmUp: fields.max_tokens === 0,
    compaction,
    ...((hosted || fields.collections.length > 0) && {
      hosted: { documentCitations: wantsDocumentCitations(fields.tools), runsTools, ...counts },
    }),
  };
  return {
    /** Without its media, which may have to be fetched first. */
    request,
    attachments,
    stream: fields.stream,
    genkey: fields.genkey,
    contextManagement: fields.context_management,
    collections: fields.collections,
    facts,
    notices: { ...notices, ignored: [...notices.ignored, ...shortened(ignored)] },
  };
}

const maxPaths = 16;

function shortened(paths: readonly string[]): readonly string[] {
  const left = paths.length - maxPaths;
  return left > 0 ? [...paths.slice(0, maxPaths), `${left} more places`] : paths;
}

function decodeOwnControls({ fields, controls, limits }: ReadBody<typeof createFields>): GenerationControls {
  const { max_tokens: maxTokens, stop_sequences: stop = controls.stop } = fields;
  if (maxTokens === undefined) return { ...controls, stop };
  // The engine always generates one token, so that a reply of none is one token that is dropped.
  return { ...controls, stop, maxTokens: limitTokens(f.clamp(maxTokens, 1, 2 ** 31 - 1), limits) };
}

const readCompactionType = f.oneOf('summarize');

/** The request for a summary alone, or the edit that makes one when the conversation is long. A count has neither. */
function decodeCompaction({ compaction, context_management: management }: Partial<CreateFields>) {
  if (!compaction) return management?.compaction;
  if (management) throw f.wrong('compaction', 'sent without context_management');
  f.readAt(compaction, 'type', 'compaction', readCompactionType);
  const text = f.readAt(compaction, 'instructions', 'compaction', f.optionalText);
  return { trigger: 0, pause: true, ...(text !== undefined && { instructions: { text, replace: true } }) };
}

const readThinking = f.oneOf('enabled', 'adaptive', 'between_tools', 'disabled');

/** Undefined if the request does not mention it. Clients send it with every model, whether it can think or not. */
function decodeThinking({ thinking, output_config: { effort } }: CreateFields) {
  const type = thinking && f.readAt(thinking, 'type', 'thinking', readThinking);
  if (type === 'disabled') return { ...reasoningControl('none', undefined), enabled: false };
  const tokens = f.optionalCount(thinking?.budget_tokens, 'thinking.budget_tokens');
  const enabled = type === 'enabled';
  if (!enabled && effort === undefined) return undefined;
  const limit = enabled ? tokens : undefined;
  // Templates know three levels. Those above are the highest of them, without a limit.
  if (effort !== 'xhigh' && effort !== 'max') return { ...reasoningControl(effort, limit), enabled };
  return { ...reasoningControl(undefined, limit), effort: 'high', enabled };
}

const readFormat = f.oneOf('json_schema');

/** `output_format` is the older name. */
function decodeOutput(
  { output_config: { format: today }, output_format: older }: CreateFields,
  schemaToGrammar: SchemaToGrammar,
): OutputFormat {
  const format = today ?? older;
  if (!format) return { type: 'text' };
  const field = today ? 'output_config.format' : 'output_format';
  f.readAt(format, 'type', field, readFormat);
  return schemaOutput(f.readAt(format, 'schema', field, f.readObject), `${field}.schema`, schemaToGrammar);
}

function decodeTools(
  { tools: entries }: CreateFields,
  { remembers = false }: Pick<ControlLimits, 'remembers'>,
  ignore: (field: string) => void,
) {
  let hosted: Partial<HostedTools> | undefined;
  const hostedNames: string[] = [];
  const tools = entries.flatMap((entry, index) => {
    const field = `tools[${index}]`;
    const sent = f.isObject(entry) ? entry : {};
    const type = typeof sent.type === 'string' ? sent.type : '';
    if (type === 'mcp_toolset') return [];
    const isMemory = remembers && type.startsWith('memory_');
    const own: Partial<HostedTools> | undefined = isMemory ? { memory: true } : readServerTool(sent, type, field);
    if (own) {
      hosted = { ...hosted, ...own };
      hostedNames.push(own.memory ? 'memory' : own.search ? 'web_search' : 'web_fetch');
      return [];
    }
    const tool = decodeTool(entry, field);
    if (!tool) ignore(field);
    return tool ?? [];
  });
  checkToolNames([...hostedNames, ...tools.map(({ name }) => name)], 'tools');
  return { tools, own: hosted as Partial<HostedTools> | undefined };
}

/** Undefined for a tool that only the original service can run (code execution). */
function decodeTool(entry: unknown, field: string): Tool | undefined {
  const tool = f.readObject(entry, field);
  const type = f.readAt(tool, 'type', field, f.optionalText) ?? 'custom';
  if (type !== 'custom' && f.isAbsent(tool.input_schema)) {
    const name = f.readAt(tool, 'name', field, f.optionalName) ?? type;
    const known = clientTools.find(({ prefix }) => type.startsWith(prefix));
    return known && { name, description: known.description, parameters: known.parameters };
  }
  const description = f.readAt(tool, 'description', field, f.optionalText);
  return {
    name: f.readAt(tool, 'name', field, f.readName),
    ...(description !== undefined && { description }),
    parameters: f.readAt(tool, 'input_schema', field, f.readObject),
  };
}

const string = { type: 'string' } as const;
const integer = { type: 'integer' } as const;
const choice = (...values: readonly string[]) => ({ type: 'string', enum: values });
const edits = {
  path: string,
  view_range: { type: 'array', items: integer, minItems: 2, maxItems: 2 },
  file_text: string,
  old_str: string,
  new_str: string,
  insert_line: integer,
  insert_text: string,
} as const;

/** Tools that clients run but do not describe: models of the original service know them. Types end with a date. */
const clientTools = [
  {
    prefix: 'bash_',
    description: 'Runs a command in a shell that stays open between calls, or starts that shell anew.',
    parameters: { type: 'object', properties: { command: string, restart: { type: 'boolean' } } },
  },
  {
    prefix: 'text_editor_',
    description:
      'Views and edits text files. view shows a file (view_range: first and last line) or a folder; create writes ' +
      'file_text; str_replace puts new_str where old_str stands exactly once; insert puts new_str (insert_text) ' +
      'after the line insert_line.',
    parameters: {
      type: 'object',
      properties: { command: choice('view', 'create', 'str_replace', 'insert'), ...edits },
      required: ['command', 'path'],
    },
  },
  {
    prefix: 'memory_',
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
];

const choices = { auto: 'auto', any: 'required', none: 'none' } as const;
const readChoice = f.oneOf('auto', 'any', 'tool', 'none');

function decodeToolChoice({ tool_choice: sent = { type: 'auto' } }: CreateFields) {
  const path = 'tool_choice';
  const type = f.readAt(sent, 'type', path, readChoice);
  const single = f.readAt(sent, 'disable_parallel_tool_use', path, f.optionalFlag) ?? false;
  const toolChoice: ToolChoice =
    type === 'tool' ? { type: 'named', name: f.readAt(sent, 'name', path, f.readName) } : { type: choices[type] };
  return { toolChoice, parallelToolCalls: !single };
}
