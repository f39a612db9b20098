import { text } from '../../chat/messages.ts';
import type { ChatRequest, CompactionRequest, OutputFormat } from '../../chat/request.ts';
import type { GenerationControls } from '../../core/request.ts';
import type { Source } from '../../core/server-tools.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import type { OwnResponses, StoredItem } from '../../store/responses.ts';
import { limitTokens } from '../controls/decode.ts';
import { type DialectContext, headerEntries, reasoningControl } from '../dialect.ts';
import type { OwnDocuments } from '../documents/library.ts';
import type { LoadedFiles } from '../documents/sent-files.ts';
import * as f from '../fields.ts';
import { Attachments } from '../media.ts';
import { type SchemaToGrammar, schemaOutput } from '../output-schema.ts';
import { type ReadBody, readChat } from '../read-body.ts';
import { withoutCompacted } from './compaction.ts';
import { type InputItem, readConversation } from './conversation.ts';
import { type CreateFields, createFields } from './fields.ts';
import { hostedDocuments } from './file-search.ts';
import { readMcpServers } from './mcp-tools.ts';
import { chooseTools, readTools } from './tools.ts';

export interface DecodeDeps extends DialectContext {
  /** Of the client that sends the request. */
  readonly store: OwnResponses;
  readonly own: OwnDocuments;
  /** The files of the request. */
  readonly loaded?: LoadedFiles;
}

type Finished<Work> = Work extends Generator<unknown, infer Result> ? Result : never;
export type DecodedRequest = Finished<ReturnType<typeof decode>>;

