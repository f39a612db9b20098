import type { Tool } from '../../../chat/messages.ts';
import type { ChatRequest, OutputFormat, ToolChoice } from '../../../chat/request.ts';
import { inSlices } from '../../../core/slices.ts';
import type { JsonObject } from '../../../http/body.ts';
import { type DialectContext, reasoningControl } from '../../dialect.ts';
import { withCollections } from '../../documents/collections.ts';
import { type OwnDocuments, ownDocuments } from '../../documents/library.ts';
import { loadFiles, sentFiles } from '../../documents/sent-files.ts';
import * as f from '../../fields.ts';
import { contextSizeOf, readContextSize, userLocation } from '../../hosted-tools.ts';
import { Attachments, withMedia } from '../../media.ts';
import { type SchemaToGrammar, schemaOutput } from '../../output-schema.ts';
import { readChat } from '../../read-body.ts';
import { checkToolNames, freeText, readFunction } from '../../tools.ts';
import { decodeDelivery, decodeOwnControls, decodePromptLogprobs, nativeBody } from '../controls.ts';
import { unsupportedField } from '../errors.ts';
import { type ChatFields, chatFields } from './fields.ts';
import { chatFile, decodeMessages, hasSpeakerNames } from './messages.ts';

/** For bodies that come from no connection. */
const neverAborted = new AbortController().signal;

export type DecodedChat = Awaited<ReturnType<typeof decodeChat>>;

/** The neutral request, and how its reply is to be delivered. */
export async function decodeChat(
  body: JsonObject,
  { text, fetchMedia, ...context }: DialectContext,
  signal = neverAborted,
  /** Of the client that sends it; without one it can bring files along, but not name any. */
  own: OwnDocuments = {
    ...ownDocuments({}, {}),
    extract: ownDocuments({}, { documents: context.documents }).extract,
  },
) {
  const read = readChat(chatFields, body, context, nativeBody(body));
  const { fields, notices } = read;
  const files = await loadFiles(sentFiles(fields.messages, 'messages', chatFile), { own, fetchMedia, signal });
  const attachments = new Attachments(text.state(), { addresses: true, files });
  const messages = await inSlices(decodeMessages(fields.messages, attachments), { signal });
  const { tools, choice, parallel, legacy, skipped } = decodeToolUse(fields);
  const { effort, budget } = decodeReasoning(fields);
  const separate = separatesReasoning(fields);
  const output = decodeOutput(fields, read.limits.schemaToGrammar);
  const controls = await decodeOwnControls(read, text);
  const promptLogprobs = decodePromptLogprobs(fields);
  // With tools the prompt may be a question about them, which the client did not send.
  if (promptLogprobs !== undefined && tools.length > 0) {
    throw unsupportedField('prompt_logprobs', 'it does not go with tools');
  }
  const request: ChatRequest = {
    conversation: { messages, media: [], tools },
    continueAssistantTurn: continuesTurn(fields),
    toolChoice: choice,
    parallelToolCalls: parallel,
    output,
    reasoning: { effort, separate },
    templateVariables: fields.chat_template_kwargs ?? {},
    memory: fields.memory,
    ...decodeSearch(fields),
    controls: {
      ...controls,
      ...(promptLogprobs !== undefined && { promptLogprobs }),
      logprobs: alternatives(fields),
      reasoning: budget,
    },
  };
  return {
    ...decodeDelivery(fields),
    request: await withCollections(await withMedia(request, attachments, { fetchMedia, signal }), fields.collections, {
      own,
      marks: 'keep',
      itemized: false,
      contextSize: text.contextSize(),
      signal,
    }),
    replies: fields.n,
    legacyCalls: legacy,
    /** Some models send calls late and all at once, so that the wait for them is long. */
    offersTools: tools.length > 0 && choice.type !== 'none',
    serviceTier: fields.service_tier,
    notices: {
      ...notices,
      ignored: [...notices.ignored, ...skipped, ...(hasSpeakerNames(fields.messages) ? ['messages[].name'] : [])],
    },
  };
}