export function* decode(body: JsonObject, deps: DecodeDeps) {
  const read = readChat(createFields, body, deps);
  const { fields, notices } = read;
  const previous = previousResponse(fields.previous_response_id, deps.store);
  const context = previous ? [...previous.context, ...previous.input, ...previous.output] : [];
  const sent = yield* readInput(fields, { newId: deps.newId, storedItem: (id) => deps.store.item(id) });
  const toolbox = readTools(fields);
  const { offered, choice, echo: toolChoice, search, fileSearch } = chooseTools(fields, toolbox);
  // Agents always offer a search beside their own tools, and work without it.
  const ignoresSearch = search && !read.limits.searchesWeb && offered.length > 0 && choice.type !== 'named';
  const sources: Source[] = [];
  const attachments = new Attachments(deps.text.state(), { addresses: true, files: deps.loaded });
  const earlier = context.map((item): InputItem => ({ item, at: 'previous_response_id' }));
  const items = withoutCompacted([...earlier, ...sent.items]);
  const reading = { offered, attachments, sources };
  const { messages, skipped, listed, approved } = yield* readConversation(items, reading);
  const unsent: string[] = [];
  const unused = choice.type === 'none' && approved.length === 0;
  const { isClientServer } = read.limits;
  const ignore = (field: string) => void unsent.push(field);
  const mcp = unused ? [] : readMcpServers(fields.tools, { listed, isClientServer, ignore });
  const maxUses = fields.max_tool_calls !== undefined && { maxUses: Math.max(0, fields.max_tool_calls) };
  const hosted = {
    ...(search && !ignoresSearch && { search: { ...search, ...maxUses } }),
    ...(fileSearch && { documents: { ...hostedDocuments(fileSearch, deps.own), ...maxUses } }),
    ...((fileSearch || hasPassages(sources)) && { marks: 'keep' as const }),
    ...(mcp.length > 0 && { mcp }),
    ...(approved.length > 0 && { approved }),
  };
  const compaction = decodeCompaction(fields, sent.compactsNow);
  if (messages.length === 0) throw f.wrong('input', 'a string or items that say something');

  const { instructions, reasoning, include } = fields;
  const withLogprobs = include.includes('message.output_text.logprobs');
  const format = decodeFormat(fields, read.limits.schemaToGrammar);
  const controls = decodeOwnControls(read, withLogprobs);
  const requested = reasoning.effort ?? fields.reasoning_effort;
  const { effort, budget } = reasoningControl(requested, fields.thinking_budget_tokens);
  const request: ChatRequest = {
    conversation: {
      messages: instructions ? [{ role: 'system', content: text(instructions) }, ...messages] : messages,
      media: [],
      tools: offered.map(({ tool }) => tool),
    },
    continueAssistantTurn: fields.continue_assistant_turn,
    toolChoice: choice,
    parallelToolCalls: fields.parallel_tool_calls,
    output: format.output,
    reasoning: { effort, separate: fields.encapsulate_thinking },
    templateVariables: fields.chat_template_kwargs ?? {},
    memory: fields.memory,
    ...(Object.keys(hosted).length > 0 && { hosted: { ...hosted, sources, itemized: true } }),
    controls: { ...controls, reasoning: budget ?? controls.reasoning },
    ...(compaction && { compaction }),
  };
  /** Before generation. Typed clients and validators of this dialect need every key. */
  const response = {
    id: deps.newId('resp_'),
    object: 'response',
    created_at: Math.floor(deps.now() / 1000),
    completed_at: null,
    status: 'queued',
    background: decodeBackground(fields),
    error: null,
    incomplete_details: null,
    instructions: instructions ?? null,
    max_output_tokens: fields.max_output_tokens ?? null,
    max_tool_calls: fields.max_tool_calls ?? null,
    model: deps.modelName(),
    output: [],
    parallel_tool_calls: fields.parallel_tool_calls,
    previous_response_id: previous?.id ?? null,
    prompt_cache_key: fields.prompt_cache_key ?? null,
    reasoning: { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null },
    safety_identifier: fields.safety_identifier ?? null,
    service_tier: 'default',
    store: fields.store,
    temperature: controls.sampling.temperature,
    text: { format: format.echo, verbosity: fields.text.verbosity ?? 'medium' },
    tool_choice: toolChoice,
    tools: toolbox.echo,
    top_logprobs: fields.top_logprobs,
    top_p: controls.sampling.topP,
    presence_penalty: controls.sampling.presencePenalty,
    frequency_penalty: controls.sampling.frequencyPenalty,
    truncation: controls.overflow === 'trim' ? 'auto' : 'disabled',
    usage: null,
    metadata: fields.metadata ?? {},
  } as const;
  return {
    /** Without its media, which may have to be fetched first. */
    request,
    attachments,
    response,
    offered,
    /** The conversation before this request, and what this request adds to it. */
    context,
    input: sent.items.map(({ item }) => item),
    stream: fields.stream,
    genkey: fields.genkey,
    ttl: fields.ttl,
    withLogprobs,
    fileSearch,
    collections: fields.collections,
    withSearchSources: include.includes('web_search_call.action.sources'),
    withFileResults: include.includes('file_search_call.results'),
    withEncryptedReasoning: include.includes('reasoning.encrypted_content'),
    notices: {
      ...notices,
      // Names of types come from the client.
      ignored: headerEntries([
        ...notices.ignored,
        ...[...toolbox.skipped, ...(ignoresSearch ? ['web_search'] : [])].map((kind) => `tools (${kind})`),
        ...unsent,
        ...sent.missing.map((at) => `${at} (item_reference)`),
        ...skipped.filter((at) => at.startsWith('input')),
      ]),
    },
  };
}

/** Of earlier searches, which can be cited again. */
function hasPassages(sources: readonly Source[]): boolean {
  return sources.some(({ location: place }) => place !== undefined);
}

function decodeCompaction({ context_management: threshold }: CreateFields, now = false): CompactionRequest | undefined {
  if (now) return { trigger: 0, pause: true };
  return threshold === undefined ? undefined : { trigger: threshold, pause: false };
}

function previousResponse(id: unknown, store: OwnResponses) {
  if (f.isAbsent(id)) return undefined;
  const stored = typeof id === 'string' ? store.get(id) : undefined;
  const unfinished = stored?.response.status === 'queued' || stored?.response.status === 'in_progress';
  if (!stored || unfinished)
    throw f.wrong('previous_response_id', 'the id of a finished response that is still stored');
  return stored;
}

/** The controls of the dialect over the native ones of the same body. */
function decodeOwnControls(
  { fields, controls: native, limits }: ReadBody<typeof createFields>,
  withLogprobs: boolean,
): GenerationControls {
  const { max_output_tokens: maxTokens, truncation, stop, top_logprobs: alternatives } = fields;
  return {
    ...native,
    maxTokens: maxTokens === undefined ? native.maxTokens : limitTokens(maxTokens, limits),
    overflow: truncation === undefined ? native.overflow : truncation === 'auto' ? 'trim' : 'refuse',
    stop: stop ?? native.stop,
    logprobs: withLogprobs ? alternatives : native.logprobs,
  };
}