/** `{}` switches it on. */
function decodeSearch({ web_search_options: options }: ChatFields): Pick<ChatRequest, 'hosted'> {
  if (!options) return {};
  const field = 'web_search_options';
  const size = f.readAt(options, 'search_context_size', field, readContextSize);
  const location = f.readAt(options, 'user_location', field, f.optionalObject);
  const near = location && f.readAt(location, 'approximate', `${field}.user_location`, f.optionalObject);
  const search = { field, ...contextSizeOf(size), ...userLocation(near, `${field}.user_location.approximate`) };
  return { hosted: { search, sources: [], itemized: false } };
}

function alternatives({ logprobs, top_logprobs: count }: ChatFields): number | undefined {
  if (count !== undefined && count < 0) throw f.wrong('top_logprobs', 'a whole number from 0 to 20');
  if (count && !logprobs) throw f.wrong('logprobs', 'true where top_logprobs is sent');
  return logprobs ? Math.min(count ?? 0, 20) : undefined;
}

/** Four names for one switch, from four families of clients. The page of llama.cpp expects it to be on. */
function continuesTurn(fields: ChatFields): boolean {
  const { continue_final_message: continued, add_generation_prompt: fresh } = fields;
  if (continued && fresh) throw f.wrong('continue_final_message', 'false where add_generation_prompt is true');
  return continued ?? (fresh ? false : fields.timings_per_token !== undefined || fields.continue_assistant_turn);
}

const tiers: ReadonlySet<string> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const otherTiers: Readonly<Record<string, string>> = { off: 'none', ultra: 'max', highest: 'max', lowest: 'minimal' };

/** An unknown tier counts as medium. */
/** The fields are not spread here: a copy of all of them is slow. */
function decodeReasoning(fields: ChatFields) {
  const { reasoning } = fields;
  const effort = fields.reasoning_effort ?? reasoning.effort ?? (reasoning.enabled === false ? 'none' : undefined);
  const tokens = fields.thinking_budget_tokens ?? fields.reasoning_budget_tokens ?? reasoning.max_tokens;
  if (!effort || tiers.has(effort)) return reasoningControl(effort || undefined, tokens);
  return reasoningControl(otherTiers[effort] ?? 'medium', tokens);
}

/** The page of llama.cpp, known by `timings_per_token`, expects reasoning apart from the text. */
function separatesReasoning(fields: ChatFields): boolean {
  const { reasoning_format: format = 'auto' } = fields;
  if (!['none', 'auto', 'deepseek', 'deepseek-legacy'].includes(format)) {
    throw f.wrong('reasoning_format', '"auto", "deepseek" or "none"');
  }
  return format !== 'none' && (fields.timings_per_token !== undefined || fields.encapsulate_thinking);
}

function decodeOutput(
  { response_format: format, json_schema: schema }: ChatFields,
  schemaToGrammar: SchemaToGrammar,
): OutputFormat {
  const schemaAt = (sent: unknown, field: string): OutputFormat => {
    if (!f.isObject(sent) && typeof sent !== 'boolean') throw f.wrong(field, 'a JSON schema');
    return schemaOutput(sent, field, schemaToGrammar);
  };
  if (!format) return f.isAbsent(schema) ? { type: 'text' } : schemaAt(schema, 'json_schema');
  switch (format.type) {
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return f.isAbsent(format.schema) ? { type: 'json' } : schemaAt(format.schema, 'response_format.schema');
    case 'json_schema': {
      const named = f.readAt(format, 'json_schema', 'response_format', f.optionalObject) ?? {};
      // Without a schema any JSON is valid.
      return schemaAt(named.schema ?? {}, 'response_format.json_schema.schema');
    }
    default:
      throw f.wrong('response_format.type', '"text", "json_object" or "json_schema"');
  }
}

interface Chosen {
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice;
}

export function decodeToolUse(fields: ChatFields) {
  const { tools: listed, functions } = fields;
  // The old form, before there were tools: the reply must use it too, and can hold only one call.
  const legacy = listed.length === 0 && functions.length > 0;
  const decoded = listed.map((tool, index) => decodeTool(tool, `tools[${index}]`));
  const all = legacy
    ? functions.map((one, index) => decodeFunction(one, `functions[${index}]`))
    : decoded.flatMap((tool) => tool ?? []);
  const names = all.map(({ name }) => name);
  checkToolNames(names, legacy ? 'functions' : 'tools');
  return {
    ...(legacy ? legacyChoice(fields.function_call, all) : decodeChoice(fields.tool_choice, all)),
    parallel: !legacy && fields.parallel_tool_calls,
    legacy,
    /** The tools of the request that are not offered to the model. */
    skipped: decoded.flatMap((tool, index) => (tool ? [] : [`tools[${index}]`])),
  };
}

/** Undefined for a tool that only a provider can run (web search and the like). */
function decodeTool(tool: unknown, path: string): Tool | undefined {
  if (!f.isObject(tool)) throw f.wrong(path, 'an object with type and function');
  const type = f.readAt(tool, 'type', path, f.optionalText) ?? 'function';
  if (type === 'function') return decodeFunction(tool.function, `${path}.function`);
  return type === 'custom' ? { ...decodeFunction(tool.custom, `${path}.custom`), parameters: freeText } : undefined;
}

function decodeFunction(value: unknown, path: string): Tool {
  if (!f.isObject(value)) throw f.wrong(path, 'an object with a name');
  return readFunction(value, path);
}

function decodeChoice(choice: unknown, tools: readonly Tool[]): Chosen {
  const path = 'tool_choice';
  if (f.isAbsent(choice)) return { tools, choice: { type: 'auto' } };
  if (typeof choice === 'string') return { tools, choice: decodeMode(choice, path, tools) };
  if (!f.isObject(choice)) throw wrongChoice(path);
  if (choice.type === 'allowed_tools') return decodeAllowed(choice, tools);
  return { tools, choice: { type: 'named', name: knownName(nameOf(choice, path), path, tools) } };
}

function decodeMode(mode: string, path: string, tools: readonly Tool[]): ToolChoice {
  if (mode !== 'none' && mode !== 'auto' && mode !== 'required') throw wrongChoice(path);
  if (mode === 'required' && tools.length === 0) throw f.wrong('tools', 'given when a call is required');
  return { type: mode };
}

function decodeAllowed(choice: JsonObject, tools: readonly Tool[]): Chosen {
  const path = 'tool_choice.allowed_tools';
  const allowed = f.optionalObject(choice.allowed_tools, path) ?? {};
  const listed = f.readAt(allowed, 'tools', path, f.optionalList) ?? [];
  const names = listed.map((entry, index) => {
    const entryPath = `${path}.tools[${index}]`;
    if (!f.isObject(entry)) throw f.wrong(entryPath, 'an object that names a tool');
    return knownName(nameOf(entry, entryPath), entryPath, tools);
  });
  const left = tools.filter(({ name }) => names.includes(name));
  const chosen = decodeMode(f.readAt(allowed, 'mode', path, f.readName), `${path}.mode`, left);
  // A request that allows none of its tools is not the same as one without tools.
  return { tools: left, choice: left.length === 0 ? { type: 'none' } : chosen };
}

/** `{type, function: {name}}`, or the flat form of the Responses API. */
function nameOf(entry: JsonObject, path: string): string {
  const kind = entry.type === 'custom' ? 'custom' : 'function';
  const inner = f.readAt(entry, kind, path, f.optionalObject) ?? entry;
  return f.readAt(inner, 'name', `${path}.${kind}`, f.readName);
}

function knownName(name: string, path: string, tools: readonly Tool[]): string {
  if (tools.some((tool) => tool.name === name)) return name;
  throw f.wrong(path, `one of the tools of the request, and ${name} is not`);
}

function legacyChoice(choice: unknown, tools: readonly Tool[]): Chosen {
  if (f.isAbsent(choice) || choice === 'auto') return { tools, choice: { type: 'auto' } };
  if (choice === 'none') return { tools, choice: { type: 'none' } };
  if (!f.isObject(choice)) throw f.wrong('function_call', '"none", "auto" or an object with a name');
  const name = knownName(f.readAt(choice, 'name', 'function_call', f.readName), 'function_call', tools);
  return { tools, choice: { type: 'named', name } };
}

function wrongChoice(path: string) {
  return f.wrong(path, '"none", "auto", "required" or an object that names tools of the request');
}