/** A response that is streamed is not generated in the background. */
function decodeBackground({ background, store, stream }: CreateFields): boolean {
  if (!background) return false;
  if (!store) throw f.wrong('store', 'true for a response in the background');
  return !stream;
}

const readType = f.optional(f.word('text', 'json_object', 'json_schema'));

/** The format of the reply, and how the response object shows it. */
function decodeFormat(
  { text: { format = { type: 'text' } } }: CreateFields,
  schemaToGrammar: SchemaToGrammar,
): { readonly output: OutputFormat; readonly echo: object } {
  const at = 'text.format';
  switch (f.readAt(format, 'type', at, readType)) {
    case 'json_object':
      return { output: { type: 'json' }, echo: { type: 'json_object' } };
    case 'json_schema': {
      const schema = f.readAt(format, 'schema', at, f.readObject);
      const name = f.readAt(format, 'name', at, f.optionalText) ?? 'response';
      const description = f.readAt(format, 'description', at, f.optionalText) ?? null;
      const strict = f.readAt(format, 'strict', at, f.optionalFlag) ?? true;
      const echo = { type: 'json_schema', name, description, schema, strict };
      return { output: schemaOutput(schema, `${at}.schema`, schemaToGrammar), echo };
    }
    default:
      return { output: { type: 'text' }, echo: { type: 'text' } };
  }
}

/** The prefixes of ids by which clients recognize the kinds of items. */
const idPrefixes = new Map([
  ['message', 'msg_'],
  ['function_call', 'fc_'],
  ['function_call_output', 'fco_'],
  ['custom_tool_call', 'ctc_'],
  ['custom_tool_call_output', 'ctco_'],
  ['reasoning', 'rs_'],
  ['compaction', 'cmp_'],
  ['mcp_approval_response', 'mcpa_'],
]);

/** The input in its long form: a text is a user message, and every item has a type and an id. */
export function* readInput(
  { input }: Pick<CreateFields, 'input'>,
  { newId, storedItem }: Pick<DecodeDeps, 'newId'> & { readonly storedItem: OwnResponses['item'] },
): Sliced<{
  readonly items: readonly InputItem[];
  readonly missing: readonly string[];
  /** The last item asks for a compaction. */
  readonly compactsNow?: boolean;
}> {
  if (typeof input === 'string') {
    const content = [{ type: 'input_text', text: input }];
    const item = { id: newId('msg_'), type: 'message', status: 'completed', role: 'user', content };
    return { items: [{ item, at: 'input' }], missing: [] };
  }
  if (!Array.isArray(input)) throw f.wrong('input', 'a string or an array of items');
  // References to items that are not stored.
  const missing: string[] = [];
  const items: InputItem[] = [];
  for (const [index, value] of input.entries()) {
    const at = `input[${index}]`;
    if (f.isObject(value) && value.type === 'compaction_trigger') {
      if (index < input.length - 1) throw f.wrong(at, 'the last item, as it is a compaction_trigger');
      return { items, missing, compactsNow: true };
    }
    const sent = longForm(value, at, newId);
    const item = sent.type === 'item_reference' ? storedItem(f.readAt(sent, 'id', at, f.readText)) : sent;
    if (item) items.push({ item, at });
    else missing.push(at);
    yield;
  }
  return { items, missing };
}

function longForm(value: unknown, at: string, newId: DecodeDeps['newId']): StoredItem {
  if (!f.isObject(value)) throw f.wrong(at, 'an object');
  const type = typeOf(value, at);
  const id = typeof value.id === 'string' && value.id !== '' ? value.id : newId(idPrefixes.get(type) ?? 'item_');
  const { content } = value;
  if (type !== 'message' || typeof content !== 'string') return { ...value, id, type };
  const part = value.role === 'assistant' ? 'output_text' : 'input_text';
  return { ...value, id, type, content: [{ type: part, text: content }] };
}

/** Short messages have no type, and some clients leave it out of references. */
function typeOf(value: JsonObject, at: string): string {
  if (typeof value.type === 'string') return value.type;
  if (!f.isAbsent(value.type)) throw f.wrong(`${at}.type`, 'a string');
  if (!f.isAbsent(value.role)) return 'message';
  if (typeof value.id === 'string' && Object.keys(value).every((key) => key === 'id' || key === 'type')) {
    return 'item_reference';
  }
  throw f.wrong(at, 'an item with a type, or a message with a role');
}
